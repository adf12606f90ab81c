"""The section ``record``, as it is written."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator

from config.document.declared import SIZE_PATTERN, Declared, key, worded
from config.document.quantities import size_of
from config.document.scalars import PositiveSpan, read_span
from config.model.observability import Recording

_LEAST = 16 << 20
_STRETCHES = (60.0, 120.0, 180.0, 240.0, 300.0, 360.0, 600.0, 720.0, 900.0, 1200.0, 1800.0, 3600.0)


def read_size(value: object) -> int:
    """Read how much recordings may take on the disk.

    Raises:
        ValueError: says what was expected.
    """
    size = size_of(value)
    if size < _LEAST:
        raise ValueError("at least 16MiB")
    return size


def read_stretch(value: object) -> float:
    """Read how much time one row stands for.

    Raises:
        ValueError: says what was expected.
    """
    span = read_span(value)
    if span not in _STRETCHES:
        raise ValueError("a duration of whole minutes that divides an hour, such as 1m, 5m or 15m")
    return span


Bytes = Annotated[
    int, PlainValidator(read_size), worded("size with a unit", "from 16MiB", type="string", pattern=SIZE_PATTERN)
]
Stretch = Annotated[
    float,
    PlainValidator(read_stretch),
    worded("duration", "whole minutes that divide an hour", type="string", pattern=r"^\s*\d+\s*[mh]\s*$"),
]


class RecordDocument(Declared):
    """How much of the samples is kept, and for how long."""

    budget: Bytes = key("Most that recordings may take on the disk.", "10GiB", default="10GiB")
    whole: PositiveSpan = key("How long every sample is kept, while the budget allows it.", "7d", default="7d")
    then: Stretch = key(
        "After that, average, least and greatest value of so much time are kept instead.", "5m", default="5m"
    )

    @property
    def settings(self) -> Recording:
        """As the core sees it."""
        return Recording(budget=self.budget, whole=self.whole, then=self.then)
