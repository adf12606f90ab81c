"""Capability URLs: execute the policy that a webhook names, on the one decision path, or look at its groups."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from config.errors import Refused, StoreError
from config.units import GroupId, Instant, PolicyId, Seconds
from handler import logs
from handler.engine.engine import Engine
from handler.ingest.alerts import signatures
from handler.ingest.alerts.notifications import UnreadablePayload
from handler.ingest.alerts.replies import AlertResult
from handler.ingest.capabilities import events, orders, signed_urls
from handler.ingest.capabilities.looks import LooksBegun
from handler.ingest.capabilities.orders import NoAlarm
from handler.operations.lookup import NoSuch
from handler.operations.outcomes import RequestReply
from handler.ports.alerts import HookUse, StoredHook

AT_ONCE = 256
"""Executions that may wait for a decision."""
_NOTED_APART: Seconds = 60.0
_NOTED_AT_MOST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityRequest:
    """One request, as it came."""

    use: HookUse
    """As its address says."""
    path: str = field(repr=False)
    query: str = field(repr=False)
    token: str = field(repr=False)
    """Empty: the query is signed instead."""
    headers: Mapping[str, str] = field(repr=False)
    """By lower-case name."""
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapabilityRefusal:
    """Why a request does nothing."""

    result: AlertResult
    message: str


CapabilityOutcome = RequestReply | NoAlarm | LooksBegun | CapabilityRefusal

_UNKNOWN = CapabilityRefusal(
    result=AlertResult.UNKNOWN_TOKEN, message="there is no such webhook: see 'trimtab hook list'"
)


class Alarm(Protocol):
    """Executes a policy: `handler.operations.facade.Operations.alarm`."""

    def __call__(self, group: GroupId, policy: PolicyId, *, id: str, by: str) -> Awaitable[RequestReply]:
        """Execute it once for each id."""
        ...


class CapabilityAdmin:
    """Takes requests at capability URLs. Every refusal is counted, logged, and a line of its group's history."""

    def __init__(self, engine: Engine, alarm: Alarm, fresh_id: Callable[[], str]) -> None:
        self._engine = engine
        self._alarm = alarm
        self._fresh_id = fresh_id
        self._waiting = 0
        self._noted: dict[tuple[str, str], Instant] = {}

    async def take(self, request: CapabilityRequest) -> CapabilityOutcome:
        """Do what a request asks for, and return its outcome once that is on disk."""
        outcome = await self._taken(request)
        self._engine.reports.metrics.webhook_answered(request.use, _result(outcome))
        return outcome

    async def _taken(self, request: CapabilityRequest) -> CapabilityOutcome:
        now = self._engine.parts.clock().wall
        hook = self._holder(request, now)
        if hook is None or hook.use is not request.use:
            return _UNKNOWN
        if self._engine.ingest.hooks.is_too_often(hook, now):
            return CapabilityRefusal(result=AlertResult.OVERLOADED, message="too many requests of this webhook")
        outcome = self._unproved(hook, request, now) or await self._done(hook, request)
        if isinstance(outcome, CapabilityRefusal):
            await self._note(hook, outcome, now)
        return outcome

    async def _done(self, hook: StoredHook, request: CapabilityRequest) -> CapabilityOutcome:
        match hook.use:
            case HookUse.EXECUTE:
                return await self._execute(hook, request)
            case HookUse.OBSERVE:
                return self._observe(hook, request)
            case HookUse.ALERTS | HookUse.VALUES:
                return _UNKNOWN

    # Who may

    def _holder(self, request: CapabilityRequest, now: Instant) -> StoredHook | None:
        """Return the webhook of the token, or of a genuine signature."""
        hooks = self._engine.ingest.hooks
        if request.token:
            return hooks.holder(request.token, now)
        hook = hooks.with_id(signed_urls.key_id_of(request.query))
        secret = None if hook is None else hooks.secret(hook)
        genuine = signed_urls.is_genuine(
            secret or "", host=request.headers.get("host", ""), path=request.path, query=request.query
        )
        if hook is None or not secret or request.path != f"{signed_urls.PATH}/{hook.name}":
            return None
        if not genuine:
            logs.warn("hook_forged", hook=hook.name, why="the signature is not that of this host, path and query")
            return None
        hooks.used(hook, now)
        return hook

    def _unproved(self, hook: StoredHook, request: CapabilityRequest, now: Instant) -> CapabilityRefusal | None:
        """Return why a body is not signed as its webhook needs; a signed URL is proof enough."""
        if hook.hmac_secret is None or not request.token:
            return None
        secret = self._engine.ingest.hooks.secret(hook)
        if secret is None:
            return CapabilityRefusal(
                result=AlertResult.NOT_RECORDED, message="the secret for signatures cannot be read here"
            )
        forged = signatures.forged(secret, request.headers, request.body, now)
        return None if forged is None else CapabilityRefusal(result=AlertResult.FORGED, message=forged.value)

    # Executing

    async def _execute(self, hook: StoredHook, request: CapabilityRequest) -> CapabilityOutcome:
        query = request.query if request.token else signed_urls.without_signature(request.query)
        order = orders.read(request.body, request.headers, query)
        if isinstance(order, UnreadablePayload):
            return CapabilityRefusal(result=AlertResult.UNREADABLE, message=order.message)
        if isinstance(order, NoAlarm):
            return order
        if self._waiting >= AT_ONCE:
            return CapabilityRefusal(result=AlertResult.OVERLOADED, message="too many executions wait to be decided")
        self._waiting += 1
        try:
            return await self._ask(hook, self._fresh_id() if order.id is None else _request_id(hook, order.id))
        finally:
            self._waiting -= 1

    async def _ask(self, hook: StoredHook, id: str) -> RequestReply | CapabilityRefusal:
        (group,), policy = hook.groups, hook.policy
        if policy is None:
            raise AssertionError(f"webhook {hook.name} names no policy")
        try:
            return await self._alarm(group, policy, id=id, by=hook.name)
        except (NoSuch, Refused) as error:
            return CapabilityRefusal(result=AlertResult.REFUSED, message=str(error))
        except StoreError:
            return CapabilityRefusal(result=AlertResult.NOT_RECORDED, message="the execution could not be recorded")

    # Looking

    def _observe(self, hook: StoredHook, request: CapabilityRequest) -> LooksBegun | CapabilityRefusal:
        news = events.read(request.body)
        if isinstance(news, UnreadablePayload):
            return CapabilityRefusal(result=AlertResult.UNREADABLE, message=news.message)
        return self._engine.ingest.looks.take(news, hook.groups)

    # Refusals

    async def _note(self, hook: StoredHook, refusal: CapabilityRefusal, now: Instant) -> None:
        """Log a refusal, and write it to the history of the webhook's groups; the same one at most once a minute."""
        key = (hook.name, refusal.result.value)
        last = self._noted.get(key)
        if last is not None and 0 <= now - last < _NOTED_APART:
            return
        if len(self._noted) >= _NOTED_AT_MOST:
            self._noted.clear()
        self._noted[key] = now
        logs.warn("hook_refused", hook=hook.name, result=refusal.result.value, why=refusal.message)
        for group in hook.groups:
            if group in self._engine.runtimes:
                try:
                    await asyncio.to_thread(
                        self._engine.parts.store.note, group, "hook_refused", hook.name, refusal.message, now
                    )
                except StoreError as error:
                    logs.warn("hook_refusal_not_recorded", hook=hook.name, error=str(error))


def _request_id(hook: StoredHook, id: str) -> str:
    """Return the id of a request: what a sender gives is of any length and content, so a digest stands for it."""
    digest = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"hook-{hook.name}-{digest}"


def _result(outcome: CapabilityOutcome) -> AlertResult:
    match outcome:
        case CapabilityRefusal(result=result):
            return result
        case NoAlarm():
            return AlertResult.NO_ALARM
        case RequestReply() if not outcome.accepted:
            return AlertResult.REFUSED
        case RequestReply() | LooksBegun():
            return AlertResult.ACCEPTED
