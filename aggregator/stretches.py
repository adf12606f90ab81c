"""Ticks of some tracks, and the ways to make one of many of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggregator.rates import Ints
from collector.samples import Bools, Floats
from config.model.reductions import Reduce, Reduction

Places = slice | Ints
Place = int | slice


class TickRows(NamedTuple):
    """Some ticks of some tracks; all arrays are (tick, track)."""

    low: Floats
    value: Floats
    """0.0 and meaningless unless ``valid``."""
    high: Floats
    valid: Bools
    share: Floats
    """Of the members that ought to answer, those who did; 0.0 where nobody did or ought to: such a tick is silent."""
    newest: Floats
    """Steady seconds of the newest answer; -inf where nobody answered."""

    def tick(self, place: Place, tracks: Places) -> TickRows:
        """Take one row of these tracks, or one for each of many windows: each array is (track,) or (window, track)."""
        return TickRows(
            low=self.low[place][..., tracks],
            value=self.value[place][..., tracks],
            high=self.high[place][..., tracks],
            valid=self.valid[place][..., tracks],
            share=self.share[place][..., tracks],
            newest=self.newest[place][..., tracks],
        )


class Fold(NamedTuple):
    """A way to make one of many ticks that comes to the same in whatever order they are taken.

    So blocks of ticks can be folded beforehand, and a window is read in few pieces. Sums are no such way: they differ
    in their last bits, and a window must come to the same wherever its ring began.
    """

    column: str
    """Of `TickRows`."""
    by: np.ufunc
    absent: float | None = None
    """What a value that is not valid counts as; ``None``: every entry counts as it is."""

    def of(self, rows: TickRows, places: Places, tracks: Places) -> Floats:
        """Fold these rows of these tracks: (track,)."""
        folded: Floats = self.by.reduce(self.entries(rows, places, tracks), axis=0, dtype=np.float64)
        return folded

    def entries(self, rows: TickRows, places: Places, tracks: Places) -> npt.NDArray[Any]:
        """What is folded of these rows of these tracks: (tick, track)."""
        column: npt.NDArray[Any] = getattr(rows, self.column)[places][:, tracks]
        return column if self.absent is None else np.where(rows.valid[places][:, tracks], column, self.absent)

    def joined(self, parts: Sequence[Floats]) -> Floats:
        """Fold what parts of the ticks came to."""
        whole = parts[0]
        for part in parts[1:]:
            whole = self.by(whole, part)
        return whole


SAMPLES = Fold("valid", np.add)
COVERAGE = Fold("share", np.minimum)
NEWEST = Fold("newest", np.maximum)
LEAST = (Fold("low", np.minimum), Fold("value", np.minimum, np.inf), Fold("high", np.minimum))
GREATEST = (Fold("low", np.maximum), Fold("value", np.maximum, -np.inf), Fold("high", np.maximum))
OF_EVERY_WINDOW = (SAMPLES, COVERAGE, NEWEST)
OF: Mapping[Reduction, Sequence[Fold]] = {Reduce.MIN: LEAST, Reduce.MAX: GREATEST}
"""What a reduction needs beside that. Others read every row."""


class Stretch(NamedTuple):
    """The newest ticks of some tracks; good until the next tick comes. The arrays but ``rows`` are (track,).

    Of a `Sweep` it is the newest ticks as of each of many: then they are (window, track), and so is each tick of it.
    """

    rows: TickRows
    """All that there are, of all tracks."""
    order: Sequence[Place]
    """Which of them it has, the newest first; of many windows at once, where each has that tick."""
    tracks: Places
    fold: Callable[[Fold], Floats]
    """Folds its ticks."""
    samples: Ints
    """Ticks with a value."""
    coverage: Floats
    """Least share of members heard at any tick: 1.0 only if all of them were at every tick."""
    newest: Floats
    """Steady seconds of the newest answer; -inf: nobody answered."""

    def tick(self, back: int) -> TickRows:
        """One tick, so many before the newest: each array is (track,)."""
        return self.rows.tick(self.order[back], self.tracks)

    def column(self, name: str, among: Places = slice(None)) -> npt.NDArray[Any]:
        """One column of its ticks, the newest first, of all its tracks or of some: (tick, track), copied."""
        tracks = among if isinstance(self.tracks, slice) else self.tracks[among]
        rows: npt.NDArray[Any] = getattr(self.rows, name)[np.array(self.order)]
        return rows[:, tracks]

    def total(self, column: str) -> Floats:
        """Add up the ticks of one column, in order: a window comes to the same wherever its ring begins."""
        rows = getattr(self.rows, column)
        return added(rows[place][..., self.tracks] for place in self.order)


def added(rows: Iterable[Floats]) -> Floats:
    """Add up rows one after the other, so that it does not matter how many tracks share them."""
    first, *others = rows
    total: Floats = first.copy()
    for row in others:
        total += row
    return total
