"""Blocking calls of several threads: side by side in a bounded number, and one at a time for each member."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from config.units import MemberName

T = TypeVar("T")


def in_parallel(calls: Sequence[Callable[[], T]], workers: int) -> tuple[T, ...]:
    """Make all calls, at most ``workers`` at a time, and return their results in order.

    One worker makes them one after the other in the caller's own thread, in their order. What a call raises is raised
    when all have ended.
    """
    if workers <= 1 or len(calls) <= 1:
        return tuple(call() for call in calls)
    with ThreadPoolExecutor(min(workers, len(calls)), thread_name_prefix="parallel") as pool:
        return tuple(future.result() for future in [pool.submit(call) for call in calls])


class KeyedLock:
    """Runs calls for different members side by side, and those for one member one after the other."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._busy: set[MemberName] = set()

    @contextmanager
    def of(self, name: MemberName) -> Iterator[None]:
        """Hold the lock of a name."""
        with self._condition:
            self._condition.wait_for(lambda: name not in self._busy)
            self._busy.add(name)
        try:
            yield
        finally:
            with self._condition:
                self._busy.remove(name)
                self._condition.notify_all()
