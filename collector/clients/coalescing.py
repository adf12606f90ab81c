"""Does in one go what several threads ask for at about the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from config.errors import DriverError, Transient
from config.units import Seconds

A = TypeVar("A")
B = TypeVar("B")

_QUIET: Seconds = 0.05
_ROUNDS = 10


class Together(Generic[A, B]):
    """Whoever asks first waits until nobody else has come for a moment, and then does it for all who have.

    Who comes while that is done is served by the next go.

    Args:
        do: does it for several; who is not in its answer got none. A `DriverError` in it is that one's alone, one that
            is raised is everybody's.
    """

    def __init__(self, do: Callable[[Sequence[A]], Mapping[A, B | DriverError]]) -> None:
        self._do = do
        self._condition = threading.Condition()
        self._busy = False
        self._waiting: list[A] = []
        self._answers: dict[A, B | DriverError] = {}

    @property
    def waiting(self) -> int:
        """How many wait for the next go."""
        with self._condition:
            return len(self._waiting)

    def ask(self, question: A) -> B:
        """Have it done. Nobody else may ask the same at the same time.

        Raises:
            DriverError: it was not done.
        """
        with self._condition:
            self._answers.pop(question, None)  # of somebody who did not stay to hear it
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
        nothing: DriverError = Transient("it was not carried through")
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
                if not self._condition.wait_for(lambda: len(self._waiting) > known, _QUIET):  # noqa: B023 asked at once
                    break
            asked, self._waiting = self._waiting, []
        return asked
