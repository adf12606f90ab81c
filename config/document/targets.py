"""How target tracking and pass-through are written in YAML."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import PlainValidator

from config.document.declared import PERCENT_PATTERN, Declared, key, must, worded
from config.document.quantities import Level
from config.document.reduction_scalars import Across, Aggregating
from config.document.scalars import Given, Growth, Name, PositiveSpan, Share, Shrinkage, Span, amount_reader

_MOST = 99
"""Per cent. A target that is missed by all of itself is none."""


def read_tolerance(value: object) -> float:
    """Read a percentage from 0 % to 99 % as a share.

    >>> read_tolerance("10%")
    0.1

    Raises:
        ValueError: says what was expected.
    """
    expected = f"a percentage from 0% to {_MOST}%, such as 10%"
    try:
        amount = amount_reader(least=0, most_percent=_MOST)(value)
    except ValueError as error:
        raise ValueError(expected) from error
    if not amount.percent:
        raise ValueError(expected)
    return amount.number / 100.0


Tolerance = Annotated[
    float, PlainValidator(read_tolerance), worded("percent", f"0% to {_MOST}%", type="string", pattern=PERCENT_PATTERN)
]


class OutDocument(Declared):
    """How fast the group grows after its target."""

    duration: Span = key("How long the value must be above. 0s: at once.", "60s", default=0)
    at_most: Annotated[Growth | None, Given] = key(
        "The most members added at once; or a percentage.", 4, "50%", left_out="no limit"
    )
    quiet_time: Span = key("How long the quiet time lasts after it grew.", "5m", default="5m")


class InDocument(Declared):
    """How fast the group shrinks after its target."""

    duration: Span = key("How long the value must be below. 0s: at once.", "10m", default="5m")
    at_most: Annotated[Shrinkage | None, Given] = key(
        "The most members removed at once; or a percentage.", 1, "10%", left_out="no limit"
    )
    quiet_time: Span = key("After it shrank, for how long no other member leaves.", "5m", default="5m")


class FollowedDocument(Declared):
    """What both ways of following a counter have in common."""

    counter: Name = must("The counter that the size follows.", "cpu")
    across: Annotated[Across | None, Given] = key(
        "How the members' values become one.", "avg", "p95", left_out="avg, or sum for a total"
    )
    window: Annotated[PositiveSpan | None, Given] = key(
        "How far back values count; a whole number of the group's intervals.", "3m", left_out="one interval"
    )
    aggregate: Aggregating = key("How the values of the window become one.", "avg", "max", default="avg")
    quorum: Annotated[Share | None, Given] = key(
        "If this share of members has answered, the result counts without the others.",
        "95%",
        left_out="all must answer, or the range must decide",
    )
    out: OutDocument = key("How fast the group grows.", {"duration": "60s"}, default={})
    in_: InDocument = key("How fast the group shrinks.", {"duration": "10m", "at_most": "10%"}, default={}, alias="in")
    only: Annotated[Literal["out"] | None, Given] = key(
        "out: the group grows after it, and never shrinks.", "out", left_out="it goes both ways"
    )


class TargetDocument(FollowedDocument):
    """As many members as keep a counter at a value."""

    choice: ClassVar[tuple[str, ...]] = ("value", "each")
    choice_of: ClassVar[str] = "the target"

    value: Annotated[Level | None, Given] = key("The level to keep.", 60, "250 ms")
    each: Annotated[Level | None, Given] = key(
        "Of a total of the group, such as a backlog: this much for each member.", 30
    )
    tolerance: Tolerance = key("How far off the target the value may be.", "10%", default="10%")


class PassThroughDocument(FollowedDocument):
    """As many members as a counter says."""
