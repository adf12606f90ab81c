"""How a reduction is written: ``avg``, ``p95``, ``highest 3``."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import PlainValidator, WithJsonSchema

from config.document.declared import worded
from config.model.reductions import Rank, Reduce, Reduction, Statistic
from config.model.where import hint

_RANK = re.compile(r"(?P<end>highest|lowest)\s+(?P<nth>[1-9][0-9]{0,4})")
_WORDS: dict[str, Reduction] = {each.value: each for each in (*Reduce, *Statistic)}
_EXPECTED = f"{', '.join(_WORDS)}, highest N or lowest N"


def read_reduction(value: object) -> Reduction:
    """Read how the values of a window become one.

    Raises:
        ValueError: says what was expected.
    """
    text = value.strip() if isinstance(value, str) else ""
    if text in _WORDS:
        return _WORDS[text]
    if (rank := _RANK.fullmatch(text)) is not None:
        return Rank(int(rank["nth"]), rank["end"] == "highest")
    raise ValueError(f"one of {_EXPECTED}{hint(text, _WORDS) if text else ''}")


def read_across(value: object) -> Reduction:
    """Read how the members' values become one: they have no order, so there is no last of them.

    Raises:
        ValueError: says what was expected.
    """
    if value == Reduce.LAST.value:
        raise ValueError("a reduction across members, which have no order: avg, min, max, sum, count, p95 or highest 3")
    return read_reduction(value)


def _written(words: list[str]) -> WithJsonSchema:
    named = ", ".join(f"`{word}`" for word in words)
    ranks = {"type": "string", "pattern": r"^(highest|lowest) +[1-9]\d*$"}
    return worded(f"one of {named}, `highest N`, `lowest N`", anyOf=[{"enum": words}, ranks])


Aggregating = Annotated[Reduction, PlainValidator(read_reduction), _written([*_WORDS])]
Across = Annotated[
    Reduction, PlainValidator(read_across), _written([word for word in _WORDS if word != Reduce.LAST.value])
]
