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
Places = npt.NDArray[np.signedinteger[Any]]
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

    def between(self, first: int, last: int) -> Samples:
        """Return the rows from ``first`` until just before ``last``, without copying them."""
        return self._each(lambda column: column[first:last])

    def compact(self) -> Samples:
        """Return the same rows in less memory: a column that has one value in them stores it once."""
        return self._each(compact)

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


def compact(column: Column) -> Column:
    """Return a column in less memory: one value that repeats throughout is stored once, codes in few bytes."""
    if len(column) and (column == column[0]).all():
        return np.broadcast_to(column[0], len(column))
    if not len(column) or column.dtype.kind != "i":
        return column
    least, most = column.min(), column.max()
    kinds = (each for each in (np.int8, np.int16) if np.iinfo(each).min <= least and most <= np.iinfo(each).max)
    return column.astype(next(kinds, column.dtype), copy=False)


class GrowingColumn:
    """A column that is read piece by piece, in one array: many small ones would leave holes in memory."""

    def __init__(self) -> None:
        self._rows = 0
        self._column: Column = np.zeros(0)
        """Longer than the rows, unless it is one value that repeats throughout."""

    def append(self, piece: Column) -> None:
        """Add rows."""
        piece, first, self._rows = compact(piece), self._rows, self._rows + len(piece)
        if not first:
            self._column = piece
        elif _is_one(self._column) and _is_one(piece) and _same(self._column[0], piece[0]):
            self._column = np.broadcast_to(piece[0], self._rows)
        else:
            self._widen(first, np.promote_types(self._column.dtype, piece.dtype))
            self._column[first : self._rows] = piece

    def taken(self) -> Column:
        """Return the rows, and forget them."""
        column, self._column = self._column, np.zeros(0)
        return column[: self._rows]

    def _widen(self, rows: int, kind: np.dtype[Any]) -> None:
        """Make room, a quarter more than is needed now: memory that is not written to is not taken."""
        column = self._column
        if kind != column.dtype or self._rows > len(column) or not column.flags.writeable:
            self._column = np.empty(self._rows * 5 // 4, dtype=kind)
            self._column[:rows] = column[:rows]


def taken(column: Column, rows: Index) -> Column:
    """Return these rows of a column, in this order; a value that repeats throughout stays one."""
    return np.broadcast_to(column[:1].reshape(()), len(rows)) if _is_one(column) else column[rows]


def joined(columns: Sequence[Column]) -> Column:
    """Concatenate columns; if one value repeats throughout all of them, it stays one."""
    if columns and all(map(_is_one, columns)):
        first = columns[0][0]
        if all(_same(each[0], first) for each in columns):
            return np.broadcast_to(first, sum(map(len, columns)))
    return np.concatenate(columns)


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401  # of any kind
    return bool(one == other or (one != one and other != other))  # noqa: PLR0124  # NaN is not itself


def _is_one(column: Column) -> bool:
    """Tell whether a column is one value that repeats throughout."""
    return bool(column.strides == (0,) and len(column))


def ranks(words: Words) -> Index:
    """Return the rank of each row's word in alphabetical order, from 1; 0: no word."""
    places = np.zeros(len(words.words) + 1, dtype=np.intp)
    places[sorted(range(len(words.words)), key=words.words.__getitem__)] = np.arange(1, len(words.words) + 1)
    found: Index = places[words.codes]  # -1 takes the last place, which is 0
    return found
