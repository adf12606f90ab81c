"""What members show by themselves, and which of them stand apart from the others. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

from config.model.counters import Counter
from config.units import CounterId, MemberName
from handler.web.pages.figures import quantity

_LEAST: Final = 5
"""Of fewer members it cannot be told which one is unlike the others."""
_APART: Final = 3.5
"""Usual distances from the median beyond which a value stands apart."""
_OF_MEDIAN, _OF_MEAN = 1.4826, 1.2533
"""What a median, and a mean, of absolute distances have to be multiplied by to be a standard deviation."""

Values = Mapping[tuple[CounterId, MemberName], float]


@dataclass(frozen=True, slots=True)
class ShownValue:
    """What one counter of one member was at the last tick."""

    text: str
    apart: bool
    """It is far from what most members show."""


def shown_values(values: Values, counters: Mapping[CounterId, Counter]) -> Mapping[MemberName, tuple[ShownValue, ...]]:
    """Return for each member what it showed, by counter; a counter that is no longer declared is left out."""
    found: dict[MemberName, list[ShownValue]] = {}
    for counter in sorted({name for name, _ in values} & counters.keys()):
        of_members = {member: value for (name, member), value in values.items() if name == counter}
        far = standing_apart(of_members)
        for member, value in of_members.items():
            text = f"{counter} {quantity(value, counters[counter].unit)}"
            found.setdefault(member, []).append(ShownValue(text, member in far))
    return {member: tuple(shown) for member, shown in found.items()}


def standing_apart(values: Mapping[MemberName, float]) -> frozenset[MemberName]:
    """Return the members whose value is far from the median, measured by how far values usually are from it.

    The usual distance is the median of distances: one wild value does not make it large. Where most values are equal,
    that is 0, and their mean counts.

    Source: Iglewicz and Hoaglin, How to Detect and Handle Outliers (1993): modified z-scores above 3.5.
    """
    if len(values) < _LEAST:
        return frozenset()
    middle = median(values.values())
    distances = {member: abs(value - middle) for member, value in values.items()}
    usual = _OF_MEDIAN * median(distances.values()) or _OF_MEAN * fmean(distances.values())
    return frozenset(member for member, distance in distances.items() if distance > _APART * usual)
