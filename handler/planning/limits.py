"""How late a persisted span may end: never later than its declared length from now. Pure.

This is all that can be ensured where no clock shows how long the daemon was away: after a reboot with another time, or
with a store from a machine with a wrong clock.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from config.units import Instant, Seconds
from handler.planning.attempts import LONGEST_PAUSE
from handler.planning.desired import Builds
from handler.planning.pacing import LONGEST_BACK_OFF
from handler.planning.world import Attempts, Record
from trigger.guards.turns import KEPT
from trigger.requests import GroupState, Observed, Quiet, Signal

_BEGAN = (
    "intended_at",
    "made_at",
    "in_service_at",
    "leaving_at",
    "drained_at",
    "absent_at",
    "gone_at",
    "failing_since",
    "removal_at",
    "removal_tried_at",
    "lost_at",
)


def limited_state(state: GroupState, now: Instant) -> GroupState:
    """Return what a group remembers with nothing that began after now, and no span longer than declared."""
    queued = state.turn.queued
    if queued is not None:
        queued = replace(queued, since=min(queued.since, now), until=_by(queued.until, KEPT, now))
    observed = state.observed
    limited = replace(
        state,
        quiets=tuple(_quiet(quiet, now) for quiet in state.quiets),
        signals=tuple(_signal(signal, now) for signal in state.signals),
        moves=tuple(replace(move, at=min(move.at, now)) for move in state.moves),
        grown_at=_begun(state.grown_at, now),
        observed=Observed(
            ceilings=tuple(replace(each, since=min(each.since, now)) for each in observed.ceilings),
            seen=_begun(observed.seen, now),
        ),
        turn=replace(state.turn, began=_begun(state.turn.began, now), queued=queued),
    )
    return state if limited == state else limited


def limited_builds(builds: Builds, now: Instant) -> Builds:
    """Return how builds go, with no back-off longer than the longest."""
    until = builds.back_off_until
    return builds if until is None else replace(builds, back_off_until=_by(until, LONGEST_BACK_OFF, now))


def limited_record(record: Record, grace: Seconds, now: Instant) -> Record:
    """Return a member's record with nothing that began after now, and no back-off longer than the longest."""
    late: dict[str, Any] = {name: now for name in _BEGAN if (at := getattr(record, name)) is not None and at > now}
    attempts = tuple(_attempts(each, grace, now) for each in record.attempts)
    return replace(record, **late, attempts=attempts) if late or attempts != record.attempts else record


def _attempts(attempts: Attempts, grace: Seconds, now: Instant) -> Attempts:
    return replace(attempts, again_at=_by(attempts.again_at, max(LONGEST_PAUSE, grace), now))


def _quiet(quiet: Quiet, now: Instant) -> Quiet:
    return quiet if quiet.lasts is None else replace(quiet, until=_by(quiet.until, quiet.lasts, now))


def _signal(signal: Signal, now: Instant) -> Signal:
    until = signal.until if signal.lasts is None else _by(signal.until, signal.lasts, now)
    return replace(signal, since=min(signal.since, now), until=until)


def _begun(at: Instant | None, now: Instant) -> Instant | None:
    return None if at is None else min(at, now)


def _by(until: Instant, length: Seconds, now: Instant) -> Instant:
    return min(until, Instant(now + length))
