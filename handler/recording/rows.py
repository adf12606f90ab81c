"""Recorded samples as columns: the form between files, thinning and export.

A missing number is NaN, a missing word has the code -1. Values themselves are finite
(`collector.samples`), so nothing is lost by that. Pieces of a recording come into the order
of time without all of them being held.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from collector.samples import Bools, Codes, Floats, Reply

Ints = npt.NDArray[np.int32]
Index = npt.NDArray[np.intp]
Column = Floats | Codes | Bools

NONE_ASKED = 254
"""Instead of a reply: the group was due, but has no counter or no member to ask."""
MISSED = 253
"""Instead of a reply: the group was due, and its samples were lost."""
NO_REPLY = 255
"""A row that stands for several samples has no reply of its own."""

REPLIES = {**{int(reply): reply.word for reply in Reply}, NONE_ASKED: "nobody", MISSED: "missed"}
"""The names of replies in files."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Text:
    """A column of words, each stored once."""

    codes: Ints
    words: tuple[str, ...]

    def take(self, index: Index) -> Text:
        """Return the rows at these places."""
        return Text(codes=self.codes[index], words=self.words)

    def ranks(self) -> npt.NDArray[np.int64]:
        """Return the rank of each row's word in alphabetical order, from 1; 0: no word."""
        ranks = np.zeros(len(self.words) + 1, dtype=np.int64)
        ranks[sorted(range(len(self.words)), key=self.words.__getitem__)] = np.arange(1, len(self.words) + 1)
        found: npt.NDArray[np.int64] = ranks[self.codes]  # -1 takes the last place, which is 0
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleRows:
    """Samples, or spans of samples. All columns have one length."""

    group: Text
    member: Text
    """No word: a value of the group."""
    counter: Text
    """No word: the reply gives the outcome of the group's tick."""
    timestamp: Floats
    """Wall clock: seconds since the epoch at which the poll began; of a span, its beginning."""
    value: Floats
    """As read, before rates and scale; of a span, the average."""
    reply: Codes
    counted: Bools
    """False: the member was warming up, and decisions leave it out."""
    steady: Floats
    """Steady clock, when the poll began. A span has none, and none of the next two."""
    replied_at: Floats
    """Steady clock, when the answer arrived."""
    uptime: Floats
    """Seconds since the agent began to count."""
    resolution: Floats
    """0: one sample. Else the seconds that the row stands for."""
    asked: Floats
    """For a span: the number of requests. A single sample has none, and none of the next three."""
    count: Floats
    """The number of answers."""
    minimum: Floats
    maximum: Floats

    def __len__(self) -> int:
        return len(self.timestamp)

    def take(self, index: Index) -> SampleRows:
        """Return the rows at these places."""
        taken = {
            name: column.take(index) if isinstance(column, Text) else _taken(column, index)
            for name, column in _columns(self).items()
        }
        return SampleRows(**taken)  # type: ignore[arg-type]  # the same columns

    def series(self) -> npt.NDArray[np.int64]:
        """Return a number for each row's series: equal for equal series, ordered by group, counter, member."""
        counters, members = len(self.counter.words) + 1, len(self.member.words) + 1
        return (self.group.ranks() * counters + self.counter.ranks()) * members + self.member.ranks()

    def in_order(self) -> SampleRows:
        """Return the rows sorted by time, then group, counter and member."""
        return self.take(np.lexsort((self.reply, self.counted, self.series(), self.timestamp)))


def _columns(rows: SampleRows) -> dict[str, Text | Column]:
    return {field.name: getattr(rows, field.name) for field in dataclasses.fields(rows)}


def joined(parts: Sequence[SampleRows]) -> SampleRows:
    """Concatenate rows; at least one part."""
    if len(parts) == 1:
        return parts[0]
    every = [_columns(part) for part in parts]
    columns = {name: _joined_column([part[name] for part in every]) for name in every[0]}
    return SampleRows(**columns)  # type: ignore[arg-type]  # the same columns


def _joined_column(parts: Sequence[Text | Column]) -> object:
    texts = [part for part in parts if isinstance(part, Text)]
    if not texts:
        return np.concatenate(parts)  # type: ignore[arg-type]  # no text among them
    places: dict[str, int] = {}
    codes = []
    for text in texts:
        moved = [places.setdefault(word, len(places)) for word in text.words]
        codes.append(np.array([*moved, -1], dtype=np.int32)[text.codes])
    return Text(codes=np.concatenate(codes), words=tuple(places))


def _taken(column: Column, index: Index) -> Column:
    if column.strides == (0,) and len(column):
        return cast("Column", np.broadcast_to(column[:1], index.shape))
    return column[index]


def same(value: float, count: int) -> Floats:
    """Return a read-only column of one number, which takes no memory."""
    return np.broadcast_to(np.float64(value), (count,))


def nothing(count: int) -> Floats:
    """Return a column of missing numbers."""
    return same(np.nan, count)


def no_rows() -> SampleRows:
    """Return columns without rows."""
    none = nothing(0)
    empty = Text(codes=np.zeros(0, dtype=np.int32), words=())
    return SampleRows(
        group=empty,
        member=empty,
        counter=empty,
        timestamp=none,
        value=none,
        reply=np.zeros(0, dtype=np.uint8),
        counted=np.zeros(0, dtype=np.bool_),
        steady=none,
        replied_at=none,
        uptime=none,
        resolution=none,
        asked=none,
        count=none,
        minimum=none,
        maximum=none,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadRows:
    """Rows that have not been read yet."""

    first: float
    """The earliest timestamp among them."""
    load: Callable[[], SampleRows]


def in_order(pieces: Sequence[UnreadRows]) -> Iterator[SampleRows]:
    """Yield all rows sorted by time, then group, counter and member.

    Only overlapping rows are held: those of loaded pieces from the beginning of the next piece on.
    """
    ordered = sorted(pieces, key=lambda piece: piece.first)
    waiting: list[SampleRows] = []
    for piece, until in zip(ordered, [*(piece.first for piece in ordered), math.inf][1:], strict=True):
        waiting.append(piece.load())
        if not any(len(rows) and rows.timestamp.min() < until for rows in waiting):
            continue
        known = joined(waiting).in_order()
        ripe = int(np.searchsorted(known.timestamp, until))
        yield known.take(np.arange(ripe))
        waiting = [known.take(np.arange(ripe, len(known)))] if ripe < len(known) else []
