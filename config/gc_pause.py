"""Holds the collector of cycles back while something is made that has none.

Reading a large file makes some objects for each value, and planning for each member that moves. They lie in no cycles,
and each full collection that they bring about walks all of them in vain: a fifth of the time with ten thousand groups,
half of it with a million members.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

WORTH_IT = 50_000
"""Members, or values of a file, below which a collection is quick, and may well come."""

_turn = threading.RLock()


@contextmanager
def uncollected(count: int) -> Iterator[None]:
    """Collect nothing meanwhile, in the whole process, if it is about so many things; one thread at a time."""
    if count < WORTH_IT:
        yield
        return
    with _turn:
        was_on = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was_on:
                gc.enable()
