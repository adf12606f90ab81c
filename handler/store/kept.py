"""What was read, for as long as nobody writes it: a pass over a fleet at rest reads nothing from the disk."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection
from typing import Generic, TypeVar

K = TypeVar("K")
T = TypeVar("T")


class Kept(Generic[K, T]):
    """Values by key, each with the edition that it was read in.

    A writer moves the edition on when its transaction is over, and before anybody is told so. A reader looks at the
    edition first: what it reads then is at least as new, and is kept under an edition that is over if somebody wrote
    meanwhile.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._editions: Counter[K] = Counter()
        self._values: dict[K, tuple[int, T]] = {}

    def read(self, key: K, look: Callable[[], T]) -> T:
        """Give what is kept, or look and keep it."""
        with self._lock:
            edition = self._editions[key]
            kept = self._values.get(key)
        if kept is not None and kept[0] == edition:
            return kept[1]
        value = look()
        with self._lock:
            self._values[key] = edition, value
        return value

    def forget(self, keys: Collection[K]) -> None:
        """What was read of these is over, and so is what is being read."""
        with self._lock:
            for key in keys:
                self._editions[key] += 1
                self._values.pop(key, None)
