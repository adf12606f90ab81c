"""Apply schedules: the bounds in force now, and the requests that are due.

A **limit** only moves the bounds of the group while it is in force: a floor is then min, a ceiling is max. It leaves no
state. Floors win over ceilings, the greatest floor and the lowest ceiling count, an alert's floor wins over a ceiling,
and none of them leaves the declared min and max.

A **change** becomes a request at the first tick after each of its times, and again at later ticks if a refusal ends by
itself (`_PASSING`): it may be late by its grace, then it is MISSED. Every other answer closes that time, also
PAUSED and AT_MAX. `Watched` records the last handled time: it begins when the schedule is first seen, or when its
times change, and moves when a time is closed. It is stored with the decision, so a crash neither repeats a time nor
loses one. Of several times that have passed, only the last becomes a request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from config.model.catalogue import Group, Mode
from config.model.schedules import BoundInForce, ScheduledBound, ScheduledChange, ScheduledLimit, last_time, standing
from config.units import Instant, PolicyId, Seconds
from trigger.policies.signals import floor_of, lasting
from trigger.reasons import Reason
from trigger.requests import GroupState, Request, RequestCause, RequestOutcome, Watched

_TICKS_LATE = 1.5
"""Intervals: the tick after a time is on time, and ticks may jitter."""
_PASSING = frozenset(
    {
        Reason.NOT_LISTED,
        Reason.SHIELDED,
        Reason.FROZEN,
        Reason.BALANCER_NOT_FOUND,
        Reason.FLAPPING,
        Reason.QUIET,
        Reason.CATCHING_UP,
        Reason.BUILD_BACK_OFF,
        Reason.MAX_CHANGE,
        Reason.BUDGET,
        Reason.OUTBID,
        Reason.WAITING_TURN,
        Reason.EXPIRED,
    }
)
"""Refusals that end by themselves; the request for the time is then made again."""
_SET_BACK: Seconds = 3600.0
"""A handled time further in the future than this comes from a wrong clock."""


def limits_at(group: Group, now: Instant) -> tuple[BoundInForce, ...]:
    """Return every limit of a group as it is now, in force or not."""
    if not group.schedules:
        return ()
    limits = (schedule for schedule in group.schedules if isinstance(schedule, ScheduledLimit))
    return tuple(standing(limit, now) for limit in limits)


def bounded(group: Group, state: GroupState, now: Instant) -> Group:
    """Return the group with the bounds in force now; the same object if no schedule moves them."""
    stand = [each.limit for each in limits_at(group, now) if each.active]
    if not stand:
        return group
    floor = max((limit.size for limit in stand if limit.limit is ScheduledBound.FLOOR), default=0)
    ceiling = min((limit.size for limit in stand if limit.limit is ScheduledBound.CEILING), default=group.maximum)
    least = max(group.minimum, min(floor, group.maximum))
    most = max(least, min(ceiling, group.maximum), floor_of(group, lasting(state, now).signals))
    return replace(group, minimum=least, maximum=most)


def limited_until(group: Group, size: int, now: Instant) -> Instant | None:
    """Return when the last limit that excludes this size ends; ``None``: none does, or it never ends."""
    ends = [
        each.until
        for each in limits_at(group, now)
        if each.active
        and (size < each.limit.size if each.limit.limit is ScheduledBound.FLOOR else size > each.limit.size)
    ]
    return max((end for end in ends if end is not None), default=None) if None not in ends else None


def due(group: Group, state: GroupState, now: Instant) -> tuple[Request, ...]:
    """Return the requests of schedules that are due and not handled yet, in the group's order."""
    return tuple(_due(group, state, now))


def _due(group: Group, state: GroupState, now: Instant) -> Iterator[Request]:
    watched = {each.policy: each for each in state.watched}
    for schedule in group.schedules:
        if not isinstance(schedule, ScheduledChange):
            continue
        before, last = watched.get(schedule.id), last_time(schedule.times, now)
        if before is None or before.times != schedule.times or last is None or last <= before.until:
            continue
        yield Request(
            id=f"{schedule.id}@{last:.0f}",
            group=group.id,
            cause=RequestCause.SCHEDULE,
            by=schedule.id,
            adjustment=schedule.adjustment,
            policy=schedule.id,
            quiet_time=schedule.quiet_time,
            quiet_scope=schedule.quiet_scope,
            due=last,
            missed=now - last > max(schedule.grace, _TICKS_LATE * group.interval),
        )


def watching(group: Group, state: GroupState, answers: Sequence[RequestOutcome], now: Instant) -> tuple[Watched, ...]:
    """Return the handled times of a group's schedules after these answers. In mode `off`: none."""
    if group.mode is Mode.OFF:
        return ()
    before = {each.policy: each for each in state.watched}
    over = {
        each.request.policy: each.request.due
        for each in answers
        if each.request.due is not None and each.reason not in _PASSING
    }
    return tuple(
        _watched(schedule, before.get(schedule.id), over.get(schedule.id), now)
        for schedule in group.schedules
        if isinstance(schedule, ScheduledChange)
    )


def _watched(schedule: ScheduledChange, before: Watched | None, over: Instant | None, now: Instant) -> Watched:
    if before is None or before.times != schedule.times or before.until > now + _SET_BACK:
        return Watched(policy=schedule.id, times=schedule.times, until=now)
    return before if over is None else replace(before, until=max(over, before.until))


def schedule_named(group: Group, policy: PolicyId) -> ScheduledChange | ScheduledLimit | None:
    """Find the group's schedule of this name."""
    return next((schedule for schedule in group.schedules if schedule.id == policy), None)
