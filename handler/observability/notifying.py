"""The notice loop: store each notice of a group, and send it from there until it has arrived.

# Note [At least once]

A notice counts as given once it is stored; sending comes after. A daemon that is killed between the two sends it when
it runs again. One that is killed after sending, and before that is stored, sends it a second time, with the same id: a
receiver that must not get it twice keeps the ids. Each target has a lane of its own: there its notices go out one after
another, in the order of storing, and a target that hangs delays no other target.

# Note [Decisions from history]

A change of size is on disk, in the group's history, before anything hears of it. Its notice is made from that line, and
stored as any other. So a daemon that is killed between the two makes it at the next start, from what the history has
after the last decision with a notice. A group that never had one begins with the decisions after the start; so does
one that the file told to send no more of them meanwhile.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from config.errors import StoreError
from config.model.observability import Notify, NotifyTarget
from config.units import GroupId, Instant, Seconds
from handler import logs
from handler.observability.notification_sender import UndeliveredNotice
from handler.ports.notices import (
    DecisionNotice,
    Filed,
    News,
    Tried,
    Watch,
    channel,
    delivered,
    failed,
    look,
    watch_after,
    words_of,
)
from handler.ports.store import Store
from handler.ports.stored import Event, EventKind
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.loops import Guard, until_set
from handler.runtime.statuses import condition_of, messages_of
from trigger.moving import moved
from trigger.requests import Decision

_LOOK: Seconds = 5.0
_BATCH = 200
_DECISIONS = 200
"""Lines of a group's history that are looked through for decisions without a notice."""
_NEVER = Instant(math.inf)
_LANES = 32
"""Targets that are spoken to at once."""


class Carries(Protocol):
    """What makes an attempt: `handler.observability.notification_sender.NotificationSender`."""

    async def send(self, target: NotifyTarget, notice: News) -> UndeliveredNotice | None:
        """Make one attempt; ``None``: it has arrived."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _News:
    """A notice that is not filed yet, and what to remember of its group once it is."""

    filed: Filed
    watch: Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """An attempt that was made, and may not be written down yet."""

    tried: Tried
    befalls_all: bool


class Notifier:
    """Watch groups, and deliver notices of their trouble."""

    def __init__(
        self,
        *,
        store: Store,
        runtimes: Mapping[GroupId, GroupRuntime],
        notification_sender: Carries,
        clock: Callable[[], Instant],
        count: Callable[[str, str], None],
    ) -> None:
        self._store = store
        self._runtimes = runtimes
        self._notification_sender = notification_sender
        self._clock = clock
        self._count = count
        self._watches: dict[GroupId, Watch] = {}
        self._news: dict[GroupId, _News] = {}
        self._decided: dict[GroupId, Instant] = {}
        """Groups whose history may have decisions that are not filed, and the earliest of those that were heard of."""
        self._filed_until: dict[GroupId, Instant] = {}
        """When each group made the latest decision that is filed, or is not to be."""
        self._since = clock()
        self._declared: Mapping[GroupId, Notify | None] = {}
        """What the file said of each group when the store was last made to follow it."""
        self._lanes: dict[NotifyTarget, asyncio.Task[None]] = {}
        self._waits: dict[NotifyTarget, Instant] = {}
        self._guards: dict[NotifyTarget, Guard] = {}
        """Targets that are left alone, and until when."""
        self._made: dict[str, _Attempt] = {}
        """By the id of the notice: if the disk is full, it is still not sent twice."""
        self._slots = asyncio.Semaphore(_LANES)
        self._wake = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None

    async def recall(self) -> None:
        """Read the last notices. Call this before the first pass.

        Raises:
            StoreError: it cannot be read.
        """
        last = await asyncio.to_thread(self._store.last_notices)
        self._watches = {notice.group: watch_after(notice) for notice in last}
        self._filed_until = dict(await asyncio.to_thread(self._store.last_decision_notices))
        self._decided, self._since = dict.fromkeys(self._filed_until, _NEVER), self._clock()
        self._look_back_from_now()

    def start(self) -> None:
        """Send due notices until cancelled."""
        self._loop = asyncio.create_task(self._keep(), name="notices")

    async def stop(self) -> None:
        """Stop. What is under way is given up, and sent by the next start."""
        tasks = [*self._lanes.values(), *self.tasks()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """The running loop: the daemon watches that it has not died."""
        return () if self._loop is None else (self._loop,)

    def saw(self, runtime: GroupRuntime) -> None:
        """Look at a group after a pass. Never blocks; until the last news of it are filed, there are no others."""
        if runtime.id in self._news:
            return
        now, group = self._clock(), runtime.definition.group
        watch, notice = look(
            self._watches.get(runtime.id, Watch()), group, condition_of(runtime, now), messages_of(runtime, now), now
        )
        if notice is None or group.notify is None:
            self._watches[runtime.id] = watch
            return
        self._news[runtime.id] = _News(filed=Filed(notice=notice, target=group.notify.target), watch=watch)
        self._wake.set()

    def decided(self, decision: Decision) -> None:
        """Have a change of size filed, which is on disk by now. Never blocks. See Note [Decisions from history]."""
        runtime = self._runtimes.get(decision.group)
        notify = None if runtime is None else runtime.definition.group.notify
        if not decision.changed:
            return
        if notify is None or not notify.decisions:
            self._filed_until[decision.group] = decision.at.wall
            return
        self._is_decided(decision.group, decision.at.wall)
        self._wake.set()

    def forget(self, group: GroupId) -> None:
        """Handle the end of a group; its notices are still sent."""
        self._watches.pop(group, None)
        self._filed_until.pop(group, None)
        self._decided.pop(group, None)

    def follow(self, step: Seconds) -> None:
        """Keep what is left of every wait: the clock was set by ``step``."""
        self._waits = dict(moved(self._waits, Mapping[NotifyTarget, Instant], step))
        self._watches = {
            group: replace(watch, turned_at=moved(watch.turned_at, Instant | None, step))
            for group, watch in self._watches.items()
        }
        self._look_back_from_now()

    def _look_back_from_now(self) -> None:
        """Have decisions after a clock that was set back counted as later; those found twice are stored once."""
        now = self._clock()
        self._since = min(self._since, now)
        self._filed_until = {group: min(until, now) for group, until in self._filed_until.items()}

    async def round(self) -> None:
        """File what is news, and begin to send what is due.

        Raises:
            StoreError: the store cannot be read or written; the next round tries again.
        """
        await self._follow_file()
        await self._file()
        await self._file_decisions()
        now = self._clock()
        self._waits = {target: until for target, until in self._waits.items() if until > now}
        left_out = (*self._lanes, *self._waits)
        due = await asyncio.to_thread(partial(self._store.due_notices, now, _BATCH, besides=left_out))
        queues: dict[NotifyTarget, list[Filed]] = {}
        for filed in due:
            queues.setdefault(self._target(filed), []).append(filed)
        for target, queue in queues.items():
            if target not in self._lanes and target not in self._waits:
                self._lanes[target] = asyncio.create_task(self._keep_lane(target, queue), name="notices-lane")

    async def idle(self) -> None:
        """Wait until nothing is under way."""
        await asyncio.gather(*self._lanes.values())

    async def _keep(self) -> None:
        guard = Guard("notices")
        while True:
            self._wake.clear()
            await guard.run(self.round)
            await until_set(self._wake, _LOOK)

    async def _follow_file(self) -> None:
        """Have stored notices go where the file says now, and end the decisions of groups that send them no longer.

        A notice that waits for another target than the one that it goes to would be read again and again in vain. One
        that is just being sent stays where it is until that has ended: it would be sent twice.
        """
        declared = {group: runtime.definition.group.notify for group, runtime in self._runtimes.items()}
        if declared == self._declared:
            return
        stored = await asyncio.to_thread(self._store.waiting_targets)
        strays = [
            (group, target, notify.target)
            for group, target in stored
            if (notify := declared.get(group)) is not None and notify.target != target
        ]
        busy = {group for group, before, _ in strays if before in self._lanes}
        moved = {group: after for group, _, after in strays if group not in busy}
        if moved:
            await asyncio.to_thread(self._store.redirect_notices, moved)
        last = await asyncio.to_thread(self._store.last_decision_notices)
        ended = [group for group in last if group in declared and not _sends_decisions(declared[group])]
        if ended:
            await asyncio.to_thread(self._store.end_decision_notices, ended)
            self._filed_until |= dict.fromkeys(ended, self._clock())
        self._declared = {} if busy else declared

    async def _file(self) -> None:
        news = dict(self._news)
        if not news:
            return
        await asyncio.to_thread(self._store.file_notices, [each.filed for each in news.values()])
        for group, news_of_group in news.items():
            del self._news[group]
            if group in self._runtimes:
                self._watches[group] = news_of_group.watch

    async def _file_decisions(self) -> None:
        for group in sorted(self._decided):
            earliest = self._decided.pop(group)
            runtime = self._runtimes.get(group)
            notify = None if runtime is None else runtime.definition.group.notify
            if notify is None or not notify.decisions:
                continue
            try:
                await self._file_decisions_of(group, notify.target, earliest)
            except StoreError:
                self._is_decided(group, earliest)
                raise

    def _is_decided(self, group: GroupId, at: Instant) -> None:
        self._decided[group] = min(at, self._decided.get(group, at))

    async def _file_decisions_of(self, group: GroupId, target: NotifyTarget, earliest: Instant) -> None:
        """File what is later than all that is filed, or than the earliest decision that was heard of since.

        A tick decides as of the begin of its poll: what was decided meanwhile is later, and may be filed before.
        """
        until = self._filed_until.get(group, self._since)
        read = partial(self._store.history, group, before=None, limit=_DECISIONS, kinds={EventKind.DECISION})
        events = await asyncio.to_thread(read)
        late = (event for event in reversed(events) if event.at > until or event.at >= earliest)
        fresh = [_notice_of(event) for event in late if _is_change(event)]
        if fresh:
            filed = [Filed(notice=notice, target=target) for notice in fresh]
            await asyncio.to_thread(self._store.file_notices, filed)
            self._filed_until[group] = max(until, fresh[-1].at)

    def _target(self, filed: Filed) -> NotifyTarget:
        """Set the targets that the file names now: a corrected address also applies to waiting notices."""
        runtime = self._runtimes.get(filed.notice.group)
        notify = None if runtime is None else runtime.definition.group.notify
        return filed.target if notify is None else notify.target

    async def _keep_lane(self, target: NotifyTarget, queue: list[Filed]) -> None:
        try:
            async with self._slots:
                guard = self._guards.setdefault(target, Guard("notify", by=channel(target)))
                done = await guard.run(partial(self._send_all, target, queue))
            if not done:
                self._waits[target] = Instant(self._clock() + _LOOK)
        finally:
            del self._lanes[target]
            self._wake.set()

    async def _send_all(self, target: NotifyTarget, queue: list[Filed]) -> bool:
        """Send one after another; stop for a group whose notice failed, and for a target that cannot be reached."""
        held: set[GroupId] = set()
        for filed in queue:
            if filed.notice.group in held:
                continue
            attempt = await self._send(target, filed)
            if attempt.tried.delivered:
                continue
            held.add(filed.notice.group)
            if attempt.befalls_all:
                self._waits[target] = attempt.tried.next_at or Instant(attempt.tried.at + _LOOK)
                break
        return True

    async def _send(self, target: NotifyTarget, filed: Filed) -> _Attempt:
        notice = filed.notice
        if notice.id not in self._made:
            unsent = await self._notification_sender.send(target, notice)
            now = self._clock()
            tried = delivered(now) if unsent is None else failed(filed, unsent.because, now)
            self._made[notice.id] = _Attempt(tried=tried, befalls_all=unsent is not None and unsent.befalls_all)
            self._report(target, filed, tried)
        attempt = self._made[notice.id]
        await asyncio.to_thread(self._store.notice_tried, notice.id, attempt.tried)
        del self._made[notice.id]
        return attempt

    def _report(self, target: NotifyTarget, filed: Filed, tried: Tried) -> None:
        """Count every attempt; log the first that fails, and the last."""
        given_up = not tried.delivered and tried.next_at is None
        self._count(channel(target), "delivered" if tried.delivered else "given_up" if given_up else "failed")
        notice = filed.notice
        news = words_of(notice)
        say = partial(logs.say if tried.delivered else logs.warn, group=notice.group, news=news, by=channel(target))
        if tried.delivered:
            say("notified", attempts=filed.attempts + 1)
        elif given_up:
            say("notice_given_up", attempts=filed.attempts + 1, because=tried.because)
        elif not filed.attempts:
            say("notice_failed", because=tried.because)


def _sends_decisions(notify: Notify | None) -> bool:
    return notify is not None and notify.decisions


def _is_change(event: Event) -> bool:
    return event.desired_from != event.desired_to


def _notice_of(event: Event) -> DecisionNotice:
    return DecisionNotice(
        group=event.group,
        at=event.at,
        reason=event.name,
        by=event.by,
        desired_from=event.desired_from,
        desired_to=event.desired_to,
        clamps=event.clamps,
    )
