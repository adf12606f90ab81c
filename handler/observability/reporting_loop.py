"""Report what the daemon does: metrics, log lines, the last half hour, notices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping

from config.units import GroupId, Instant, Moment, Seconds
from handler.convergence.claiming import Rival
from handler.convergence.passes import Pass
from handler.observability.metrics import Metrics, Scraped
from handler.observability.notifying import Carries, Notifier
from handler.observability.reporting import Reporter
from handler.ports.store import Store
from handler.runtime.deciding import TickReport
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.recent import Recent
from trigger.requests import Decision


class Telling:
    """Pass every tick, decision and pass to all reports.

    Args:
        rooms: the groups in memory.
        store: where notices are filed.
        courier: carries notices.
        clock: what time it is.
        scraped: what is read anew whenever metrics are asked for.
    """

    def __init__(
        self,
        rooms: MutableMapping[GroupId, GroupRuntime],
        store: Store,
        courier: Carries,
        clock: Callable[[], Moment],
        scraped: Scraped,
    ) -> None:
        def now() -> Instant:
            return clock().wall

        self._now = now
        self.metrics = Metrics(rooms, now, scraped)
        self.recent = Recent(rooms)
        self._reporter = Reporter(self.metrics)
        self._notifier = Notifier(store=store, rooms=rooms, courier=courier, clock=now, count=self.metrics.noticed)

    async def recall(self) -> None:
        """Read the earlier reports. Raises `StoreError`."""
        await self._notifier.recall()

    def start(self) -> None:
        """Begin to send notices."""
        self._notifier.start()

    async def stop(self) -> None:
        """Send no more notices; what is filed goes out after the next start."""
        await self._notifier.stop()

    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """The loops that have to run."""
        return self._notifier.tasks()

    def follow(self, step: Seconds) -> None:
        """The system's clock was set by so much."""
        self._notifier.follow(step)

    def ticked(self, report: TickReport) -> None:
        """A slot of groups was polled and judged."""
        self._reporter.ticked(report)

    def decided(self, decision: Decision) -> None:
        """Report a decision."""
        self._reporter.decided(decision)
        self.recent.decided(decision)

    def saw(self, room: GroupRuntime, done: Pass, rival: Rival | None) -> None:
        """A pass is over; ``rival``: the daemon for which this one stops acting."""
        self._reporter.superseded(rival)
        self._reporter.passed(room, done)
        self.recent.passed(room, self._now())
        self._notifier.saw(room)

    def forget(self, room: GroupRuntime) -> None:
        """A group is gone."""
        self._reporter.forget(room)
        self.recent.forget(room.id)
        self._notifier.forget(room.id)
