"""Tell what a saved payload would do now: the same steps as for a live one; nothing is written or notified."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from config.model.catalogue import Catalogue
from config.units import GroupId, Instant
from handler.ingest.alerts import payloads, replies
from handler.ingest.alerts.aodh import REQUEST_ID
from handler.ingest.alerts.dispatch import by_group, done_of, question_of
from handler.ingest.alerts.mapping import EVERYTHING, Fire, Mapped, Permissions, Rules, mapped
from handler.ingest.alerts.notifications import Payload, UnreadablePayload
from handler.ingest.alerts.replies import AlertReply
from trigger.decide import decide
from trigger.requests import Decision

if TYPE_CHECKING:
    from handler.engine.engine import Engine


_AS_SENT: Mapping[str, str] = MappingProxyType({REQUEST_ID: "req-check"})
"""Headers of a request that a saved body lacks."""


async def checked(engine: Engine, body: bytes, may: Permissions) -> AlertReply:
    """Return a running daemon's answer to the notification, as if it came in order."""
    now = engine.parts.clock()
    meant = _meant(engine.ingest.alerting.rules(), body, may, now.wall)
    if isinstance(meant, AlertReply):
        return meant
    payload, found = meant
    asked = {(m.group, m.id) for m in found.meanings if m.group is not None and isinstance(m.act, Fire)}
    answers = await asyncio.to_thread(engine.parts.store.answers_to, asked)
    decisions: dict[GroupId, Decision] = {}
    for group, mine in by_group(found.meanings).items():
        runtime = engine.runtimes.get(group)
        question = None if runtime is None else question_of(engine.catalogue(), runtime, mine, answers, now)
        if question is not None:
            state = question.runtime.state if question.change is None else question.change(question.runtime.state)
            declared, fleet = question.runtime.definition.group, question.runtime.fleet()
            decisions[group] = decide(declared, question.requests, fleet, state, now, evaluation=None)
    return replies.accepted(payload, found, [done_of(meaning, answers, decisions) for meaning in found.meanings])


def checked_offline(catalogue: Catalogue, body: bytes, now: Instant) -> AlertReply:
    """Return what a payload means under a file's catalogue. Without a daemon, the decision itself is unknown."""
    meant = _meant(Rules.of(catalogue), body, EVERYTHING, now)
    if isinstance(meant, AlertReply):
        return meant
    payload, found = meant
    no_decisions: Mapping[GroupId, Decision] = {}
    return replies.accepted(payload, found, [done_of(meaning, {}, no_decisions) for meaning in found.meanings])


def _meant(rules: Rules, body: bytes, may: Permissions, now: Instant) -> tuple[Payload, Mapped] | AlertReply:
    payload = payloads.read(body, _AS_SENT)
    if isinstance(payload, UnreadablePayload):
        return replies.unreadable(payload)
    found = mapped(rules, payload.alerts, may, now)
    return replies.refusal(payload, found, rules) or (payload, found)
