"""``recurrence`` and ``start_time`` of a role → when a policy is due, or why that cannot be said."""

from __future__ import annotations

from collections.abc import Iterator

from config.document.places import Plain
from config.importers.oneflow.moments import read_start_time
from config.importers.oneflow.policies import Entry, Unmappable
from config.importers.oneflow.template import ScheduledPolicy
from config.model.calendars import read_cron

_FIELDS = 5
MISSED = {"missed": "once"}
"""OneFlow carries out a time that has passed once, however late."""


def times(policy: ScheduledPolicy, timezone: str | None) -> Entry | Unmappable:
    """Translate when a policy is due.

    Args:
        policy: as it is written.
        timezone: that of OneFlow's server, in which all is read that says no zone itself; ``None``: UTC.
    """
    return _moment(policy.start_time, timezone) if policy.recurrence is None else _calendar(policy.recurrence, timezone)


def _calendar(recurrence: str, timezone: str | None) -> Entry | Unmappable:
    try:
        cron = read_cron(" ".join(recurrence.split()[:_FIELDS]))
    except ValueError as error:
        return Unmappable(why=f"{recurrence!a} is not {error}")
    return {"schedule": cron} | _in(timezone)


def _moment(start_time: str | None, timezone: str | None) -> Entry | Unmappable:
    moment = read_start_time(start_time or "")
    if moment is None:
        return Unmappable(why=f"{(start_time or '')!a} names no day and hour that OneFlow and Trimtab both read alike")
    if moment.tzinfo is None and timezone is None:
        return {"at": f"{moment.isoformat()}Z"}
    return {"at": moment.isoformat()} | (_in(timezone) if moment.tzinfo is None else {})


def _in(timezone: str | None) -> dict[str, Plain]:
    return {} if timezone is None else {"timezone": timezone}


def is_local(policy: ScheduledPolicy) -> bool:
    """Whether the zone of OneFlow's server decides what it says."""
    moment = None if policy.start_time is None else read_start_time(policy.start_time)
    return moment is None or moment.tzinfo is None


def other_readings(policy: ScheduledPolicy) -> Iterator[str]:
    """What OneFlow makes of the text that people may not expect."""
    fields = (policy.recurrence or "").split()
    if len(fields) > _FIELDS:
        yield f"OneFlow looks at the first five fields only, so that {' '.join(fields[_FIELDS:])!a} means nothing"
    if (policy.recurrence or "").startswith(" "):
        yield "OneFlow takes the blank at its beginning for a field, and so shifts all others; here it means nothing"
    moment = read_start_time(policy.start_time or "")
    if moment is not None and (policy.start_time or "").strip().isdigit():
        yield f"nothing but digits are seconds since 1970: {moment.isoformat()}"
