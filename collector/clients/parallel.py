"""Blocking calls side by side, in a bounded number of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def abreast(calls: Sequence[Callable[[], T]], workers: int) -> tuple[T, ...]:
    """Make all calls, at most ``workers`` at a time, and answer in their order.

    One worker makes them one after the other in the caller's own thread, in their order. What a call raises is raised
    when all have ended.
    """
    if workers <= 1 or len(calls) <= 1:
        return tuple(call() for call in calls)
    with ThreadPoolExecutor(min(workers, len(calls)), thread_name_prefix="abreast") as pool:
        return tuple(future.result() for future in [pool.submit(call) for call in calls])
