"""How a policy with a forecast is written in YAML."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Final, Literal, Self

from pydantic import Field, PlainValidator, Strict, model_validator
from pydantic_core import PydanticCustomError

from config.document.declared import PERCENT_PATTERN, Declared, key, must, worded
from config.document.quantities import Quantity, read_positive_quantity
from config.document.scalars import AbsolutePath, Given, Name, Share, read_positive_span, read_share
from config.document.schedules import Timezone
from config.model.adjustments import Prefer
from config.units import Seconds

_MOST_MISSED = 0.05
"""A share of the load. A larger one is no promise."""
_LEAST_HISTORY, _MOST_HISTORY = 8 * 86400.0, 35 * 86400.0
"""A forecast looks back at this time on each of the last seven days."""
_MOST_BOOT = 3600.0
_TIMES = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3})?)\s*x")
_MOST_TIMES = 100
_DATE = re.compile(r"((?P<year>\d{4})-)?(?P<month>\d\d)-(?P<day>\d\d)")
_LEAP = 2000
"""A year that has every day."""


LEARNED: Final = "learned"


def read_each(value: object) -> Quantity | Literal["learned"]:
    """Read what one member carries.

    Raises:
        ValueError: says what was expected.
    """
    return LEARNED if value == LEARNED else read_positive_quantity(value)


def read_missed(value: object) -> float:
    """Read a percentage above 0 % that may be missed, in percent.

    Raises:
        ValueError: says what was expected.
    """
    expected = "a percentage from more than 0% to 5%, such as 0.05%"
    try:
        share = read_share(value)
    except ValueError as error:
        raise ValueError(expected) from error
    if share > _MOST_MISSED:
        raise ValueError(expected)
    return round(100.0 * share, 9)


def read_times(value: object) -> float:
    """Read ``1.5x``.

    Raises:
        ValueError: says what was expected.
    """
    match = _TIMES.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or not 1 <= float(match["number"]) <= _MOST_TIMES:
        raise ValueError(f"a multiple from 1x to {_MOST_TIMES}x, such as 1.5x")
    return float(match["number"])


def read_history(value: object) -> Seconds:
    """Read a duration of some weeks.

    Raises:
        ValueError: says what was expected.
    """
    span = read_positive_span(value)
    if not _LEAST_HISTORY <= span <= _MOST_HISTORY:
        raise ValueError("a duration from 8d to 35d, such as 21d")
    return span


def read_boot(value: object) -> Seconds:
    """Read the time that a member takes to serve.

    Raises:
        ValueError: says what was expected.
    """
    span = read_positive_span(value)
    if span > _MOST_BOOT:
        raise ValueError("a duration of at most 1h, such as 2m")
    return span


def read_holiday(value: object) -> date | tuple[int, int]:
    """Read the date of a holiday; (month, day): of every year.

    Raises:
        ValueError: says what was expected.

    >>> read_holiday("2027-12-25"), read_holiday("12-25")
    (datetime.date(2027, 12, 25), (12, 25))
    """
    expected = "a date such as 2027-12-25, or 12-25 for every year"
    match = _DATE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(expected)
    try:
        found = date(int(match["year"] or _LEAP), int(match["month"]), int(match["day"]))
    except ValueError as error:
        raise ValueError(f"{expected}: there is no such day") from error
    return found if match["year"] else (found.month, found.day)


_SPAN = r"^\s*(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$"
_QUANTITY = [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?\d+(\.\d+)?([eE][+-]?\d+)?\s*[^\s\d.].*$"}]
Each = Annotated[
    Quantity | Literal["learned"],
    PlainValidator(read_each),
    worded("number in the counter's unit, or with a unit, or learned", "above 0", anyOf=_QUANTITY),
]
HolidayDate = Annotated[
    date | tuple[int, int],
    PlainValidator(read_holiday),
    worded("date", "as 2027-12-25, or 12-25 for every year", type="string", pattern=r"^(\d{4}-)?\d\d-\d\d$"),
]
Level = Annotated[
    Quantity,
    PlainValidator(read_positive_quantity),
    worded("number in the counter's unit, or with a unit", "above 0", anyOf=_QUANTITY),
]
Missed = Annotated[
    float, PlainValidator(read_missed), worded("percent", "above 0% to 5%", type="string", pattern=PERCENT_PATTERN)
]
Times = Annotated[
    float,
    PlainValidator(read_times),
    worded("multiple", f"1x to {_MOST_TIMES}x", type="string", pattern=r"^\d+(\.\d+)?\s*x$"),
]
History = Annotated[
    Seconds, PlainValidator(read_history), worded("duration", "8d to 35d", type="string", pattern=_SPAN)
]
Boot = Annotated[
    Seconds, PlainValidator(read_boot), worded("duration", "above 0s, to 1h", type="string", pattern=_SPAN)
]


class HolidaysDocument(Declared):
    """Days on which the load does not go as it usually does on that day of the week."""

    dates: Annotated[Annotated[list[HolidayDate], Field(min_length=1)] | None, Given] = key(
        "Days of one year, or of every year.", ["2027-03-26", "12-25"], left_out="those of the calendar"
    )
    calendar: Annotated[AbsolutePath | None, Given] = key(
        "A calendar file (iCalendar, .ics): the dates of its all-day events are holidays.",
        "/etc/trimtab/holidays.ics",
        left_out="the dates alone",
    )
    timezone: Annotated[Timezone | None, Given] = key(
        "In which these days begin at midnight.", "Europe/Paris", left_out="UTC"
    )
    like: Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] = key(
        "The day of the week that a holiday is like. Holidays of the seven days before count, too.",
        "saturday",
        default="sunday",
    )

    @model_validator(mode="after")
    def _has_days(self) -> Self:
        if self.dates is None and self.calendar is None:
            raise PydanticCustomError("sentence", "holidays need their dates, or a calendar")
        return self


class KeptLevelDocument(Declared):
    """By what it is learned what a member carries: so much that a counter stays at a level."""

    counter: Name = must("The counter that shows how hard a member works: the processor or a latency.", "cpu")
    at: Level = must("The level that it is to keep, averaged over the members.", 70)
    at_least: Annotated[Level | None, Given] = key(
        "A member is never taken to carry less, in the unit of the load.", 20, left_out="no bound"
    )
    at_most: Annotated[Level | None, Given] = key(
        "A member is never taken to carry more, in the unit of the load.", 200, left_out="no bound"
    )

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        least, most = self.at_least, self.at_most
        if least is not None and most is not None and least.number > most.number and least.unit == most.unit:
            raise PydanticCustomError("sentence", "at_least is above at_most: write the smaller one as at_least")
        return self


class ForecastLoadDocument(Declared):
    """What shows the load of the group, and what one member carries of it."""

    counter: Name = must(
        "The counter that shows it, which must not fall because there are few members: requests a second, for example.",
        "requests",
    )
    each: Each = must("So much of it one member carries within its SLO; learned: by the key from.", 80)
    from_: Annotated[KeptLevelDocument | None, Given] = key(
        "By what that is learned, with each: learned.",
        {"counter": "cpu", "at": 70},
        left_out="each is a number",
        alias="from",
    )
    quorum: Annotated[Share | None, Given] = key(
        "For a counter of each member: if a smaller share of them answers, the load counts as not known.",
        "95%",
        implied="90%",
    )

    @model_validator(mode="after")
    def _learns_by_something(self) -> Self:
        if self.each == LEARNED and self.from_ is None:
            example = {"from": "from: {counter: cpu, at: 70}"}
            raise PydanticCustomError(
                "sentence", "each: learned needs what it is learned from, such as {from}", example
            )
        if self.each != LEARNED and self.from_ is not None:
            raise PydanticCustomError("sentence", "from goes with each: learned: remove it, or the number")
        return self


class ForecastDocument(Declared):
    """As many members as the load will need, from what it was at this time of other days and how it moves now."""

    load: ForecastLoadDocument = must("The load that is forecast.", {"counter": "requests", "each": 80})
    slo: Missed = key("How much of the load may be beyond what the members carry.", "0.1%", default="0.05%")
    prefer: Annotated[Prefer, Strict(False)] = key(
        "Among sizes that keep that: lean has few members, calm few changes of direction.", "calm", default="balanced"
    )
    history: History = key("For how long measured loads are kept on disk.", "28d", default="21d")
    cap: Annotated[Times | None, Given] = key(
        "At most so many times what the load that is measured now needs.", "1.5x", left_out="no limit"
    )
    boot: Annotated[Boot | None, Given] = key(
        "How long a new member takes until it serves.", "5m", left_out="learned from the group's members; 2m at first"
    )
    holidays: Annotated[HolidaysDocument | None, Given] = key(
        "Days that go like another day of the week.", {"dates": ["12-25"]}, left_out="no holidays"
    )
    mode: Literal["act", "advise"] = key(
        "advise: it says what it would do, and asks for nothing; other policies go on as without it.",
        "advise",
        default="act",
    )
