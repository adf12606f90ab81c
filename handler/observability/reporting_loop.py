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


class Reports:
    """Passes every tick, decision and convergence pass on to metrics, history, notifications and the console.

    Args:
        runtimes: the groups in memory.
        store: where notices are filed.
        notification_sender: delivers notices.
        clock: what time it is.
        scraped: what is read anew whenever metrics are asked for.
    """

    def __init__(
        self,
        runtimes: MutableMapping[GroupId, GroupRuntime],
        store: Store,
        notification_sender: Carries,
        clock: Callable[[], Moment],
        scraped: Scraped,
    ) -> None:
        def now() -> Instant:
            return clock().wall

        self._now = now
        self.metrics = Metrics(runtimes, now, scraped)
        self.recent = Recent(runtimes)
        self._reporter = Reporter(self.metrics)
        self._notifier = Notifier(
            store=store,
            runtimes=runtimes,
            notification_sender=notification_sender,
            clock=now,
            count=self.metrics.noticed,
        )

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
        self._notifier.decided(decision)

    def saw(self, runtime: GroupRuntime, done: Pass, rival: Rival | None) -> None:
        """A pass is over; ``rival``: the daemon for which this one stops acting."""
        self._reporter.superseded(rival)
        self._reporter.passed(runtime, done)
        self.recent.passed(runtime, self._now())
        self._notifier.saw(runtime)

    def rested(self, runtime: GroupRuntime, rival: Rival | None) -> None:
        """An inventory shows a group as its last pass left it, which counts as a pass without anything to do."""
        self._reporter.superseded(rival)
        self._reporter.rested(runtime, self._now())
        self.recent.passed(runtime, self._now())
        self._notifier.saw(runtime)

    def forget(self, runtime: GroupRuntime) -> None:
        """A group is gone."""
        self._reporter.forget(runtime)
        self.recent.forget(runtime.id)
        self._notifier.forget(runtime.id)
