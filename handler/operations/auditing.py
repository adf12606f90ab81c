"""Write every operation into the audit trail: before it is carried out, and again with what became of it.

A process that ends in between leaves a row that asked and has no result: what was done is then not known.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from config.errors import Refused
from config.units import Instant
from handler.engine.assembly import Reloaded, words_of
from handler.engine.declaring import Redeclared, redeclared_words
from handler.identity.actors import Actor
from handler.identity.audit import AuditEntry, AuditResult, entry_by
from handler.identity.rights import OnGroups, Verb
from handler.operations.address import BASE, DataclassType, address_of, call_of, right_of
from handler.operations.authorising import Forbidden
from handler.operations.lookup import NoSuch
from handler.operations.outcomes import Done, MemberPass, RequestReply, SettingsApplied, Steered
from handler.users.trail import AuditTrail
from trigger.reasons import Reason
from trigger.requests import Decision

_SHOWN = frozenset({
    "before", "role", "groups", "verbs", "anonymous", "disabled_at", "expires_at", "members", "replaced", "evicted",
    "protected", "deleted", "abandoned", "revoked", "finished", "rotated", "fleet_pause", "port", "warning",
})  # fmt: skip
"""Fields of answers that the trail repeats. All others are left out: some hold a token, which is shown once."""
_OUTCOME_AT_MOST = 2000
_ACCEPTED = frozenset({Reason.NO_CHANGE, Reason.WAITING_TURN, Reason.ADVISED})


async def audited(
    trail: AuditTrail,
    now: Callable[[], Instant],
    operation: DataclassType,
    by: Actor,
    perform: Callable[[], Awaitable[Done]],
) -> Done:
    """Perform an operation between its two rows; one that only looks has none, unless it may show a secret.

    Raises:
        StoreError: the trail cannot be written, and nothing was done; or what ``perform`` raises.
    """
    looks = right_of(operation).verb is Verb.EXAMINE and not address_of(type(operation)).secret
    if looks or getattr(operation, "dry_run", False):
        return await perform()
    asked = await trail.write(_entry(operation, by, now(), AuditResult.ASKED))

    async def write(result: AuditResult, outcome: str) -> None:
        entry = entry_by(
            by, now(), address_of(type(operation)).name, result, of=asked.number, groups=_groups(operation)
        )
        await trail.write(_with_outcome(entry, outcome))

    try:
        done = await perform()
    except (Refused, NoSuch) as error:
        await write(AuditResult.REFUSED, str(error))
        raise
    except Forbidden as error:
        await write(AuditResult.FORBIDDEN, str(error))
        raise
    except BaseException as error:
        await write(AuditResult.FAILED, f"{type(error).__name__}: {error}")
        raise
    await write(AuditResult.REFUSED if _is_refused(done) else AuditResult.DONE, _words(done))
    return done


async def refused(trail: AuditTrail, now: Instant, operation: DataclassType, by: Actor, error: Exception) -> None:
    """Write an attempt that the caller had no right to, also one that would only have looked."""
    result = AuditResult.FORBIDDEN if isinstance(error, Forbidden | NoSuch) else AuditResult.REFUSED
    await trail.write(_with_outcome(_entry(operation, by, now, result), str(error)))


def _entry(operation: DataclassType, by: Actor, now: Instant, result: AuditResult) -> AuditEntry:
    call, address = call_of(operation), address_of(type(operation))
    path, _, query = call.path.partition("?")
    given = query if call.body is None else _without_nothing(call.body)
    if address.audited is not None:
        given = address.audited(operation)
    on = f"{address.method} {unquote(path.removeprefix(BASE))}"
    return entry_by(by, now, address.name, result, on=on, given=given, groups=_groups(operation))


def _without_nothing(body: bytes) -> str:
    return "" if body == b"{}" else body.decode()


def _groups(operation: object) -> tuple[Any, ...]:
    reach = right_of(operation).on
    if isinstance(reach, OnGroups):
        return tuple(sorted(reach.groups))
    named = getattr(operation, "group", None)
    return () if named is None else (named,)


def _with_outcome(entry: AuditEntry, outcome: str) -> AuditEntry:
    return replace(entry, outcome=outcome[:_OUTCOME_AT_MOST])


def _is_refused(done: Done) -> bool:
    match done:
        case Decision():
            return done.winner is None and not {answer.reason for answer in done.answers} <= _ACCEPTED
        case RequestReply():
            return done.answer is not None and done.desired_from == done.desired_to and done.reason not in _ACCEPTED
        case Reloaded() | Redeclared():
            return bool(done.problems)
        case _:
            return False


def _words(done: Done) -> str:
    """Return what changed, as far as the outcome tells."""
    match done:
        case Decision() | RequestReply():
            return f"size {done.desired_from} → {done.desired_to}: {done.reason.value}"
        case Reloaded() | Redeclared():
            edited = redeclared_words(done) if isinstance(done, Redeclared) else words_of(done.edits)
            return "; ".join(str(problem) for problem in done.problems) or edited
        case Steered() | SettingsApplied():
            return done.words
        case MemberPass():
            return f"{len(done.outcomes)} steps"
        case Mapping():
            shown = {name: value for name, value in done.items() if name in _SHOWN and value is not None}
            return json.dumps(shown, sort_keys=True, default=_plain) if shown else ""
        case _:
            return ""


def _plain(value: object) -> object:
    return value.value if hasattr(value, "value") else str(value)
