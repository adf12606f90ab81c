"""What the days of a canary say: a table of cases, and which day is due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.units import Instant
from handler.ports.canaries import Canary, CanaryDay, FleetFigures
from handler.tuning.canary import Verdict, compared, due, judged

DAY = 86_400.0


def figures(hours: float, over: float, changes: int = 0) -> FleetFigures:
    return FleetFigures(hours=hours, over=over, changes=changes)


def a_day(number: int, declared: FleetFigures, tried: FleetFigures, length: float = DAY) -> CanaryDay:
    begin = Instant(number * DAY)
    return CanaryDay(begin=begin, end=Instant(begin + length), declared=declared, tried=tried)


def a_canary(*days: CanaryDay, over: float | None = 5.0, changes: float | None = None) -> Canary:
    return Canary(
        at=Instant(0.5 * DAY), by="ada", values={"conditions.busy.above": "70"}, beside={}, over=over, changes=changes,
        switches=False, looked_until=Instant(0.5 * DAY), days=days, problem="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("declared", "tried", "over", "changes", "verdict"),
    [
        ((10.0, 4.0), (9.0, 4.0), 5.0, None, Verdict.SWITCH),
        ((10.0, 4.0), (10.0, 0.0), 5.0, None, Verdict.STAY),
        ((10.0, 4.0), (11.0, 0.0), 5.0, None, Verdict.STAY),
        ((10.0, 4.0), (9.0, 6.0), 5.0, None, Verdict.STAY),
        ((10.0, 6.0), (12.0, 4.0), 5.0, None, Verdict.SWITCH),
        ((10.0, 8.0), (12.0, 6.0), 5.0, None, Verdict.SWITCH),
        ((10.0, 6.0), (9.0, 6.0), 5.0, None, Verdict.STAY),
        ((10.0, 4.0), (9.0, 4.0), None, None, Verdict.SWITCH),
        ((10.0, 4.0), (9.0, 4.1), None, None, Verdict.STAY),
        ((10.0, 4.0, 20), (11.0, 4.0, 10), 5.0, 12.0, Verdict.SWITCH),
        ((10.0, 4.0, 10), (9.0, 4.0, 20), 5.0, 12.0, Verdict.STAY),
    ],
    ids=[
        "cheaper within the goal", "no cheaper", "dearer", "cheaper beyond the goal", "the goal is kept at last",
        "nearer to the goal", "no nearer", "as declared and cheaper", "over for longer than declared", "calmer at last",
        "too restless",
    ],
)  # fmt: skip
def test_a_setting_is_proposed_if_it_does_better_by_the_goal(
    declared: tuple[float, ...], tried: tuple[float, ...], over: float | None, changes: float | None, verdict: Verdict
) -> None:
    days = [a_day(number, figures(*declared), figures(*tried)) for number in (1, 2, 3)]  # type: ignore[arg-type]

    judgement = judged(a_canary(*days, over=over, changes=changes))

    assert judgement.verdict is verdict, judgement.because
    assert judgement.span == 3 * DAY


def test_three_days_count_though_each_is_known_from_its_first_tick_to_its_last_only() -> None:
    days = [a_day(number, figures(10.0, 0.0), figures(9.0, 0.0), DAY - 600.0) for number in (1, 2, 3)]

    assert judged(a_canary(*days)).verdict is Verdict.SWITCH


def test_nothing_is_proposed_before_three_days_are_compared() -> None:
    days = [a_day(number, figures(10.0, 0.0), figures(1.0, 0.0)) for number in (1, 2)]

    judgement = judged(a_canary(*days))

    assert (judgement.verdict, judgement.because) == (Verdict.WAIT, "2 of 3 days are compared")
    assert judged(a_canary()).verdict is Verdict.WAIT


@pytest.mark.parametrize(
    ("now", "found"),
    [(1.2, None), (2.0, (1.0, 2.0)), (2.9, (1.0, 2.0)), (5.1, (4.0, 5.0))],
    ids=["the day it began in", "at midnight", "later that day", "after days without a daemon"],
)
def test_the_last_whole_day_is_due_once(now: float, found: tuple[float, float] | None) -> None:
    canary = a_canary()
    day = due(canary, Instant(now * DAY))
    assert day == (None if found is None else (found[0] * DAY, found[1] * DAY))
    if day is not None:
        assert due(compared(canary, day[1], None, "nothing was recorded"), Instant(now * DAY)) is None


def test_a_day_of_which_little_was_recorded_does_not_count_and_the_oldest_days_go() -> None:
    short = compared(a_canary(), Instant(2 * DAY), a_day(1, figures(1.0, 0.0), figures(1.0, 0.0), 0.4 * DAY))
    assert (short.days, short.problem) == ((), "less than half of the day was recorded")

    many = replace(a_canary(), days=tuple(a_day(n, figures(1.0, 0.0), figures(1.0, 0.0)) for n in range(30)))
    after = compared(many, Instant(31 * DAY), a_day(30, figures(1.0, 0.0), figures(1.0, 0.0)))
    assert (len(after.days), after.days[0].begin, after.problem) == (30, DAY, "")
