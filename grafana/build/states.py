"""Conditions of a group as numbers, worst highest, so that Prometheus can take the worst and Grafana can colour it."""

from __future__ import annotations

from grafana.build.panels import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, YELLOW
from handler.planning.status import BY_SEVERITY, GroupCondition

_RANKS = {condition: rank for rank, condition in enumerate(reversed(BY_SEVERITY), start=1)}
_COLOURS = {
    GroupCondition.RUNNING: GREEN,
    GroupCondition.COOLDOWN: BLUE,
    GroupCondition.SCALING: YELLOW,
    GroupCondition.STARTING: PURPLE,
    GroupCondition.PAUSED: GREY,
    GroupCondition.WARNING: ORANGE,
    GroupCondition.ERROR: RED,
    GroupCondition.ORPHANED: GREY,
    GroupCondition.DELETING: GREY,
}
STATES = {rank: (condition.value, _COLOURS[condition]) for condition, rank in _RANKS.items()}
"""Rank → (word, colour)."""


def rank(selector: str) -> str:
    """A query: the rank of each group's condition."""
    cases = (
        f'trimtab_group_condition{{{selector}, condition="{condition.value}"}} * {number}'
        for condition, number in sorted(_RANKS.items(), key=lambda item: item[1])
    )
    return f"max by (instance, group) ({' or '.join(cases)})"
