"""Ask worker processes, off the event loop: few at a time, one question for each person, none for too long."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from config.errors import Refused
from config.units import GroupId, Seconds
from handler.what_if.frames import LENGTH, NumberedAnswer, NumberedQuestion, Withdrawn, packed, unpacked
from handler.what_if.member_question import MemberCourses, MembersQuestion
from handler.what_if.question import Answer, Question, Unanswerable

_MOST = 2
"""Workers at a time: each may take a processor, with less priority than the daemon, and some hundred megabytes."""
_DEADLINE: Seconds = 30.0
_IDLE: Seconds = 600.0
"""After so long without a question a worker ends."""
_BREAKS_OFF: Seconds = 5.0
"""For how long a worker may take to end work that no one waits for."""
_LOOKS = 4
"""Questions about members that are under way at a time: every person with the right to read may ask them."""
_COMMAND = (sys.executable, "-P", "-m", "handler.what_if.worker")


class WhatIf:
    """Answers persons' questions about other settings.

    Args:
        most: workers at a time.
        deadline: for how long a question may take, its turn included.
    """

    def __init__(self, most: int = _MOST, deadline: Seconds = _DEADLINE) -> None:
        self._most, self._deadline = most, deadline
        self._turns = asyncio.Semaphore(most)
        self._idle: list[_Worker] = []
        self._asking: dict[str, asyncio.Task[Answer | MemberCourses | Unanswerable]] = {}
        self._looks: dict[MembersQuestion, asyncio.Task[Answer | MemberCourses | Unanswerable]] = {}
        self._ending = set[asyncio.Task[None]]()
        self._is_closed = False

    async def ask(self, person: str, question: Question) -> Answer:
        """Answer a person's question; an older one of the same person ends.

        Raises:
            Refused: it cannot be answered, it took too long, or the person asked another one meanwhile.
        """
        if (older := self._asking.get(person)) is not None:
            older.cancel()
        task = self._asking[person] = asyncio.create_task(self._ask(question))
        try:
            answer = await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._asking.get(person) is task:  # who asked is gone
                task.cancel()
                raise
            raise Refused("another question of the same person came before this one was answered") from None
        except TimeoutError:
            raise Refused(
                f"there is no answer within {self._deadline:g} s: choose a shorter time, or use trimtab tune"
            ) from None
        finally:
            if self._asking.get(person) is task:
                del self._asking[person]
        return _expected(answer, Answer)

    async def look(self, question: MembersQuestion) -> MemberCourses:
        """Answer what members showed; who asks the same meanwhile gets the same answer.

        Raises:
            Refused: it cannot be answered, it took too long, or too many other questions are under way.
        """
        task = self._looks.get(question)
        if task is None:
            if len(self._looks) >= _LOOKS:
                raise Refused(f"{_LOOKS} other questions about members are being answered: ask again in some seconds")
            task = self._looks[question] = asyncio.create_task(self._ask(question))
            task.add_done_callback(lambda _: self._looks.pop(question, None))
        try:
            answer = await asyncio.shield(task)
        except TimeoutError:
            raise Refused(
                f"there is no answer within {self._deadline:g} s: choose a shorter time, or use trimtab export series"
            ) from None
        return _expected(answer, MemberCourses)

    async def close(self) -> None:
        """End every worker."""
        self._is_closed = True
        tasks = [*self._asking.values(), *self._looks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for worker in self._idle:
            await worker.end()
        self._idle.clear()

    async def _ask(self, question: Question | MembersQuestion) -> Answer | MemberCourses | Unanswerable:
        async with asyncio.timeout(self._deadline), self._turns, self._worker(question.group) as worker:
            return await worker.ask(question)

    @contextlib.asynccontextmanager
    async def _worker(self, group: GroupId) -> AsyncIterator[_Worker]:
        """Lend a worker: the one that knows the group, a new one where there may be more, or else any."""
        known = (each for each in self._idle if each.group == group)
        worker = next(known, None) or (self._idle[0] if len(self._idle) >= self._most else None)
        if worker is None:
            worker = _Worker(await asyncio.create_subprocess_exec(*_COMMAND, stdin=PIPE, stdout=PIPE))
        else:
            self._idle.remove(worker)
        worker.group = group
        try:
            yield worker
        finally:
            if worker.is_sound and not self._is_closed:
                self._idle.append(worker)
                worker.dismissed_after(_IDLE, self._dismiss)
            else:
                await worker.end()

    def _dismiss(self, worker: _Worker) -> None:
        if worker in self._idle:
            self._idle.remove(worker)
            ending = asyncio.create_task(worker.end())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)


T = TypeVar("T", Answer, MemberCourses)


def _expected(answer: Answer | MemberCourses | Unanswerable, kind: type[T]) -> T:
    """Return an answer of the kind that was asked for. Raises `Refused` with the reason why there is none."""
    if isinstance(answer, Unanswerable):
        raise Refused(answer.reason)
    if not isinstance(answer, kind):
        raise TypeError(f"a question was answered with {type(answer).__name__}, not {kind.__name__}")
    return answer


class _Worker:
    """One worker process."""

    def __init__(self, process: Process) -> None:
        self.group: GroupId | None = None
        """That it was asked about last, and whose recording it may have."""
        self.is_sound = True
        """Whether it is known to answer."""
        self._process = process
        self._number = 0
        self._reply: asyncio.Task[Answer | MemberCourses | Unanswerable] | None = None
        """The answer that is to come, also if no one waits for it; ``None``: there is none."""
        self._dismissal: asyncio.TimerHandle | None = None

    async def ask(self, question: Question | MembersQuestion) -> Answer | MemberCourses | Unanswerable:
        """Ask, and wait for the answer. If no one waits any longer, the worker ends the work by itself."""
        if self._dismissal is not None:
            self._dismissal.cancel()
        try:
            if self._reply is not None:
                await asyncio.wait_for(asyncio.shield(self._reply), _BREAKS_OFF)
            self._number += 1
            await self._send(NumberedQuestion(number=self._number, question=question))
            self._reply = asyncio.create_task(self._receive())
            answer = await asyncio.shield(self._reply)
        except asyncio.CancelledError:
            self._withdraw()
            raise
        except (OSError, EOFError, TimeoutError) as error:
            self.is_sound = False
            return Unanswerable(reason=f"the process that answers has ended: ask again ({type(error).__name__})")
        self._reply = None
        return answer

    def dismissed_after(self, idle: Seconds, dismiss: Callable[[_Worker], None]) -> None:
        """Call ``dismiss`` if no question comes for so long."""
        self._dismissal = asyncio.get_running_loop().call_later(idle, dismiss, self)

    async def end(self) -> None:
        """End the process, whatever it does."""
        if self._dismissal is not None:
            self._dismissal.cancel()
        if self._reply is not None:
            self._reply.cancel()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()

    def _withdraw(self) -> None:
        if self._reply is None or self._reply.done() or self._process.stdin is None:
            return
        self._process.stdin.write(packed(Withdrawn(number=self._number)))

    async def _send(self, message: NumberedQuestion) -> None:
        if self._process.stdin is None:
            raise EOFError
        self._process.stdin.write(await asyncio.to_thread(packed, message))
        await self._process.stdin.drain()

    async def _receive(self) -> Answer | MemberCourses | Unanswerable:
        if self._process.stdout is None:
            raise EOFError
        head = await self._process.stdout.readexactly(LENGTH.size)
        message = unpacked(await self._process.stdout.readexactly(LENGTH.unpack(head)[0]))
        if not isinstance(message, NumberedAnswer):
            raise EOFError
        return message.answer
