"""Share one reading among callers that need it at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from config.errors import DriverError

T = TypeVar("T")


class Shared(Generic[T]):
    """Gives each caller a reading that began after its request.

    So no caller gets data older than its request, and two readings serve any number of concurrent callers: the reading
    under way serves none that came later, and the next one serves all of them.

    Args:
        ask: reads; a `DriverError` goes to every caller that waited for that reading.
    """

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._condition = threading.Condition()
        self._busy = False
        self._begun = self._ended = 0
        """How many readings began, and the number of the last one that ended."""
        self._outcome = ask

    def read(self) -> T:
        """Read, or wait for another caller's reading that begins after this call.

        Raises:
            DriverError: that reading failed.
        """
        with self._condition:
            wanted = self._begun + 1
            self._condition.wait_for(lambda: self._ended >= wanted or not self._busy)
            if self._ended >= wanted:
                outcome = self._outcome
            else:
                self._busy, self._begun = True, self._begun + 1
                outcome = None
        return self._led() if outcome is None else outcome()

    def _led(self) -> T:
        outcome: Callable[[], T] | None = None
        try:
            outcome = self._asked()
        finally:
            with self._condition:
                self._busy = False
                if outcome is not None:
                    self._ended, self._outcome = self._begun, outcome
                self._condition.notify_all()
        return outcome()

    def _asked(self) -> Callable[[], T]:
        try:
            value = self._ask()
        except DriverError as error:
            failure = error

            def fail() -> T:
                raise failure

            return fail
        return lambda: value
