"""What lies between the event loop and the disk: a bounded queue that never makes anybody wait.

Scrapes are handed over as they are: nothing changes them any more. When the disk does not keep up, whole ticks are left
out, and that they were there is remembered.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from collector.samples import Scrape
from config.units import GroupId, Moment, Seconds

SAMPLES_AT_MOST = 2_000_000
"""50 MB: ten ticks of 200,000 samples."""
_TICKS_AT_MOST = 20_000
_REMEMBERED = 5_000
"""Of ticks that were left out, the newest; beyond that they are only counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTick:
    """One poll of some groups. ``scrape`` is ``None`` if its samples were left out."""

    at: Moment
    groups: tuple[GroupId, ...]
    scrape: Scrape | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeBatch:
    """Everything that came since the last one, in order."""

    ticks: tuple[RecordedTick, ...]
    closed: bool
    """Nothing more will come."""


class RecordingIntake:
    """A queue of ticks for one writer. `put` takes microseconds, whatever the writer does."""

    def __init__(self, samples_at_most: int = SAMPLES_AT_MOST) -> None:
        self._most = samples_at_most
        self._ticks: deque[RecordedTick] = deque()
        self._missed: deque[RecordedTick] = deque(maxlen=_REMEMBERED)
        self._samples = 0
        self._closed = False
        self._news = threading.Condition(threading.Lock())
        self.dropped = 0
        """Ticks that were left out, since the start."""

    def put(self, groups: tuple[GroupId, ...], scrape: Scrape) -> bool:
        """Hand over a tick; ``False``: it was left out, since the writer is too far behind."""
        count = len(scrape.layout.series)
        with self._news:
            full = len(self._ticks) >= _TICKS_AT_MOST or (self._samples and self._samples + count > self._most)
            if full:
                self._missed.append(RecordedTick(at=scrape.at, groups=groups, scrape=None))
                self.dropped += 1
            else:
                self._ticks.append(RecordedTick(at=scrape.at, groups=groups, scrape=scrape))
                self._samples += count
            self._news.notify()
        return not full

    def take(self, patience: Seconds) -> IntakeBatch:
        """Wait at most so long for ticks, and take all that there are, missed ones last."""
        with self._news:
            if not (self._ticks or self._missed or self._closed):
                self._news.wait(patience)
            ticks = (*self._ticks, *self._missed)
            self._ticks.clear()
            self._missed.clear()
            self._samples = 0
            return IntakeBatch(ticks=ticks, closed=self._closed)

    def close(self) -> None:
        """Let the writer finish what there is, and end."""
        with self._news:
            self._closed = True
            self._news.notify()
