"""Ticks of some tracks, and the folds that reduce many ticks to one."""

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
    """Share of the expected members that answered; 0.0 where no member answered or none was expected."""
    newest: Floats
    """Steady seconds of the newest answer; -inf without an answer."""

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


SavedRows = Mapping[int, TickRows]
"""Number of a tick → its row; each array is (track,)."""


class Fold(NamedTuple):
    """A reduction of many ticks to one whose result does not depend on the order of the ticks.

    So blocks of ticks can be folded in advance, and a window is read in few pieces. A sum is no fold: its last bits
    depend on the order, and a window must have the same value wherever its ring began.
    """

    column: str
    """Of `TickRows`."""
    by: np.ufunc
    absent: float | None = None
    """The replacement for a value that is not valid; ``None``: every entry counts as it is."""

    def of(self, rows: TickRows, places: Places, tracks: Places) -> Floats:
        """Fold these rows of these tracks: (track,)."""
        column: npt.NDArray[Any] = getattr(rows, self.column)[places][:, tracks]
        folded: Floats
        if self.absent is None:
            folded = self.by.reduce(column, axis=0, dtype=np.int32 if column.dtype == np.bool_ else None)
        else:
            folded = self.by.reduce(column, axis=0, where=rows.valid[places][:, tracks], initial=self.absent)
        return folded

    def entries(self, rows: TickRows, places: Places, tracks: Places) -> npt.NDArray[Any]:
        """Return the entries of these rows of these tracks that are folded: (tick, track)."""
        column: npt.NDArray[Any] = getattr(rows, self.column)[places][:, tracks]
        return column if self.absent is None else np.where(rows.valid[places][:, tracks], column, self.absent)

    def joined(self, parts: Sequence[Floats]) -> Floats:
        """Fold the results of parts of the ticks."""
        folded = parts[0]
        for part in parts[1:]:
            folded = self.by(folded, part)
        return folded


SAMPLES = Fold("valid", np.add)
COVERAGE = Fold("share", np.minimum)
NEWEST = Fold("newest", np.maximum)
LEAST = (Fold("low", np.minimum), Fold("value", np.minimum, np.inf), Fold("high", np.minimum))
GREATEST = (Fold("low", np.maximum), Fold("value", np.maximum, -np.inf), Fold("high", np.maximum))
OF_EVERY_WINDOW = (SAMPLES, COVERAGE, NEWEST)
OF: Mapping[Reduction, Sequence[Fold]] = {Reduce.MIN: LEAST, Reduce.MAX: GREATEST}
"""Further folds of these reductions. Other reductions read every row."""


class Slack(NamedTuple):
    """How far the bounds of some ticks are from their values, added up: low - value (at most 0), high - value."""

    low: Floats
    high: Floats

    def of(self, tracks: Places) -> Slack:
        """Take some tracks."""
        return Slack(self.low[..., tracks], self.high[..., tracks])


def slack_of(rows: TickRows, place: Place, tracks: Places = slice(None)) -> Slack:
    """Return how far the bounds of one row are from its values; 0.0 where they are equal, whatever they are."""
    low, value, high = (column[place][..., tracks] for column in (rows.low, rows.value, rows.high))
    return Slack(*(np.subtract(end, value, out=np.zeros_like(value), where=end != value) for end in (low, high)))


class Stretch(NamedTuple):
    """The newest ticks of some tracks; valid until the next tick. The arrays but ``rows`` are (track,).

    A stretch of a `TickSweep` has the newest ticks as of each of many ticks: its arrays are (window, track).
    """

    rows: TickRows
    """All rows, of all tracks."""
    order: Sequence[Place]
    """The rows of the stretch, the newest first; for many windows at once, the row of each window."""
    tracks: Places
    fold: Callable[[Fold], Floats]
    """Folds the ticks of the stretch."""
    slack: Callable[[], Slack]
    """Adds up the slack of the ticks, the newest first."""
    samples: Ints
    """Ticks with a value."""
    coverage: Floats
    """Least share of members that answered at any tick: 1.0 only if all members answered at every tick."""
    newest: Floats
    """Steady seconds of the newest answer; -inf: no answer."""

    def tick(self, back: int) -> TickRows:
        """Return one tick, ``back`` ticks before the newest: each array is (track,)."""
        return self.rows.tick(self.order[back], self.tracks)

    def column(self, name: str, among: Places = slice(None)) -> npt.NDArray[Any]:
        """Copy one column of the ticks, the newest first, of all its tracks or of some: (tick, track)."""
        tracks = among if isinstance(self.tracks, slice) else self.tracks[among]
        rows: npt.NDArray[Any] = getattr(self.rows, name)[np.array(self.order)]
        return rows[:, tracks]

    def total(self, column: str) -> Floats:
        """Add up the ticks of one column, in order: the sum does not depend on where the ring begins."""
        rows: Floats = getattr(self.rows, column)
        if not isinstance(self.tracks, slice):
            return added(rows[place][..., self.tracks] for place in self.order)
        total = rows[self.order[0]].copy()
        for first in range(0, total.shape[-1], _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            part = total[..., some]
            for place in self.order[1:]:
                part += rows[place][..., some]
        return total


_AT_ONCE = 16384
"""Tracks whose sums fit into a processor's cache while row after row is added to them."""


def added(rows: Iterable[Floats]) -> Floats:
    """Add up rows one by one, so that the sum does not depend on the number of tracks."""
    first, *others = rows
    total: Floats = first.copy()
    for row in others:
        total += row
    return total
