"""Spans of time that do not fit: too short for the interval in which a group is judged, too long for a calendar."""

from __future__ import annotations

from collections.abc import Iterator

from config.checks.findings import Finding
from config.model.calendars import longest_gap
from config.model.catalogue import Catalogue, Group
from config.units import PolicyId, Seconds, format_span

_SHORTEST: Seconds = 1.0
"""A shorter interval is probably a unit that was mistaken."""


def stabilisations(catalogue: Catalogue) -> Iterator[Finding]:
    """Find stabilisation windows that hold the advice of no tick but the present one."""
    for group in catalogue.groups.values():
        if group.stabilisation is None or group.stabilisation >= group.interval:
            continue
        message = (
            f"{format_span(group.stabilisation)} is shorter than the interval, {format_span(group.interval)}: "
            "write at least that, or leave it out"
        )
        yield Finding(("groups", group.id, "stabilisation"), message, (("groups", group.id, "interval"),))


def endless_freezes(catalogue: Catalogue) -> Iterator[Finding]:
    """Find freeze windows that last until they begin again."""
    for group in catalogue.groups.values():
        for index, window in enumerate(group.freezes):
            gap = longest_gap(window.calendar)
            if window.duration < gap:
                continue
            lasts, again = format_span(window.duration), format_span(gap)
            message = (
                f'"{window.calendar.cron}" comes again within {again}, before {lasts} are over, so {group.id} '
                f"is frozen for ever: less than {again}, such as {format_span(gap / 2)}, works"
            )
            yield Finding(("groups", group.id, "freeze", str(index), "duration"), message)


def short_intervals(catalogue: Catalogue) -> Iterator[Finding]:
    """Find intervals in which members can hardly answer."""
    for group in catalogue.groups.values():
        if group.interval < _SHORTEST:
            message = (
                f"{format_span(group.interval)} is shorter than {format_span(_SHORTEST)}: every source of {group.id} "
                f"is asked that often, and few answer in time; {format_span(_SHORTEST)} works"
            )
            yield Finding(("groups", group.id, "interval"), message)


def fast_counts(catalogue: Catalogue) -> Iterator[Finding]:
    """Find policies that want to be judged more often than their groups are."""
    slowest: dict[PolicyId, Group] = {}
    for group in catalogue.groups.values():
        for name in group.policies:
            rule = catalogue.policies[name].in_a_row
            if rule is not None and 0 < rule.every < group.interval:
                slowest[name] = max(slowest.get(name, group), group, key=lambda group: group.interval)
    for name, group in slowest.items():
        message = (
            f"the group {group.id} is judged every {format_span(group.interval)}, and no more often, so "
            f"counting takes longer than declared; {format_span(group.interval)} works"
        )
        yield Finding(("policies", name, "in_a_row", "every"), message)
