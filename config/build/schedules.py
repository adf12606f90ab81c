"""A policy that goes by a schedule: from the document to the model."""

from __future__ import annotations

from datetime import datetime

from config.document.policies import PolicyDocument
from config.document.schedules import instant_of
from config.model.calendars import Calendar
from config.model.schedules import End, Lasting, Limit, Once, Schedule, ScheduledChange, ScheduledLimit, Times
from config.units import PolicyId, Seconds

_AN_HOUR: Seconds = 3600.0


def schedule_of(id: PolicyId, entry: PolicyDocument) -> Schedule:
    """What the core sees of a policy that goes by a schedule."""
    times: Times = _times(entry.schedule, entry.timezone) if entry.at is None else _once(entry.at, entry.timezone)
    size = entry.ceiling if entry.floor is None else entry.floor
    if size is not None and entry.until is not None:
        limit = Limit.CEILING if entry.floor is None else Limit.FLOOR
        return ScheduledLimit(id=id, times=times, until=_end(entry.until, entry.timezone), limit=limit, size=size)
    return ScheduledChange(
        id=id,
        times=times,
        adjustment=entry.outright,
        grace=_AN_HOUR if entry.missed is None else entry.missed,
        quiet_time=entry.quiet_time,
        quiet_scope=entry.quiet_scope,
    )


def _end(until: str | datetime | Seconds, timezone: str | None) -> End:
    match until:
        case str():
            return _times(until, timezone)
        case datetime():
            return _once(until, timezone)
        case span:
            return Lasting(span=span)


def _times(cron: str | None, timezone: str | None) -> Calendar:
    return Calendar(cron=cron or "", timezone=timezone or "UTC")


def _once(moment: datetime, timezone: str | None) -> Once:
    return Once(at=instant_of(moment, timezone))
