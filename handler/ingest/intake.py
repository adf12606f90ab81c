"""All that comes in from outside, put together: webhooks, the alerts that they bring, pushed values, and events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from collector.boards.alerts import Board
from collector.boards.pushes import Pushes
from config.model.access import SecretRef
from config.model.catalogue import Catalogue
from config.units import CloudId, GroupId, MemberName, Moment, Seconds
from handler.ingest.alerts.alerting import Alerting
from handler.ingest.alerts.dispatch import AlertDispatcher
from handler.ingest.alerts.hooks import Hooks
from handler.ingest.alerts.notifications import Sender
from handler.ingest.alerts.replies import AlertResult
from handler.ingest.buses.listening import BusListeners, BusSurroundings, Listen
from handler.ingest.buses.reading import BusResult
from handler.ingest.capabilities.events import CloudNews
from handler.ingest.capabilities.looks import EventLooks
from handler.ingest.pushes.judging import PushResult as Pushed
from handler.ingest.pushes.member_keys import MemberKeys
from handler.ingest.pushes.pushed_values import PushShape
from handler.ingest.pushes.pushing import Pushing
from handler.ports.store import Store
from handler.runtime.decision_queue import DecisionQueue
from handler.runtime.group_runtime import GroupRuntime


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    """Where values wait for the next poll, and by what senders are known."""

    board: Board
    pushes: Pushes
    member_keys: MemberKeys
    read_secret: Callable[[SecretRef], str]
    listen: Listen
    """To the message bus of a cloud."""


class Counts(Protocol):
    """Counts what came in, and what was answered."""

    def webhook_answered(self, sender: Sender | None, result: AlertResult) -> None:
        """A request at a webhook."""
        ...

    def pushed(self, shape: PushShape, result: Pushed) -> None:
        """A request that brings values."""
        ...

    def bus_message(self, cloud: CloudId, result: BusResult) -> None:
        """A message on the bus of a cloud."""
        ...


class Ingest:
    """Alerts, pushed values and events of clouds, from the first start to the end of the daemon."""

    def __init__(  # noqa: PLR0913  # what both ways in have in common
        self,
        *,
        runtimes: MutableMapping[GroupId, GroupRuntime],
        catalogue: Callable[[], Catalogue],
        queue: DecisionQueue,
        store: Store,
        clock: Callable[[], Moment],
        inbox: Inbox,
        counts: Counts,
        look: Callable[[GroupRuntime], Awaitable[object]],
    ) -> None:
        self.hooks = Hooks(store, inbox.read_secret, lambda: clock().wall)
        self.dispatcher = AlertDispatcher(
            runtimes=runtimes, catalogue=catalogue, queue=queue, store=store, board=inbox.board, clock=clock
        )
        self.alerting = Alerting(
            hooks=self.hooks,
            dispatcher=self.dispatcher,
            catalogue=catalogue,
            now=lambda: clock().wall,
            count=counts.webhook_answered,
        )
        self.pushing = Pushing(
            pushes=inbox.pushes,
            keys=inbox.member_keys,
            hooks=self.hooks,
            runtimes=runtimes,
            catalogue=catalogue,
            clock=clock,
            count=counts.pushed,
        )
        self._runtimes, self._pushes = runtimes, inbox.pushes
        self.looks = EventLooks(runtimes, look)
        self.buses = BusListeners(
            BusSurroundings(
                listen=inbox.listen,
                read_secret=inbox.read_secret,
                clock=clock,
                concern=self.concern,
                count=counts.bus_message,
            )
        )

    async def start(self) -> None:
        """Read the webhooks, and take alerts. Raises `StoreError`."""
        await self.hooks.load()
        self.alerting.start()

    async def stop(self) -> None:
        """Take no more alerts; those that were taken are answered. Looks that events began are given up."""
        await self.buses.stop()
        await self.looks.stop()
        await self.alerting.stop()

    def tasks(self) -> Sequence[asyncio.Task[None]]:
        """The loops that have to run."""
        return self.alerting.tasks()

    def follow(self, step: Seconds) -> None:
        """The system's clock was set by so much: what came in before is as old as it was."""
        self.dispatcher.follow(step)
        self._pushes.follow(step)

    def saw(self, runtime: GroupRuntime, members: Collection[MemberName]) -> None:
        """Accept pushes of the members that a pass has seen."""
        self.pushing.saw(runtime, members)

    def forget(self, group: GroupId) -> None:
        """A group is gone."""
        self.pushing.forget(group)
        self.looks.forget(group)

    def concern(self, cloud: CloudId, news: CloudNews) -> bool:
        """Have the groups of a cloud looked at that an event concerns; return whether there is one."""
        of_cloud = (group for group, runtime in self._runtimes.items() if runtime.definition.cloud.id == cloud)
        begun = self.looks.take(news, of_cloud)
        return bool(begun.now or begun.soon)
