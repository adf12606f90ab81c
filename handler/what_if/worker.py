"""A process that answers questions, asked over its standard input: ``python -P -m handler.what_if.worker``."""

from __future__ import annotations

import os
import sys
from queue import SimpleQueue
from threading import Thread
from typing import BinaryIO, assert_never

from config.errors import TrimtabError
from handler.what_if.answering import Answerer
from handler.what_if.frames import NumberedAnswer, NumberedQuestion, Withdrawn, packed, received
from handler.what_if.member_courses import member_courses
from handler.what_if.member_question import MemberCourses, MembersQuestion
from handler.what_if.question import Answer, Question, Unanswerable

_NICE = 10
"""The daemon's ticks come first."""


class _NotWantedError(Exception):
    """The question was withdrawn."""


class AnsweringProcess:
    """Reads questions in one thread, so that one that is withdrawn ends at once, and answers them in another."""

    def __init__(self, asked: BinaryIO, answers: BinaryIO) -> None:
        self._asked, self._answers = asked, answers
        self._answerer = Answerer()
        self._waiting: SimpleQueue[NumberedQuestion | None] = SimpleQueue()
        self._withdrawn: set[int] = set()

    def run(self) -> None:
        """Answer until the other end is closed."""
        Thread(target=self._read, daemon=True).start()
        while (asked := self._waiting.get()) is not None:
            answer = self._answer(asked.number, asked.question)
            self._answers.write(packed(NumberedAnswer(number=asked.number, answer=answer)))
            self._answers.flush()

    def _read(self) -> None:
        while True:
            match received(self._asked):
                case NumberedQuestion() as asked:
                    self._waiting.put(asked)
                case Withdrawn(number=number):
                    self._withdrawn.add(number)
                case _:
                    self._waiting.put(None)
                    os._exit(0)  # whatever is being worked on, no one waits for it

    def _answer(self, number: int, question: Question | MembersQuestion) -> Answer | MemberCourses | Unanswerable:
        def tell(_done: int, _of: int) -> None:
            if number in self._withdrawn:
                raise _NotWantedError

        try:
            tell(0, 0)
            match question:
                case Question():
                    return self._answerer.answer(question, tell)
                case MembersQuestion():
                    return member_courses(question, tell)
                case _:
                    assert_never(question)
        except TrimtabError as error:
            return Unanswerable(reason=str(error))
        except _NotWantedError:
            return Unanswerable(reason="withdrawn")


def main() -> None:
    """Serve the process that started this one."""
    os.nice(_NICE)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    AnsweringProcess(sys.stdin.buffer, answers).run()


if __name__ == "__main__":
    main()
