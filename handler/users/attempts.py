"""Refused requests that are no operations, in the audit trail: seldom, so that they cannot fill the disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from config.units import Instant, Seconds
from handler.identity.actors import Actor
from handler.identity.audit import AuditResult, entry_by
from handler.users.trail import AuditTrail

_ONE_IN: Seconds = 60.0
_CALLERS_AT_MOST = 1000
"""Callers that are told apart; when there are more, the trail gets no more rows until a minute is over."""
_PATH_AT_MOST = 200


@dataclass(slots=True)
class _Seen:
    since: Instant
    left_out: int = 0


class RefusedAttempts:
    """At most one row a minute for each caller; it has the number of attempts that were left out before it."""

    def __init__(self, trail: AuditTrail, now: Callable[[], Instant]) -> None:
        self._trail = trail
        self._now = now
        self._seen: dict[tuple[str, str, str], _Seen] = {}

    def note(self, actor: Actor, on: str, outcome: str) -> None:
        """Write that a request was refused; returns at once.

        Args:
            actor: the caller, as far as it is known.
            on: method and path of the request, without its query.
            outcome: the answer that it got.
        """
        now, key = self._now(), (actor.name, actor.origin.credential, actor.origin.peer)
        seen = self._seen.get(key)
        if seen is not None and 0 <= now - seen.since < _ONE_IN:
            seen.left_out += 1
            return
        if seen is None and len(self._seen) >= _CALLERS_AT_MOST:
            self._seen = {each: one for each, one in self._seen.items() if 0 <= now - one.since < _ONE_IN}
            if len(self._seen) >= _CALLERS_AT_MOST:
                return
        more = f" ({seen.left_out} more attempts before)" if seen is not None and seen.left_out else ""
        self._seen[key] = _Seen(now)
        entry = entry_by(
            actor, now, "attempt", AuditResult.FORBIDDEN, on=on[:_PATH_AT_MOST], outcome=f"{outcome}{more}"
        )
        self._trail.post(entry)
