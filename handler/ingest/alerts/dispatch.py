"""Decide a batch of alerts: drop late ones, recognise repeated ones, and put the rest into the decision queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from collector.boards.alerts import Board, Brought
from config.model.adjustments import outright
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant, Moment, Seconds
from handler.ingest.alerts.episodes import Episodes
from handler.ingest.alerts.mapping import Begin, Bring, EndAlert, Fire, Meaning, Nothing, Why
from handler.ingest.alerts.replies import AlertEffect
from handler.ports.alerts import AlertStatus, Delivery
from handler.ports.store import Store
from handler.ports.stored import StoredAnswer
from handler.runtime.decision_queue import DecisionQueue
from handler.runtime.decision_task import DecisionTask
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.loops import Guard, until_set
from trigger.policies.signals import ended, signalled
from trigger.requests import Decision, GroupState, Request, RequestCause, Signal

SIGNALS_AT_MOST = 50
"""Of one declared alert in one group. Fifty alerts that shield a group shield it no better than one."""
MORE = "more"
"""The key that all beyond those share. It ends by its time to live alone."""


def applied(state: GroupState, meanings: Iterable[Meaning], now: Instant) -> GroupState:
    """Have meanings of one group, in their order, begin and end what lasts."""
    for meaning in meanings:
        match meaning.act:
            case Begin(signals=signals):
                for signal in signals:
                    state = signalled(state, _bounded(state, signal), now)
            case EndAlert():
                state = ended(state, meaning.alert, meaning.received.fingerprint, now)
            case _:
                pass
    return state


def _bounded(state: GroupState, signal: Signal) -> Signal:
    """The signal, or, with too many of its kind, one that stands for all the rest."""
    if len(state.signals) < SIGNALS_AT_MOST:
        return signal
    keys = {known.key for known in state.signals if known.alert == signal.alert and known.kind is signal.kind}
    return signal if signal.key in keys or len(keys) < SIGNALS_AT_MOST else replace(signal, key=MORE)


_AUDIT_AT_MOST = 20_000
_AUDIT_AT_ONCE = 200
_AUDIT_AFTER: Seconds = 0.5

Answers = Mapping[tuple[GroupId, str], StoredAnswer]


class AlertDispatcher:
    """Puts the meanings of alerts to the decision queue, one batch at a time."""

    def __init__(
        self,
        *,
        runtimes: Mapping[GroupId, GroupRuntime],
        catalogue: Callable[[], Catalogue],
        queue: DecisionQueue,
        store: Store,
        board: Board,
        clock: Callable[[], Moment],
    ) -> None:
        self._runtimes = runtimes
        self._catalogue = catalogue
        self._queue = queue
        self._store = store
        self._board = board
        self._clock = clock
        self._episodes = Episodes()
        self._audit: list[Delivery] = []
        self._audit_guard = Guard("deliveries")
        self._auditing: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    async def stop(self) -> None:
        """Write down what is not written yet."""
        self._stopping.set()
        if self._auditing is not None:
            await self._auditing

    def follow(self, step: Seconds) -> None:
        """The system's clock was set by so much."""
        self._episodes.follow(step)
        self._board.follow(step)

    async def passed(self, batch: Sequence[Sequence[Meaning]]) -> list[list[AlertEffect]]:
        """Decide all of a batch, and return the result of each meaning once that is on disk.

        Raises:
            StoreError: it could not be written down; the same again may be passed later.
        """
        now = self._clock()
        timely_ones = [[timely(self._episodes, meaning, now.wall) for meaning in one] for one in batch]
        meanings = [meaning for one in timely_ones for meaning in one]
        answers = await self._answered(meanings)
        decisions = await self._decided(meanings, answers, now)
        self._note([meaning for meaning in meanings if not isinstance(meaning.act, Nothing)], now.wall)
        return [[done_of(meaning, answers, decisions) for meaning in one] for one in timely_ones]

    async def _answered(self, meanings: Sequence[Meaning]) -> Answers:
        asked = {(m.group, m.id) for m in meanings if m.group is not None and isinstance(m.act, Fire)}
        return await asyncio.to_thread(self._store.answers_to, asked) if asked else {}

    async def _decided(self, meanings: Sequence[Meaning], answers: Answers, now: Moment) -> Mapping[GroupId, Decision]:
        questions = []
        for group, mine in by_group(meanings).items():
            runtime = self._runtimes.get(group)
            question = None if runtime is None else question_of(self._catalogue(), runtime, mine, answers, now)
            if question is not None:
                questions.append(question)
        decisions = await self._queue.ask_all(questions) if questions else []
        for meaning in meanings:
            self._post(meaning, now)
        return {decision.group: decision for decision in decisions}

    def _post(self, meaning: Meaning, now: Moment) -> None:
        """Put a value on the board, or take it away. Nothing of the board is on disk."""
        if meaning.group is None:
            return
        key = meaning.received.fingerprint
        if isinstance(meaning.act, Bring):
            value, until = meaning.act.value, meaning.act.until
            brought = Brought(group=meaning.group, alert=meaning.alert, key=key, value=value, at=now, until=until)
            self._board.put(brought)
        elif isinstance(meaning.act, EndAlert):
            self._board.drop(meaning.group, meaning.alert, key)

    def _note(self, meanings: Sequence[Meaning], now: Instant) -> None:
        """Have deliveries written down, behind the answers; in a flood that the disk cannot follow, the last ones."""
        self._audit = [*self._audit, *(_delivery(meaning, now) for meaning in meanings)][-_AUDIT_AT_MOST:]
        if self._audit and (self._auditing is None or self._auditing.done()):
            self._auditing = asyncio.create_task(self._write_audit())

    async def _write_audit(self) -> None:
        """A slice at a time: decisions must not wait for long behind it."""
        await until_set(self._stopping, _AUDIT_AFTER)
        while self._audit:
            some, self._audit = self._audit[:_AUDIT_AT_ONCE], self._audit[_AUDIT_AT_ONCE:]
            await self._audit_guard.run(partial(asyncio.to_thread, self._store.deliver, some))


def timely(episodes: Episodes, meaning: Meaning, now: Instant) -> Meaning:
    """The meaning, or nothing if it came out of order."""
    if isinstance(meaning.act, Nothing):
        return meaning
    if meaning.received.status is AlertStatus.FIRING:
        why = None if episodes.fires(meaning.alert, meaning.received, now) else Why.OVER
    else:
        why = None if episodes.resolves(meaning.alert, meaning.received, now) else Why.BEGUN_AGAIN
    if why is None:
        return meaning
    return replace(meaning, act=Nothing(why=why))


def by_group(meanings: Sequence[Meaning]) -> Mapping[GroupId, list[Meaning]]:
    """Meanings that do something, by group, in their order."""
    groups: dict[GroupId, list[Meaning]] = {}
    for meaning in meanings:
        if meaning.group is not None and isinstance(meaning.act, Fire | Begin | EndAlert):
            groups.setdefault(meaning.group, []).append(meaning)
    return groups


def question_of(
    catalogue: Catalogue, runtime: GroupRuntime, meanings: Sequence[Meaning], answers: Answers, now: Moment
) -> DecisionTask | None:
    """One question for all that alerts mean to a group; ``None`` if there is nothing to decide."""
    requests: dict[str, Request] = {}
    for meaning in meanings:
        if isinstance(meaning.act, Fire) and (runtime.id, meaning.id) not in answers:
            request = request_of(catalogue, runtime.id, meaning)
            if request is not None:
                requests[meaning.id] = request
    lasting = [meaning for meaning in meanings if isinstance(meaning.act, Begin | EndAlert)]

    def change(state: GroupState) -> GroupState:
        return applied(state, lasting, now.wall)

    begins = any(isinstance(meaning.act, Begin) for meaning in lasting)  # or renews: either way the state changes
    if not requests and not begins and change(runtime.state) == runtime.state:
        return None
    return DecisionTask(runtime=runtime, at=now, requests=tuple(requests.values()), change=change if lasting else None)


def request_of(catalogue: Catalogue, group: GroupId, meaning: Meaning) -> Request | None:
    """The request that an alert makes; ``None`` if a reload took its policy away meanwhile."""
    policy = catalogue.policies.get(meaning.act.policy) if isinstance(meaning.act, Fire) else None
    adjustment = None if policy is None else outright(policy.adjustment)
    if policy is None or adjustment is None:
        return None
    return Request(
        id=meaning.id,
        group=group,
        cause=RequestCause.ALARM,
        by=meaning.alert,
        adjustment=adjustment,
        policy=policy.id,
        quiet_time=policy.quiet_time,
        quiet_scope=policy.quiet_scope,
    )


def done_of(meaning: Meaning, answers: Answers, decisions: Mapping[GroupId, Decision]) -> AlertEffect:
    """What one meaning led to."""
    if isinstance(meaning.act, Nothing):
        return AlertEffect(meaning=meaning, reason=meaning.act.why)
    if meaning.group is None:
        return AlertEffect(meaning=meaning, reason=None)
    before = answers.get((meaning.group, meaning.id)) if isinstance(meaning.act, Fire) else None
    if before is not None:
        return AlertEffect(
            meaning=meaning,
            reason=before.reason,
            repeated=True,
            desired_from=before.desired_from,
            desired_to=before.desired_to,
        )
    decision = decisions.get(meaning.group)
    if decision is None or isinstance(meaning.act, Bring):
        return AlertEffect(meaning=meaning, reason=None)
    own = [answer.reason for answer in decision.answers if answer.request.id == meaning.id]
    return AlertEffect(
        meaning=meaning,
        reason=own[0] if own else decision.reason,
        desired_from=decision.desired_from,
        desired_to=decision.desired_to,
    )


def _delivery(meaning: Meaning, now: Instant) -> Delivery:
    start = meaning.received.starts_at
    if start is None:  # an episode without a start is another row each time
        start = Instant(0.0) if meaning.received.episode is None else now
    return Delivery(
        group=meaning.group or GroupId(""),
        alert=meaning.alert,
        fingerprint=meaning.received.fingerprint,
        starts_at=start,
        status=meaning.received.status,
        at=now,
        decision=meaning.id,
    )
