"""Values become JSON by their declared types, and by what they are where those say nothing."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NewType

import numpy as np
import pytest

from handler.web.render import plain

Name = NewType("Name", str)


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    level: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    name: Name
    anything: object
    one_of: Inner | Colour | int
    by_colour: Mapping[Colour, Inner] = field(default_factory=dict)
    pairs: tuple[tuple[Name, Any], ...] = ()
    kept: int = field(init=False, default=7)


def an_outer(**changed: Any) -> Outer:
    return Outer(**{"name": Name("web"), "anything": None, "one_of": 1, **changed})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        ("ü", "ü"),
        (1.5, 1.5),
        (math.inf, None),
        (math.nan, None),
        (np.float64(0.5), 0.5),
        (np.float64(math.inf), None),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        ((1, [Colour.RED]), [1, ["red"]]),
        (frozenset({1}), [1]),
        (MappingProxyType({Colour.RED: Inner(level=math.inf)}), {"red": {"level": None}}),
        ({3: ()}, {"3": []}),
    ],
    ids=repr,
)
def test_a_value_is_shown_by_what_it_is(value: object, expected: object) -> None:
    assert plain(value) == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"anything": Inner(level=2)}, {"anything": {"level": 2}}),
        ({"anything": (Colour.RED, math.nan)}, {"anything": ["red", None]}),
        ({"one_of": Inner()}, {"one_of": {"level": None}}),
        ({"one_of": Colour.RED}, {"one_of": "red"}),
        ({"by_colour": {Colour.RED: Inner()}}, {"by_colour": {"red": {"level": None}}}),
        ({"pairs": ((Name("a"), Inner()),)}, {"pairs": [["a", {"level": None}]]}),
    ],
    ids=repr,
)
def test_a_field_is_shown_by_its_type_and_by_what_it_holds(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    least = {"name": "web", "anything": None, "one_of": 1, "by_colour": {}, "pairs": [], "kept": 7}
    assert plain(an_outer(**changed)) == {**least, **expected}


@pytest.mark.parametrize(
    "value",
    [b"bytes", object(), 1j, {"a": (b"bytes",)}, an_outer(anything=b"bytes")],
    ids=["bytes", "object", "complex", "bytes inside", "bytes in a field"],  # no address: each worker must see one id
)
def test_a_type_that_no_value_of_ours_has_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="no JSON for"):
        plain(value)
