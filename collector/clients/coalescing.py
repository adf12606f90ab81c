"""Combine requests that several threads make at about the same time into one call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from config.errors import DriverError, Transient
from config.units import Seconds

A = TypeVar("A")
B = TypeVar("B")

QUIET: Seconds = 0.05
_ROUNDS = 10


class Coalescer(Generic[A, B]):
    """Combines requests: the first caller waits for others for a moment, then makes one call for all.

    Requests that arrive during a call are served by the next one.

    Args:
        do: makes the call for several requests; a request missing from its answer was not carried out. A `DriverError`
        in the answer fails that request alone, a raised one fails all.
        quiet: how long the first caller waits for one more, again after each.
    """

    def __init__(self, do: Callable[[Sequence[A]], Mapping[A, B | DriverError]], quiet: Seconds = QUIET) -> None:
        self._do = do
        self._quiet = quiet
        self._condition = threading.Condition()
        self._busy = False
        self._waiting: list[A] = []
        self._answers: dict[A, B | DriverError] = {}

    @property
    def waiting(self) -> int:
        """Return how many requests wait for the next call."""
        with self._condition:
            return len(self._waiting)

    def ask(self, question: A) -> B:
        """Carry out one request. Two threads must not make the same request at the same time.

        Raises:
            DriverError: the request was not carried out.
        """
        with self._condition:
            self._answers.pop(question, None)  # left by a caller that stopped waiting
            self._waiting.append(question)
            self._condition.notify_all()
            self._condition.wait_for(lambda: question in self._answers or not self._busy)
            leads = question not in self._answers
            self._busy = self._busy or leads
        if leads:
            self._lead()
        with self._condition:
            answer = self._answers.pop(question)
        if isinstance(answer, DriverError):
            raise answer
        return answer

    def _lead(self) -> None:
        asked = self._gathered()
        answers: Mapping[A, B | DriverError] = {}
        nothing: DriverError = Transient("the request was not carried out")
        try:
            answers = self._do(asked)
        except DriverError as error:
            nothing = error
        finally:
            with self._condition:
                self._answers |= {question: answers.get(question, nothing) for question in asked}
                self._busy = False
                self._condition.notify_all()

    def _gathered(self) -> list[A]:
        with self._condition:
            for _ in range(_ROUNDS):
                known = len(self._waiting)
                if not self._condition.wait_for(lambda: len(self._waiting) > known, self._quiet):  # noqa: B023 asked at once
                    break
            asked, self._waiting = self._waiting, []
        return asked
