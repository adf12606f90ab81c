"""A setting that runs beside the declared one, on a fleet that is simulated: its days, and what they say. Pure.

Each day that was recorded is replayed twice, with the declared values and with those that are tried. Both fleets share
the errors of the model, so their difference counts.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from config.units import Instant, Seconds
from handler.ports.canaries import Canary, CanaryDay, FleetFigures
from handler.tuning.outcomes import Goal, Outcome

NEEDED = 3
"""Days to compare before anything is proposed."""
KEPT = 30
"""Days."""
_DAY: Seconds = 86_400.0
_LEAST: Seconds = 0.5 * _DAY
"""A day of which less was recorded says nothing of the load."""
_SAME = 1e-9


class Verdict(enum.Enum):
    """What a canary proposes."""

    WAIT = "wait"
    SWITCH = "switch"
    STAY = "stay"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the days of a canary come to together."""

    verdict: Verdict
    because: str
    span: Seconds
    """The time that was compared."""
    declared: FleetFigures
    tried: FleetFigures


def judged(canary: Canary) -> Judgement:
    """Judge a setting by its goal.

    A setting that keeps to the goal is better than one that does not. Of two that do, the one with fewer member-hours
    is; of two that do not, the one that is over the limit for less time.
    """
    span = math.fsum(day.end - day.begin for day in canary.days)
    declared, tried = _sum(day.declared for day in canary.days), _sum(day.tried for day in canary.days)
    verdict, because = _verdict(canary, span, declared, tried)
    return Judgement(verdict=verdict, because=because, span=span, declared=declared, tried=tried)


def _verdict(canary: Canary, span: Seconds, declared: FleetFigures, tried: FleetFigures) -> tuple[Verdict, str]:
    if len(canary.days) < NEEDED:
        return Verdict.WAIT, f"{len(canary.days)} of {NEEDED} days are compared"
    over = declared.over / (span / _DAY) if canary.over is None else canary.over
    goal = Goal(over=over, changes=canary.changes)
    does_less, is_over_less = tried.hours < declared.hours - _SAME, tried.over < declared.over - _SAME
    match goal.kept(_outcome(tried), span), goal.kept(_outcome(declared), span):
        case True, False:
            is_better, because = True, "it keeps to the goal, and the declared setting does not"
        case False, True:
            is_better, because = False, "it does not keep to the goal, and the declared setting does"
        case True, True:
            few = "fewer" if does_less else "no fewer"
            is_better, because = does_less, f"both keep to the goal, and it takes {few} member-hours"
        case _:
            less = "less" if is_over_less else "no less"
            is_better, because = is_over_less, f"neither keeps to the goal, and it is over the limit for {less} time"
    return Verdict.SWITCH if is_better else Verdict.STAY, because


def due(canary: Canary, now: Instant) -> tuple[Instant, Instant] | None:
    """Return the last whole day (UTC) if it was not looked at; ``None``: it was, or the canary began in it.

    Days that passed while no daemon ran stay out: their recording may be thinned by now.
    """
    end = Instant(now // _DAY * _DAY)
    begin = Instant(end - _DAY)
    return (begin, end) if begin >= canary.at and end > canary.looked_until else None


def compared(canary: Canary, end: Instant, day: CanaryDay | None, problem: str = "") -> Canary:
    """Add a day that was looked at.

    Args:
        canary: before.
        end: of the day.
        day: what it came to; ``None``: it could not be compared, for the reason in ``problem``.
        problem: empty if ``day`` is there.
    """
    if day is not None and day.end - day.begin < _LEAST:
        day, problem = None, "less than half of the day was recorded"
    days = canary.days if day is None else (*canary.days, day)[-KEPT:]
    return replace(canary, looked_until=end, days=days, problem=problem)


def _sum(figures: Iterable[FleetFigures]) -> FleetFigures:
    hours, over, changes = 0.0, 0.0, 0
    for each in figures:
        hours, over, changes = hours + each.hours, over + each.over, changes + each.changes
    return FleetFigures(hours=hours, over=over, changes=changes)


def _outcome(figures: FleetFigures) -> Outcome:
    return Outcome(hours=figures.hours, over=figures.over, changes=figures.changes, reversals=0)
