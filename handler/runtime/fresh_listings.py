"""Listings for passes: a pass waits for one without holding a thread, and passes that wait together share one call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from config.model.catalogue import Cloud
from config.units import GroupId, Seconds
from handler.convergence.inventory import AskedListing

_ALONE = 4
"""Groups of one cloud that are listed each by a call of its own: more share a listing of the whole cloud."""
_APART: Seconds = 0.25
"""Between the beginnings of two shared listings of one cloud: the more groups share one, the less each costs."""
_THREADS = 32

Ask = Callable[[Cloud, Sequence[GroupId]], Mapping[GroupId, AskedListing]]
_Answer = asyncio.Future[AskedListing]


@dataclass(slots=True)
class _Queue:
    """The groups of one cloud that wait."""

    alone: int = 0
    waiting: list[tuple[GroupId, _Answer]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class FreshListings:
    """Lives on the event loop; clouds are asked in threads of its own.

    Args:
        ask: lists several groups of one cloud (`handler.convergence.converge.Converger.listings`); it may leave out
            some, but never one that it is asked about alone.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._queues: dict[Cloud, _Queue] = {}
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="listing")

    async def of(self, cloud: Cloud, group: GroupId) -> AskedListing:
        """Return a listing of a group that is asked for after this call."""
        queue = self._queues.setdefault(cloud, _Queue())
        if queue.alone < _ALONE and queue.task is None:
            queue.alone += 1
            try:
                return (await self._asked(cloud, [group]))[group]
            finally:
                queue.alone -= 1
        answer: _Answer = asyncio.get_running_loop().create_future()
        queue.waiting.append((group, answer))
        if queue.task is None:
            queue.task = asyncio.create_task(self._serve(cloud, queue), name=f"listing-{cloud.id}")
        return await answer

    async def stop(self) -> None:
        """End after the calls under way; passes that wait for a listing are not begun."""
        tasks = [queue.task for queue in self._queues.values() if queue.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown, wait=True)

    async def _serve(self, cloud: Cloud, queue: _Queue) -> None:
        try:
            while queue.waiting:
                apart = asyncio.create_task(asyncio.sleep(_APART))
                batch, queue.waiting = queue.waiting, []
                await self._answer(cloud, batch)
                await apart
        finally:
            queue.task = None
            for _, answer in queue.waiting:
                answer.cancel()

    async def _answer(self, cloud: Cloud, batch: Sequence[tuple[GroupId, _Answer]]) -> None:
        """Answer a batch; groups that a shared listing leaves out are listed side by side, each by itself."""
        waiting: dict[GroupId, list[_Answer]] = {}
        for group, answer in batch:
            waiting.setdefault(group, []).append(answer)
        try:
            left = await self._answered(cloud, waiting)
            await asyncio.gather(*(self._answered(cloud, {group: waiting[group]}) for group in left))
        except asyncio.CancelledError:
            for _, answer in batch:
                answer.cancel()
            raise

    async def _answered(self, cloud: Cloud, waiting: Mapping[GroupId, Sequence[_Answer]]) -> Sequence[GroupId]:
        """Ask about several groups at once, and return those that the answer leaves out."""
        try:
            found = await self._asked(cloud, list(waiting))
        except Exception as error:  # noqa: BLE001 each pass that waits gets it
            for answer in _open(waiting.values()):
                answer.set_exception(error)
            return ()
        for group, listed in found.items():
            for answer in _open([waiting[group]]):
                answer.set_result(listed)
        return [group for group in waiting if group not in found]

    async def _asked(self, cloud: Cloud, groups: Sequence[GroupId]) -> Mapping[GroupId, AskedListing]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._ask, cloud, groups)


def _open(answers: Iterable[Sequence[_Answer]]) -> Iterator[_Answer]:
    """Yield the answers that a pass still waits for."""
    return (answer for several in answers for answer in several if not answer.done())
