"""Schedules that do nothing, or not what they say: warnings of `config.checks.lint`.

Each bound is checked by itself; which times are past, and which limits meet, depends on the instant of the check.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product

from config.checks.findings import Finding, problem_of
from config.errors import Problem
from config.model.adjustments import AdjustmentVerb
from config.model.calendars import Calendar, longest_gap
from config.model.catalogue import Catalogue, Group
from config.model.schedules import (
    LastsFor,
    Schedule,
    ScheduledBound,
    ScheduledChange,
    ScheduledLimit,
    Times,
    last_time,
    next_time,
    standing,
)
from config.units import Instant, PolicyId, Seconds, format_span

_AHEAD: Seconds = 366 * 86400.0
_TIMES_AT_MOST = 400
"""How far ahead limits that meet are looked for: a year, or so many times of each."""


def cancelled(catalogue: Catalogue) -> Iterator[Finding]:
    """Find limits and sizes that the bounds of a group cancel, each with the first group, and limits without an end."""
    seen: set[PolicyId] = set()
    for group in catalogue.groups.values():
        for schedule in group.schedules:
            finding = None if schedule.id in seen else _cancelled(schedule, group)
            if finding is not None:
                seen.add(schedule.id)
                yield finding
    for schedule in catalogue.schedules.values():
        yield from _endless(schedule)


def _cancelled(schedule: Schedule, group: Group) -> Finding | None:
    bounds = f"{group.minimum} to {group.maximum}"
    if isinstance(schedule, ScheduledChange):
        change = schedule.adjustment
        comes_to = min(max(change.amount, group.minimum), group.maximum)
        if change.verb is not AdjustmentVerb.SET or change.percent or comes_to == change.amount:
            return None
        key, problem = "set", f"{change.amount:g} is outside the bounds of the group {group.id}, {bounds}"
        return Finding(
            ("policies", schedule.id, key), f"{problem}, so the size is always {comes_to:g}: write that, or change them"
        )
    key = schedule.limit.value
    where = "policies", schedule.id, key
    if schedule.size == (group.minimum if schedule.limit is ScheduledBound.FLOOR else group.maximum):
        bound = "min" if schedule.limit is ScheduledBound.FLOOR else "max"
        return Finding(where, f"{schedule.size} is {bound} of the group {group.id} anyway, so it has no effect there")
    if group.minimum <= schedule.size <= group.maximum:
        return None
    comes_to = min(max(schedule.size, group.minimum), group.maximum)
    problem = f"{schedule.size} is outside the bounds of the group {group.id}, {bounds}, which always hold"
    return Finding(where, f"{problem}: the effective limit is {comes_to}")


def _endless(schedule: Schedule) -> Iterator[Finding]:
    if not isinstance(schedule, ScheduledLimit) or not isinstance(schedule.until, LastsFor):
        return
    if isinstance(schedule.times, Calendar) and schedule.until.span >= (gap := longest_gap(schedule.times)):
        lasts, again = format_span(schedule.until.span), format_span(gap)
        message = f"it comes again within {again}, before {lasts} are over, so it never ends: write less than {again}"
        yield Finding(("policies", schedule.id, "until"), message)


def lint_at(catalogue: Catalogue, now: Instant) -> tuple[Problem, ...]:
    """Find schedules that never come again, and floors that meet lower ceilings within a year."""
    findings = [*_past(catalogue, now), *_meeting(catalogue, now)]
    return tuple(sorted({problem_of(catalogue, finding) for finding in findings}))


def _past(catalogue: Catalogue, now: Instant) -> Iterator[Finding]:
    for schedule in catalogue.schedules.values():
        active = isinstance(schedule, ScheduledLimit) and standing(schedule, now).active
        if active or next_time(schedule.times, now) is not None:
            continue
        last = last_time(schedule.times, now)
        when = "" if last is None else f" since {_day(last)}"
        yield Finding(("policies", schedule.id), f"it is past{when} and never comes again: remove it, or write when")


def _meeting(catalogue: Catalogue, now: Instant) -> Iterator[Finding]:
    for group in catalogue.groups.values():
        limits = [schedule for schedule in group.schedules if isinstance(schedule, ScheduledLimit)]
        floors = [limit for limit in limits if limit.limit is ScheduledBound.FLOOR]
        ceilings = [limit for limit in limits if limit.limit is ScheduledBound.CEILING]
        for floor, ceiling in product(floors, ceilings):
            met = _met(floor, ceiling, now) if floor.size > ceiling.size else None
            if met is not None:
                message = (
                    f"{ceiling.size} is in force together with the floor {floor.size} of {floor.id}, which wins, in "
                    f"the group {group.id}, as at {_day(met)}: end one before the other begins, or write {floor.size}"
                )
                yield Finding(("policies", ceiling.id, "ceiling"), message)


def _met(first: ScheduledLimit, second: ScheduledLimit, now: Instant) -> Instant | None:
    """The first instant at which both stand: now, or where one of them begins."""
    begins = sorted({now, *_begins(first.times, now), *_begins(second.times, now)})
    return next((at for at in begins if standing(first, at).active and standing(second, at).active), None)


def _begins(times: Times, now: Instant) -> Iterator[Instant]:
    last = now
    for _ in range(_TIMES_AT_MOST):
        at = next_time(times, last)
        if at is None or at > now + _AHEAD:
            return
        yield at
        last = at


def _day(at: Instant) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"
