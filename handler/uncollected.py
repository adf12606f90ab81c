"""Holds the collector of cycles back while something is made that has none.

Planning makes as many small objects as a large group has members that move. They lie in no cycles, and each full
collection that they bring about walks the whole world in vain: half of the time, with a million members.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

WORTH_IT = 50_000
"""Members of a group below which a collection is quick, and may well come."""

_turn = threading.Lock()


@contextmanager
def uncollected(members: int) -> Iterator[None]:
    """Collect nothing meanwhile, in the whole process, if it is about so many members; one caller at a time."""
    if members < WORTH_IT:
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
