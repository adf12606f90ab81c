"""How a type of the file is called in an operator's words: for the schema, and for the reference that is made of it.

The words stand in ``title``, which JSON Schema has for them. What no keyword of JSON Schema says stands under keys of
our own, which editors pass over: ``x-bounds`` (of a value that is text in the file), ``x-unit``, ``x-if-left-out``.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import WithJsonSchema

BOUNDS: Final = "x-bounds"
UNIT: Final = "x-unit"
IF_LEFT_OUT: Final = "x-if-left-out"
NO_UNIT: Final = "no unit"
"""Of a number that counts nothing."""
SIZE_PATTERN: Final = r"^\s*\d+(\.\d+)?\s*[KMGT]i?B\s*$"
PERCENT_PATTERN: Final = r"^\d+(\.\d+)?\s*%$"


def worded(words: str, bounds: str = "", **schema: Any) -> WithJsonSchema:  # noqa: ANN401 JSON
    """Make the schema of a type. ``words`` complete "the value is a …"; ``bounds`` only where no keyword says them."""
    extra = {BOUNDS: bounds} if bounds else {}
    return WithJsonSchema({"title": words, **extra, **schema})


def sentence_of(left_out: str) -> str:
    """What a description says of a key that is left out; empty: nothing."""
    return f" If left out: {left_out}." if left_out else ""
