"""One call at a time for each name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from config.units import MemberName


class KeyedLock:
    """Calls for different members run side by side; of one member, one after the other."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._busy: set[MemberName] = set()

    @contextmanager
    def of(self, name: MemberName) -> Iterator[None]:
        """Wait for the others of this name, and let the next one in afterwards."""
        with self._condition:
            self._condition.wait_for(lambda: name not in self._busy)
            self._busy.add(name)
        try:
            yield
        finally:
            with self._condition:
                self._busy.remove(name)
                self._condition.notify_all()
