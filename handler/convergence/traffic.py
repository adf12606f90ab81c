"""Limit the calls to each cloud, over the passes of all its groups.

A cloud has a bucket of calls, declared with it (`config.model.clouds.Calls`), and is left alone for as long as it asks
for.
No pass waits here: a call that may not be made now is left to the next pass.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from config.errors import DriverError, Engaged, Full, Transient, Unsent
from config.model.clouds import Calls, Cloud
from config.units import CloudId, Instant, Seconds
from trigger.moving import moved

_FULL: Seconds = 10.0
"""For how long a cloud is believed to be full: removals free capacity meanwhile."""

_LONG_AGO = Instant(0.0)

_FOR_ASKING = 0.5
"""The share of a bucket that is left to creates and removals: asking about many must not be all that is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Calls that may be made at once, as of an instant."""

    level: float
    at: Instant


def refilled(bucket: Bucket | None, calls: Calls, now: Instant) -> Bucket:
    """What is in a bucket now; a new one is full, and time that goes back fills none.

    >>> refilled(Bucket(level=1.0, at=Instant(0.0)), Calls(count=10, per=5.0), Instant(2.0)).level
    5.0
    """
    if bucket is None:
        return Bucket(level=float(calls.count), at=now)
    more = max(now - bucket.at, 0.0) * calls.count / calls.per
    return Bucket(level=min(bucket.level + more, float(calls.count)), at=now)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """What is known of one cloud."""

    bucket: Bucket | None = None
    running: int = 0
    closed_until: Instant = _LONG_AGO
    full_until: Instant = _LONG_AGO
    unsent_until: Instant = _LONG_AGO
    """Until when the endpoint for creations is not called; other endpoints of the cloud may still answer."""


class CloudTraffic:
    """Count the calls to all clouds. Safe to call from any thread."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._sides: dict[CloudId, _Side] = {}

    def follow(self, step: Seconds) -> None:
        """Keep what is left of every span: the clock was set by ``step``."""
        with self._turn:
            self._sides = dict(moved(self._sides, Mapping[CloudId, _Side], step))

    def left(self, cloud: Cloud, now: Instant) -> int | None:
        """How many calls may be made now; ``None``: any number."""
        with self._turn:
            side = self._side(cloud)
            if now < side.closed_until:
                return 0
            return None if cloud.calls is None else int(refilled(side.bucket, cloud.calls, now).level)

    def is_full(self, cloud: Cloud, now: Instant) -> bool:
        """Return whether the cloud answered not long ago that it is full."""
        return now < self._side(cloud).full_until

    def closed_until(self, cloud: Cloud, now: Instant) -> Instant | None:
        """Until when the cloud asked to be left alone, if it did."""
        until = self._side(cloud).closed_until
        return until if now < until else None

    @staticmethod
    def in_parallel(cloud: Cloud, workers: int) -> int:
        """How many of so many workers may call the cloud side by side."""
        return workers if cloud.calls is None else min(workers, cloud.calls.at_once)

    @contextmanager
    def call(
        self, cloud: Cloud, clock: Callable[[], Instant], *, asks: bool = False, makes: bool = False
    ) -> Iterator[bool]:
        """Around a call: whether it may be made. A refusal that leaves it is taken in.

        Args:
            cloud: which one.
            clock: what time it is.
            asks: it changes nothing; part of what may be asked of the cloud is not there for such calls.
            makes: it makes a machine, which a full cloud does not.
        """
        admitted = self._begin(cloud, clock(), asks=asks, makes=makes)
        try:
            yield admitted
        except DriverError as error:
            self.heard(cloud, error, clock())
            raise
        finally:
            if admitted:
                self._change(cloud, lambda side: replace(side, running=side.running - 1))

    @contextmanager
    def look(self, cloud: Cloud, clock: Callable[[], Instant]) -> Iterator[bool]:
        """Around a question that is not counted: whether it may be asked. A refusal that leaves it is taken in."""
        try:
            yield self.closed_until(cloud, clock()) is None
        except DriverError as error:
            self.heard(cloud, error, clock())
            raise

    def heard(self, cloud: Cloud, error: DriverError, now: Instant, *, makes: bool = False) -> None:
        """Record an error of a cloud: it asks for time, or it is full.

        An endpoint that is down is one of several that a cloud may have: only creations (``makes``) wait for it. A
        resource that is busy delays no other call.
        """
        if isinstance(error, Full):
            self._change(cloud, lambda side: replace(side, full_until=Instant(now + _FULL)))
        elif isinstance(error, Transient) and error.retry_after is not None and not isinstance(error, Engaged):
            until = Instant(now + error.retry_after)
            if isinstance(error, Unsent):
                until = until if makes else _LONG_AGO
                self._change(cloud, lambda side: replace(side, unsent_until=max(side.unsent_until, until)))
            else:
                self._change(cloud, lambda side: replace(side, closed_until=max(side.closed_until, until)))

    def _begin(self, cloud: Cloud, now: Instant, *, asks: bool, makes: bool) -> bool:
        with self._turn:
            side, calls = self._side(cloud), cloud.calls
            if now < side.closed_until or (makes and now < max(side.full_until, side.unsent_until)):
                return False
            if calls is not None:
                bucket = refilled(side.bucket, calls, now)
                after = bucket.level - 1.0
                if side.running >= calls.at_once or after < (calls.count * _FOR_ASKING if asks else 0.0):
                    return False
                side = replace(side, bucket=replace(bucket, level=after))
            self._sides[cloud.id] = replace(side, running=side.running + 1)
            return True

    def _change(self, cloud: Cloud, change: Callable[[_Side], _Side]) -> None:
        with self._turn:
            self._sides[cloud.id] = change(self._side(cloud))

    def _side(self, cloud: Cloud) -> _Side:
        return self._sides.get(cloud.id, _NEW)


_NEW = _Side()
