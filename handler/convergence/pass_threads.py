"""Threads for passes: a few of them think, and many more wait for clouds and balancers.

# Note [Turns]

Passes compete with the event loop for the interpreter, so only a few may think at a time: each has a *turn*. A call to
a cloud takes seconds and no processor. Around such a call the thread gives its turn up (`waiting`), so that a pass of
another group begins or goes on meanwhile, and takes a turn again afterwards. A pass that comes back from a call goes
before one that has not begun. Of those, the ones that are to make members go first: the load waits for them, and the
many passes that follow each of them, to see how far a new member is, do not matter as much.

What a pass holds across a call stays as it was: its group's turn (one pass at a time per group), the leases of the
balancers that it changes, which have deadlines, and its count in `handler.convergence.traffic`. No lock of this process
is held while a turn is waited for: whatever holds one while it calls is called inside `waiting` as a whole. The order
of writes and calls within a pass does not change.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import ParamSpec, TypeVar

from collector.clients.concurrency import in_parallel

T = TypeVar("T")
P = ParamSpec("P")


class PassThreads(Executor):
    """Runs passes; an event loop takes it as any other executor.

    Args:
        thinking: how many may compute at a time.
        calling: how many may wait for calls besides; a pass beyond them keeps its turn while it waits.
    """

    def __init__(self, thinking: int, calling: int) -> None:
        self._lock = threading.Lock()
        self._free = thinking
        self._calling = calling
        self._returning: deque[threading.Event] = deque()
        self._urgent: deque[Callable[[], None]] = deque()
        self._queued: deque[Callable[[], None]] = deque()
        self._threads = ThreadPoolExecutor(thinking + calling, thread_name_prefix="converge")
        self.urgent: Executor = _UrgentPasses(self)
        """Runs passes before all that were submitted otherwise and have not begun."""

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run ``work`` in a thread as soon as a turn is free."""
        return self._submitted(partial(work, *args, **kwargs), self._queued)

    def submit_urgent(self, work: Callable[[], T]) -> Future[T]:
        """As `urgent`."""
        return self._submitted(work, self._urgent)

    def _submitted(self, work: Callable[[], T], queue: deque[Callable[[], None]]) -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            _here.threads = self
            try:
                if future.set_running_or_notify_cancel():
                    _settle(future, work)
            finally:
                _here.threads = None
                self._give()

        with self._lock:
            if not self._free:
                queue.append(run)
                return future
            self._free -= 1
        self._threads.submit(run)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # as `Executor`
        """Wait until all passes have ended, and end the threads."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)

    def thinking(self, work: Callable[[], T]) -> T:
        """Run ``work`` with a turn, in a thread that has none: one of those that a pass waits for."""
        self._take()
        _here.threads = self
        try:
            return work()
        finally:
            _here.threads = None
            self._give()

    def begin_call(self) -> bool:
        """Give this thread's turn up; False: too many wait already, and it is kept."""
        with self._lock:
            if not self._calling:
                return False
            self._calling -= 1
        self._give()
        return True

    def end_call(self) -> None:
        """Take a turn again."""
        with self._lock:
            self._calling += 1
        self._take()

    def _take(self) -> None:
        with self._lock:
            if self._free:
                self._free -= 1
                return
            mine = threading.Event()
            self._returning.append(mine)
        mine.wait()

    def _give(self) -> None:
        """Pass a turn on: to a pass that comes back from a call, or else to one that has not begun."""
        with self._lock:
            if self._returning:
                self._returning.popleft().set()
                return
            waiting = self._urgent or self._queued
            if not waiting:
                self._free += 1
                return
            following = waiting.popleft()
        self._threads.submit(following)


class _UrgentPasses(Executor):
    def __init__(self, threads: PassThreads) -> None:
        self._threads = threads

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._threads.submit_urgent(partial(work, *args, **kwargs))


class _Here(threading.local):
    threads: PassThreads | None = None


_here = _Here()


@contextmanager
def waiting() -> Iterator[None]:
    """Around a call that takes time and no processor: let other passes think meanwhile.

    Outside the threads of passes, and within another such block, it does nothing.
    """
    threads = _here.threads
    if threads is None or not threads.begin_call():
        yield
        return
    _here.threads = None
    try:
        yield
    finally:
        threads.end_call()
        _here.threads = threads


def called(calls: Sequence[Callable[[], T]], workers: int) -> tuple[T, ...]:
    """Make calls as `collector.clients.concurrency.in_parallel` does; none of them thinks much."""
    if not calls:
        return ()
    with waiting():
        return in_parallel(calls, workers)


def side_by_side(calls: Sequence[Callable[[], T]], workers: int) -> tuple[T, ...]:
    """Make calls as `collector.clients.concurrency.in_parallel` does, each with a turn of its own while it thinks."""
    threads = _here.threads
    if threads is None or workers <= 1 or len(calls) <= 1 or not threads.begin_call():
        return in_parallel(calls, workers)
    _here.threads = None
    try:
        return in_parallel([partial(threads.thinking, call) for call in calls], workers)
    finally:
        threads.end_call()
        _here.threads = threads


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 what waits for the pass gets it
        future.set_exception(error)
    else:
        future.set_result(result)
