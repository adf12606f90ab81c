"""Handle alerts: from a request at ``/hooks/alerts`` to its answer, given once all of it is decided and on disk.

# Note [Batches of alerts]

Alerts come in floods, and a decision costs a durable write. So requests queue, and one loop takes all that wait: their
earlier answers are looked up together, each group is asked once for all that they mean to it, and all of it shares
the decision queue's writes. While one batch is being written the next one gathers. A single request passes at once; in
a flood, batches keep a pace, since a batch costs nearly the same for any size. The queue is bounded; beyond it the
answer is *try again later*, which senders do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from config.model.catalogue import Catalogue
from config.units import Instant, Seconds
from handler import logs
from handler.ingest.alerts import payloads, replies, signatures
from handler.ingest.alerts.dispatch import AlertDispatcher
from handler.ingest.alerts.hooks import Hooks
from handler.ingest.alerts.mapping import Mapped, Nothing, Rules, mapped, permissions_of
from handler.ingest.alerts.notifications import Payload, Sender, UnreadablePayload
from handler.ingest.alerts.receiver import WebhookRequest
from handler.ingest.alerts.replies import AlertEffect, AlertReply, AlertResult
from handler.ports.alerts import HookUse, StoredHook
from handler.runtime.loops import Guard

_BATCH = 256
_PACE: Seconds = 0.04
"""Adds this much to an answer at most, and halves what a batch costs each alert at 1,000 a second."""
_MEANINGS_A_BATCH = 2_000
"""Beyond which no further delivery joins a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much may wait in the queue."""

    deliveries: int = 2_000
    size: int = 50_000_000
    """Bytes, as they came."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Waiting:
    """One delivery in the queue."""

    hook: StoredHook
    payload: Payload
    mapped: Mapped
    size: int
    reply: asyncio.Future[AlertReply]


class Alerting:
    """Takes alerts in; implements `handler.ingest.alerts.receiver.AlertIntake`. Lives on the event loop."""

    def __init__(
        self,
        *,
        hooks: Hooks,
        dispatcher: AlertDispatcher,
        catalogue: Callable[[], Catalogue],
        now: Callable[[], Instant],
        count: Callable[[Sender | None, AlertResult], None],
        bounds: Bounds = Bounds(),
    ) -> None:
        self._hooks = hooks
        self._dispatcher = dispatcher
        self._catalogue = catalogue
        self._now = now
        self._count = count
        self._bounds = bounds
        self._rules: tuple[Catalogue, Rules] | None = None
        self._queue: list[_Waiting] = []
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to pass what waits."""
        self._task = asyncio.create_task(self._serve(), name="alerts")

    async def stop(self) -> None:
        """Stop; waiting requests are answered *try again later*."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._give_up(self._queue)
        await self._dispatcher.stop()

    def tasks(self) -> Sequence[asyncio.Task[None]]:
        """The loop: the daemon watches that it has not died."""
        return () if self._task is None else (self._task,)

    def busy(self) -> bool:
        """Whether anything waits to be passed."""
        return bool(self._queue)

    def rules(self) -> Rules:
        """The alerts of the catalogue in force."""
        catalogue = self._catalogue()
        if self._rules is None or self._rules[0] is not catalogue:
            self._rules = (catalogue, Rules.of(catalogue))
        return self._rules[1]

    # A request

    async def take(self, request: WebhookRequest) -> AlertReply:
        """Do all that a request asks for, and answer once that is on disk."""
        reply = await self._take(request)
        self._count(reply.sender, reply.result)
        return reply

    async def _take(self, request: WebhookRequest) -> AlertReply:
        now = self._now()
        hook = self._hooks.holder(request.token, now)
        if hook is None or hook.use is not HookUse.ALERTS:
            return replies.UNKNOWN_TOKEN
        refused = self._too_often(hook, now) or self._unsigned(hook, request, now)
        if refused is not None:
            return refused
        payload = payloads.read(request.body, request.headers)
        if isinstance(payload, UnreadablePayload):
            logs.warn("alerts_unreadable", hook=hook.name, size=len(request.body))
            return replies.unreadable(payload)
        if len(self._queue) >= self._bounds.deliveries or self._bytes + len(request.body) > self._bounds.size:
            return replies.unavailable(AlertResult.OVERLOADED, "too many alerts wait to be decided", payload.sender)
        rules = self.rules()
        meant = mapped(rules, payload.alerts, permissions_of(hook), now)
        refusal = replies.refusal(payload, meant, rules)
        if refusal is not None:
            logs.warn("alerts_refused", hook=hook.name, result=refusal.result.value, alerts=len(payload.alerts))
            return refusal
        return await self._wait(hook, payload, meant, len(request.body))

    def _too_often(self, hook: StoredHook, now: Instant) -> AlertReply | None:
        if not self._hooks.is_too_often(hook, now):
            return None
        return replies.unavailable(AlertResult.OVERLOADED, "too many requests of this webhook")

    def _unsigned(self, hook: StoredHook, request: WebhookRequest, now: Instant) -> AlertReply | None:
        if hook.hmac_secret is None:
            return None
        secret = self._hooks.secret(hook)
        if secret is None:
            return replies.unavailable(AlertResult.NOT_RECORDED, "the secret for signatures cannot be read here")
        at = now if request.proved_at is None else request.proved_at
        forged = signatures.forged(secret, request.headers, request.body, at)
        if forged is None:
            return None
        logs.warn("alerts_forged", hook=hook.name, why=forged.name.lower())
        return replies.not_genuine(forged)

    async def _wait(self, hook: StoredHook, payload: Payload, meant: Mapped, size: int) -> AlertReply:
        reply: asyncio.Future[AlertReply] = asyncio.get_running_loop().create_future()
        self._queue.append(_Waiting(hook=hook, payload=payload, mapped=meant, size=size, reply=reply))
        self._bytes += size
        self._arrived.set()
        return await reply

    # A batch: see Note [Batches of alerts]

    async def _serve(self) -> None:
        guard = Guard("alerts")
        while True:
            await self._arrived.wait()
            batch = self._next()
            pace = asyncio.create_task(asyncio.sleep(_PACE if len(batch) > 1 else 0.0))
            try:
                await guard.run(partial(self._pass, batch))
            finally:
                self._give_up(batch)
            await pace

    def _next(self) -> list[_Waiting]:
        """What waited longest, as much as may be passed at once."""
        meanings, count = 0, 0
        for waiting in self._queue[:_BATCH]:
            meanings += len(waiting.mapped.meanings)
            if count and meanings > _MEANINGS_A_BATCH:
                break
            count += 1
        batch, self._queue = self._queue[:count], self._queue[count:]
        self._bytes -= sum(waiting.size for waiting in batch)
        if not self._queue:
            self._arrived.clear()
        return batch

    @staticmethod
    def _give_up(batch: Sequence[_Waiting]) -> None:
        """Answer *try again later* to requests without a result so far: none of them is known to be on disk."""
        for waiting in batch:
            if not waiting.reply.done():
                reply = replies.unavailable(
                    AlertResult.NOT_RECORDED, "the alerts could not be recorded", waiting.payload.sender
                )
                waiting.reply.set_result(reply)

    async def _pass(self, batch: Sequence[_Waiting]) -> None:
        done = await self._dispatcher.passed([waiting.mapped.meanings for waiting in batch])
        _say(batch, done)
        for waiting, mine in zip(batch, done, strict=True):
            if not waiting.reply.done():
                waiting.reply.set_result(replies.accepted(waiting.payload, waiting.mapped, mine))


def _say(batch: Sequence[_Waiting], done: Sequence[Sequence[AlertEffect]]) -> None:
    """One line for what came through one webhook at a time, if it did anything; of payloads only what is declared."""
    by_hook: dict[str, list[tuple[_Waiting, Sequence[AlertEffect]]]] = {}
    for waiting, mine in zip(batch, done, strict=True):
        by_hook.setdefault(waiting.hook.name, []).append((waiting, mine))
    for hook, come in by_hook.items():
        acted = [each for _, mine in come for each in mine if _acted(each)]
        effects = sorted({f"{each.meaning.alert}={replies.effect_of(each.meaning)}" for each in acted})
        if effects:
            logs.say(
                "alerts",
                hook=hook,
                deliveries=len(come),
                alerts=sum(len(waiting.payload.alerts) for waiting, _ in come),
                truncated=sum(waiting.payload.truncated for waiting, _ in come) or None,
                effects=",".join(effects[:10]),
                groups=len({each.meaning.group for each in acted}),
            )


def _acted(done: AlertEffect) -> bool:
    return not done.repeated and not isinstance(done.meaning.act, Nothing)
