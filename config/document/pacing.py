"""How pacing is written in YAML."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, PlainValidator, Strict, model_validator
from pydantic_core import PydanticCustomError

from config.document.declared import PERCENT_PATTERN, Declared, key, must, worded
from config.document.scalars import Given, PositiveSpan, amount_reader
from config.model.pacing import FlapDamping, Pace, Select

_read = amount_reader(least=1, most_percent=1000)


def read_percent(value: object) -> float:
    """Read a percentage above 0 %.

    Raises:
        ValueError: says what was expected.
    """
    expected = "a percentage from more than 0% to 1000%, such as 50%"
    try:
        amount = _read(value)
    except ValueError as error:
        raise ValueError(expected) from error
    if not amount.percent:
        raise ValueError(expected)
    return amount.number


Percent = Annotated[
    float, PlainValidator(read_percent), worded("percent", "above 0% to 1000%", type="string", pattern=PERCENT_PATTERN)
]


class PaceDocument(Declared):
    """How many members policies and alarms may add, or take away, in any span of time."""

    count: Annotated[Annotated[int, Field(ge=1)] | None, Given] = key(
        "The most members.", 4, left_out="percent alone", unit="members"
    )
    percent: Annotated[Percent | None, Given] = key(
        "At most this share of the size before, rounded up.", "50%", left_out="count alone"
    )
    per: PositiveSpan = must("In any span of so long.", "10m")
    select: Annotated[Select, Strict(False)] = key(
        "Where both are given: the one that allows more, or the one that allows less.", "max", "min", default="max"
    )

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.count is None and self.percent is None:
            raise PydanticCustomError("sentence", "the limit is missing: write count, percent or both", {"key": ""})
        return self

    @property
    def pace(self) -> Pace:
        """As the core sees it."""
        return Pace(count=self.count, percent=self.percent, per=self.per, select=self.select)


class FlapDampingDocument(Declared):
    """After this many reversals of direction the size is held high for a while."""

    reversals: Annotated[int, Field(ge=2, le=100)] = must(
        "How often policies and alarms turned round.", 4, unit="reversals"
    )
    within: PositiveSpan = must("In any span of so long.", "1h")
    hold: PositiveSpan = must("For how long after the last reversal no member leaves.", "30m")

    @property
    def damping(self) -> FlapDamping:
        """As the core sees it."""
        return FlapDamping(reversals=self.reversals, within=self.within, hold=self.hold)
