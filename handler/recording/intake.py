"""The bounded queue between the event loop and the disk, which never makes the event loop wait.

Scrapes are passed on without a copy, since nothing changes them. When the disk does not keep up, complete ticks are
left out, and the recording notes that they existed.
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
"""The most left-out ticks that are kept, the newest; older ones are only counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTick:
    """One poll of some groups. ``scrape`` is ``None`` if its samples were left out."""

    at: Moment
    groups: tuple[GroupId, ...]
    scrape: Scrape | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeBatch:
    """All ticks since the last batch, in order."""

    ticks: tuple[RecordedTick, ...]
    closed: bool
    """No more ticks will come."""


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
        """Queue a tick; return ``False`` if it was left out, since the writer is too far behind."""
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
        """Wait at most this long for ticks, and take all of them, missed ones last."""
        with self._news:
            if not (self._ticks or self._missed or self._closed):
                self._news.wait(patience)
            ticks = (*self._ticks, *self._missed)
            self._ticks.clear()
            self._missed.clear()
            self._samples = 0
            return IntakeBatch(ticks=ticks, closed=self._closed)

    def close(self) -> None:
        """Let the writer finish the queue, and end."""
        with self._news:
            self._closed = True
            self._news.notify()
