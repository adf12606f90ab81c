"""A policy with a forecast as written → the policy, and the conditions that measure its load and the level of members.

The policy keeps its name. Its conditions are ``NAME.load`` and ``NAME.level``: no name in the file has a dot, so they
cannot collide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

from config.document.forecasts import LEARNED, ForecastDocument, HolidaysDocument, KeptLevelDocument
from config.document.quantities import Quantity, brought
from config.holiday_calendars import CalendarDays
from config.model.adjustments import Capacity, FollowForecast, KeptLevel
from config.model.catalogue import Compare, Condition, Policy
from config.model.counters import Counter, Per
from config.model.holidays import Holidays, day_of
from config.model.reductions import Reduce
from config.model.schedules import QuietScope
from config.units import ConditionId, CounterId, PolicyId, Seconds

Calendars = Mapping[str, CalendarDays]
"""By path: the calendar files that forecasts name, as they were read."""
_LOAD, _LEVEL = ".load", ".level"
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_QUORUM = 0.9
"""Of the members. The others are taken to carry as much as these."""
MEASURED_OVER: Seconds = 60.0
"""The load of a moment is noise; an older mean is late."""
AFTER_SHRINKING: Seconds = 195.0
"""Between two scale-ins of one forecast; it stops nothing else. More than six steps of 30 s, whatever the jitter.
Source: `trigger.forecast.shadows`, whose virtual fleets wait as long."""


def forecast_conditions(
    name: str, entry: ForecastDocument, counters: Mapping[CounterId, Counter]
) -> tuple[Condition, ...]:
    """Return what measures the load, and the level that members keep if what they carry is learned by one.

    Whether the counters are declared is not looked at. A condition holds while the load is more than one member
    carries, or the level is too high; the policy does not ask.
    """
    counter = counters.get(CounterId(entry.load.counter))
    quorum = entry.load.quorum or (None if _of_group(counter) else _QUORUM)
    least = 0.0 if counter is None or counter.range is None else counter.range[0]
    load = _condition(name + _LOAD, entry.load.counter, _declared(entry) or Quantity(number=least), counters)
    load = replace(load, per_member=_of_group(counter) and _declared(entry) is not None, quorum=quorum)
    kept = entry.load.from_
    return (load,) if kept is None else (load, _condition(name + _LEVEL, kept.counter, kept.at, counters))


def _condition(name: str, counter: str, above: Quantity, counters: Mapping[CounterId, Counter]) -> Condition:
    threshold, in_unit = brought(above, counters.get(CounterId(counter)))
    return Condition(
        id=ConditionId(name),
        counter=CounterId(counter),
        across=Reduce.AVG,
        aggregate=Reduce.AVG,
        window=MEASURED_OVER,
        compare=Compare.ABOVE,
        threshold=threshold,
        in_unit=in_unit,
    )


def _declared(entry: ForecastDocument) -> Quantity | None:
    """Return what a member carries; ``None``: it is learned."""
    return None if entry.load.each == LEARNED else entry.load.each


def forecast_policy(
    name: str, entry: ForecastDocument, counters: Mapping[CounterId, Counter], calendars: Calendars
) -> Policy:
    """Return the policy; a calendar that is not among ``calendars`` has no days."""
    return Policy(
        id=PolicyId(name),
        when=tuple(each.id for each in forecast_conditions(name, entry, counters)),
        adjustment=FollowForecast(
            by=ConditionId(name + _LOAD),
            capacity=_capacity(name, entry, counters),
            slo=entry.slo,
            prefer=entry.prefer,
            history=entry.history,
            cap=entry.cap,
            boot=entry.boot,
            advises=entry.mode == "advise",
            holidays=None if entry.holidays is None else _holidays(entry.holidays, calendars),
        ),
        quiet_time=AFTER_SHRINKING,
        quiet_scope=QuietScope.POLICY,
    )


def _holidays(entry: HolidaysDocument, calendars: Calendars) -> Holidays:
    dates, calendar = entry.dates or (), calendars.get(entry.calendar or "", CalendarDays())
    return Holidays(
        days=tuple(sorted(calendar.days | {day_of(each) for each in dates if isinstance(each, date)})),
        yearly=tuple(sorted(calendar.yearly | {each for each in dates if isinstance(each, tuple)})),
        like=_WEEKDAYS.index(entry.like),
        timezone=entry.timezone or "UTC",
    )


def _capacity(name: str, entry: ForecastDocument, counters: Mapping[CounterId, Counter]) -> Capacity:
    counter, kept, each = counters.get(CounterId(entry.load.counter)), entry.load.from_, _declared(entry)
    return Capacity(
        each=None if each is None else brought(each, counter)[0],
        per_member=not _of_group(counter),
        quorum=entry.load.quorum or _QUORUM,
        level=None if kept is None else _kept_level(name, kept, counter, counters.get(CounterId(kept.counter))),
    )


def _kept_level(name: str, kept: KeptLevelDocument, load: Counter | None, shown: Counter | None) -> KeptLevel:
    least, most = (None if bound is None else brought(bound, load)[0] for bound in (kept.at_least, kept.at_most))
    return KeptLevel(
        by=ConditionId(name + _LEVEL),
        at=brought(kept.at, shown)[0],
        top=None if shown is None or shown.range is None else shown.range[1],
        least=least,
        most=most,
    )


def _of_group(counter: Counter | None) -> bool:
    return counter is not None and counter.per is Per.GROUP
