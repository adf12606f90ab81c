"""Axes: from values to places in a picture, with round marks on both of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from handler.tuning.choices import round_step, stepped
from handler.tuning.drawing import Label, Path, Point, Shape

WIDTH, HEIGHT = 860, 430
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 36, 52
_MARKS = 6
_ROOM = 0.06


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The values that an axis shows."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return how far along the axis a value is, from 0 to 1."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def marks(self) -> Sequence[float]:
        """Return round values on the axis."""
        return stepped(self.low, self.high, round_step((self.high - self.low) / _MARKS))


def scale_of(values: Iterable[float], *, from_zero: bool = False) -> Scale:
    """Return an axis with room for all values."""
    known = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    room = (high - low) * _ROOM or abs(high) * _ROOM or 1.0
    return Scale(low=0.0 if from_zero else low - room, high=high + room)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """Two axes."""

    across: Scale
    up: Scale

    def place(self, x: float, y: float) -> Point:
        """Return where a pair of values is in the picture."""
        return (
            _LEFT + (WIDTH - _LEFT - _RIGHT) * self.across.share(x),
            HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * self.up.share(y),
        )

    def frame(self, below: str, above: str, words: Iterable[tuple[float, str]] | None = None) -> tuple[Shape, ...]:
        """Draw the axes with their marks.

        Args:
            below: what the horizontal axis shows.
            above: what the vertical axis shows.
            words: marks of the horizontal axis, instead of numbers.
        """
        base, end = HEIGHT - _BOTTOM, WIDTH - _RIGHT
        shapes: list[Shape] = []
        for mark in self.up.marks():
            y = self.place(self.across.low, mark)[1]
            shapes.append(Path(points=[(_LEFT, y), (end, y)], colour="#eeeeee"))
            shapes.append(Label(at=(_LEFT - 8, y + 4), text=f"{mark:g}", anchor="end"))
        marks = [(mark, f"{mark:g}") for mark in self.across.marks()] if words is None else words
        shapes += [Label(at=(self.place(mark, 0.0)[0], base + 18), text=text, anchor="middle") for mark, text in marks]
        shapes.append(Path(points=[(_LEFT, _TOP), (_LEFT, base), (end, base)], colour="#333333"))
        shapes.append(Label(at=((_LEFT + end) / 2, HEIGHT - 12), text=below, anchor="middle"))
        shapes.append(Label(at=(_LEFT, _TOP - 14), text=above))
        return tuple(shapes)
