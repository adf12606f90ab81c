"""Pack rows of a group's history into one compressed block, and unpack them to the last character. Pure.

# Note [Blocks of rows]

The rows of one group differ in little but their numbers: an explanation of four conditions with its basis is nearly
4 KiB of JSON, of which a few values, ages and instants are new. A block takes every number out of the text of a row.
What is left (the *form*) is kept once, and the numbers of one place in all texts of a form are a column: one that
equals an earlier column, or has one number only, costs next to nothing. The rest is deflated. Numbers stay as they were
written, so each text comes back as it was, whichever release wrote it, and is read by the same codec: a block knows
nothing of explanations. In a block of a day a span of four conditions takes some 90 bytes, a decision 6, and the inputs
of one 30.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from config.errors import StoreError

_NUMBERS = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)")
_PLACE = "\0"
"""Stands for a number in a form: JSON has no such character."""
_FORMAT = 1
_LEVEL = 9


PackedRow = Sequence[str | float | None]
"""The values of a row; of documents their JSON."""

_Column = str | int
"""The numbers of one place, separated by spaces; a single one: all are equal; an integer: equals that column."""


def pack(rows: Sequence[PackedRow], onto: bytes | None = None) -> bytes:
    """Pack rows, which `unpack` returns in the same order.

    Args:
        rows: all of one table.
        onto: a block whose rows come before them.

    Raises:
        StoreError: that block is damaged, or a newer release wrote it.
    """
    numbers = _Numbers() if onto is None else _read(onto)
    for row in rows:
        parts = _NUMBERS.split(json.dumps(row, separators=(",", ":"), ensure_ascii=False))
        numbers.add(_PLACE.join(parts[::2]), parts[1::2])
    body = {
        "format": _FORMAT,
        "order": numbers.order,
        "forms": [*numbers.of],
        "columns": [_columns(each) for each in numbers.of.values()],
    }
    return zlib.compress(json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(), _LEVEL)


def unpack(body: bytes) -> tuple[tuple[Any, ...], ...]:
    """Return the rows of a block. Raises as `pack`."""
    numbers = _read(body)
    rows = [iter(_rows(form, each)) for form, each in numbers.of.items()]
    return tuple(next(rows[form]) for form in numbers.order)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of rows: for each form, those of one row after the other."""

    of: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    """The form of each row."""
    places: dict[str, int] = field(default_factory=dict)

    def add(self, form: str, numbers: Sequence[str]) -> None:
        self.order.append(self.places.setdefault(form, len(self.places)))
        self.of.setdefault(form, []).append(numbers)


def _read(body: bytes) -> _Numbers:
    try:
        block = json.loads(zlib.decompress(body))
        if block["format"] == _FORMAT:
            forms, order = block["forms"], block["order"]
            counts = [order.count(place) for place in range(len(forms))]
            of = dict(zip(forms, map(_numbers, block["columns"], counts), strict=True))
            return _Numbers(of, order, {form: place for place, form in enumerate(forms)})
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"a stored block of history cannot be read: {error}") from error
    raise StoreError(f"a stored block of history has format {block['format']}; this release reads {_FORMAT}")


def _columns(numbers: Sequence[Sequence[str]]) -> list[_Column]:
    """Return the columns of one form; each is written once."""
    columns: list[_Column] = []
    known: dict[tuple[str, ...], int] = {}
    for place, column in enumerate(zip(*numbers, strict=True)):
        if column in known:
            columns.append(known[column])
        else:
            known[column] = place
            columns.append(column[0] if len(set(column)) == 1 else " ".join(column))
    return columns


def _numbers(columns: Sequence[_Column], count: int) -> list[Sequence[str]]:
    """Return the numbers of each row of a form."""
    whole: list[list[str]] = []
    for column in columns:
        if isinstance(column, int):
            whole.append(whole[column])
        else:
            parts = column.split(" ")
            whole.append(parts * count if len(parts) == 1 else parts)
    return [*zip(*whole, strict=True)]


def _rows(form: str, numbers: Sequence[Sequence[str]]) -> list[tuple[Any, ...]]:
    """Put the numbers of each row back into their places."""
    parts = form.split(_PLACE)
    text = [""] * (2 * len(parts) - 1)
    text[::2] = parts
    rows = []
    for each in numbers:
        text[1::2] = each
        rows.append(tuple(json.loads("".join(text))))
    return rows
