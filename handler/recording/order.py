"""Brings pieces of a recording into the order of time without holding all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from handler.recording.rows import Rows, joined


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some rows that have not been read yet."""

    first: float
    """The earliest timestamp among them."""
    load: Callable[[], Rows]


def in_order(pieces: Sequence[Piece]) -> Iterator[Rows]:
    """Hand out all rows sorted by time, then group, counter and member.

    What is held is what overlaps: rows of pieces that were loaded, not earlier than the next piece begins.
    """
    ordered = sorted(pieces, key=lambda piece: piece.first)
    waiting: list[Rows] = []
    for piece, until in zip(ordered, [*(piece.first for piece in ordered), math.inf][1:], strict=True):
        waiting.append(piece.load())
        if not any(len(rows) and rows.timestamp.min() < until for rows in waiting):
            continue
        known = joined(waiting).in_order()
        ripe = int(np.searchsorted(known.timestamp, until))
        yield known.take(np.arange(ripe))
        waiting = [known.take(np.arange(ripe, len(known)))] if ripe < len(known) else []
