"""A recorded series as columns, whatever the form of its file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from collector.samples import Bools, Codes, Floats
from config.errors import TrimtabError

Index = npt.NDArray[np.intp]
Places = npt.NDArray[np.int32]
Column = npt.NDArray[Any]


class Unreplayable(TrimtabError):
    """A file cannot be replayed; the message has the place, its content, and what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Words:
    """A column of words, each stored once; -1: no word."""

    codes: Places
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """Readings in any order; all columns are (row,)."""

    group: Words
    member: Words
    """No word: a value of the group."""
    counter: Words
    """No word: the group was due, and had no member to ask."""
    at: Floats
    """Wall clock: seconds since the epoch at which the poll began."""
    value: Floats
    """As read, before rates and scale; 0.0 unless ``reply`` is OK."""
    reply: Codes
    """`collector.samples.Reply` codes."""
    counted: Bools
    """False: warming up."""
    steady: Floats
    """Steady clock of the poll; NaN: not recorded."""
    replied_at: Floats
    """Steady clock of the answer; NaN: not recorded."""
    uptime: Floats
    """Seconds since the agent began to count; NaN: unknown."""

    def __len__(self) -> int:
        return len(self.at)

    def take(self, rows: Index) -> Samples:
        """Return these rows, in this order."""
        return self._each(lambda column: taken(column, rows))

    def _each(self, change: Callable[[npt.NDArray[np.generic]], object]) -> Samples:
        columns: dict[str, object] = {}
        for field in dataclasses.fields(self):
            column = getattr(self, field.name)
            columns[field.name] = (
                Words(codes=change(column.codes), words=column.words)  # type: ignore[arg-type]  # an array of the kind
                if isinstance(column, Words)
                else change(column)
            )
        return Samples(**columns)  # type: ignore[arg-type]  # the same columns


def nothing(rows: int) -> Floats:
    """Return a column of NaN, which takes no memory: most files have no clocks and no uptimes."""
    return np.broadcast_to(np.float64(np.nan), rows)


def taken(column: Column, rows: Index) -> Column:
    """Return these rows of a column, in this order; a column of `nothing` stays one."""
    return np.broadcast_to(column[:1].reshape(()), len(rows)) if _is_one(column) else column[rows]


def joined(columns: Sequence[Column]) -> Column:
    """Concatenate columns; columns of `nothing` stay one."""
    if columns and all(map(_is_one, columns)):
        return np.broadcast_to(columns[0][:1].reshape(()), sum(map(len, columns)))
    return np.concatenate(columns)


def _is_one(column: Column) -> bool:
    """Tell whether a column is one repeated NaN."""
    return bool(column.strides == (0,) and len(column) and np.isnan(column[0]))


def ranks(words: Words) -> Index:
    """Return the rank of each row's word in alphabetical order, from 1; 0: no word."""
    places = np.zeros(len(words.words) + 1, dtype=np.intp)
    places[sorted(range(len(words.words)), key=words.words.__getitem__)] = np.arange(1, len(words.words) + 1)
    found: Index = places[words.codes]  # -1 takes the last place, which is 0
    return found
