"""Compute the status of a group for people from what the daemon keeps in memory. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from collector.outages.misses import UNBELIEVED, whose
from collector.outages.outages import Channel, silent_since
from config.model.catalogue import Mode
from config.units import Instant, MemberName
from handler.planning.rolling import Rolled, rolled
from handler.planning.rolls import RollState
from handler.planning.status import (
    GroupCondition,
    GroupOutline,
    GroupStatus,
    MemberState,
    MemberStatus,
    RollbackStatus,
    RollStatus,
)
from handler.planning.world import Member
from handler.runtime.group_runtime import GroupRuntime, LastPass
from trigger.guards.outdated_requests import say_older
from trigger.policies.manual_freezes import manual_freezes
from trigger.reasons import Reason
from trigger.requests import Pause

_IN_A_ROW = 3
"""Failed creations before the status reports that all of them fail: a single one may fail by chance."""
_NAMED = 5
"""Members that a message names; the rest are in the member list."""


def status_of(runtime: GroupRuntime, now: Instant) -> GroupStatus:
    """One group as it is now."""
    group, state, explained = runtime.definition.group, runtime.state, runtime.explained
    messages = messages_of(runtime, now)
    minimum, maximum = runtime.bounds(now)
    return GroupStatus(
        group=runtime.id,
        condition=condition_of(runtime, now),
        messages=messages,
        mode=group.mode,
        pause=state.pause,
        fleet_pause=state.fleet_pause,
        desired=state.desired,
        minimum=minimum,
        maximum=maximum,
        forced=state.forced,
        revision=state.revision,
        members=members_of(runtime, now),
        reason=reason_of(runtime),
        policies={policy.policy: policy.reason for policy in explained.policies} if explained else {},
        quiets=tuple(quiet for quiet in state.quiets if quiet.until > now),
        freezes=manual_freezes(state, now),
        queued=state.turn.queued,
        waits=runtime.seen.plan.waits if runtime.seen else (),
        quota=runtime.seen.plan.quota if runtime.seen else "",
        unbelieved=tuple(
            f"{whose(miss)} rejected: {miss.detail}" for miss in runtime.misses if miss.reply in UNBELIEVED
        ),
        budget=runtime.seen.plan.budget if runtime.seen else "",
        decided_at=runtime.decided_at,
        converged_at=runtime.converged_at,
        listed=runtime.seen.world.complete if runtime.seen else None,
        pending=runtime.is_pending,
        definition=runtime.stored().in_force,
        rollback=_rollback(runtime),
        old=progress_of(runtime).old,
        roll=roll_of(runtime),
        older_store=state.older,
        boot=runtime.times.boot,
        drain=runtime.times.drain,
    )


def outline_of(runtime: GroupRuntime, now: Instant) -> GroupOutline:
    """One group as it is now, its members only counted: a list of groups has no place for a hundred thousand."""
    minimum, maximum = runtime.bounds(now)
    return GroupOutline(
        group=runtime.id,
        condition=condition_of(runtime, now),
        messages=messages_of(runtime, now),
        mode=runtime.definition.group.mode,
        desired=runtime.state.desired,
        minimum=minimum,
        maximum=maximum,
        counts=None if runtime.seen is None else counts_of(runtime),
        reason=reason_of(runtime),
    )


def _rollback(runtime: GroupRuntime) -> RollbackStatus | None:
    pinned = runtime.pinned
    return None if pinned is None else RollbackStatus(revision=pinned.revision, at=pinned.at, by=pinned.by)


def progress_of(runtime: GroupRuntime) -> Rolled:
    """Return how many members use the current profile, as the last pass saw it."""
    seen = runtime.seen
    if seen is None:
        return Rolled(current=0, old=0, protected=())
    world = replace(seen.world, profile=runtime.definition.profile_digest)
    in_service = {name for name, state in seen.states.items() if state is MemberState.IN_SERVICE}
    return rolled(world, in_service, seen.plan.stuck)


def roll_of(runtime: GroupRuntime) -> RollStatus | None:
    """Return the group's last roll, and its progress."""
    roll = runtime.roll
    if roll is None:
        return None
    progress = progress_of(runtime)
    return RollStatus(
        state=roll.state,
        because=roll.because,
        target=roll.target,
        surge=str(roll.budgets.surge),
        unavailable=str(roll.budgets.unavailable),
        started_at=roll.started_at,
        by=roll.by,
        ended_at=roll.ended_at,
        done=progress.current,
        remaining=progress.remaining,
        protected=progress.protected,
        leaving=progress.leaving,
    )


def reason_of(runtime: GroupRuntime) -> Reason:
    """Return the reason of the last tick; before the first, why there was none."""
    if runtime.state.orphaned:
        return Reason.ORPHANED
    if runtime.explained is not None:
        return runtime.explained.reason
    return Reason.MODE_OFF if runtime.definition.group.mode is Mode.OFF else Reason.NOT_LISTED


def messages_of(runtime: GroupRuntime, now: Instant) -> tuple[str, ...]:
    """Return why a group is ERROR or WARNING, worst first."""
    named = [_channel_in_words(channel) for channel in runtime.unheard[:_NAMED]]
    unheard = ", ".join(named) + (" …" if len(runtime.unheard) > _NAMED else "")
    silent = (f"no data for more than ten intervals: {unheard}",) if runtime.unheard else ()
    lost = (f"no decisions are made, since they cannot be stored: {runtime.unrecorded}",) if runtime.unrecorded else ()
    seen = (*runtime.seen.failures, *runtime.seen.retries) if runtime.seen else ()
    older = (say_older(runtime.id, runtime.state.older),) if runtime.state.older is not None else ()
    return (
        *_in_quarantine(runtime),
        *older,
        *lost,
        *_down(runtime),
        *seen,
        *_held_back(runtime, now),
        *_spent(runtime),
        *_halted(runtime),
        *silent,
    )


def _in_quarantine(runtime: GroupRuntime) -> tuple[str, ...]:
    """Return why a group's declaration over the API is not in force."""
    if not runtime.quarantined:
        return ()
    how = "its members are kept and nothing is evaluated until the declaration is changed over the API"
    return (f"quarantined: {runtime.quarantined}; {how}",)


def _spent(runtime: GroupRuntime) -> tuple[str, ...]:
    """Return which hourly budget reduced or refused the last decision to grow."""
    explained = runtime.explained
    if explained is None or runtime.seen is None:
        return ()
    clamped = any(clamp.guard is Reason.BUDGET for answer in explained.answers for clamp in answer.clamps)
    if not clamped and Reason.BUDGET not in {explained.reason, *(policy.reason for policy in explained.policies)}:
        return ()
    return (
        f"the growth that policies request is limited: {runtime.seen.hourly}; if that is too few, raise it in the file",
    )


def _down(runtime: GroupRuntime) -> tuple[str, ...]:
    """Return that no member is in service and none can be created; nothing while a member serves or is coming."""
    seen, size = runtime.seen, runtime.state.desired
    acting = runtime.definition.group.mode is Mode.ACT and runtime.state.stopped is not Pause.ALL
    if seen is None or not size or not acting or not seen.world.complete or seen.fleet.in_service or seen.failures:
        return ()  # failures are messages already
    why = _cannot_make(runtime, seen)
    return (f"0 of {size} members are in service, and {why}",) if why else ()


def _cannot_make(runtime: GroupRuntime, seen: LastPass) -> str:
    """Return why no member can be created; empty: no reason is known."""
    if runtime.builds.failed:
        return (
            f"the last {runtime.builds.failed} builds failed" if runtime.builds.failed > 1 else "the last build failed"
        )
    if any(member.server is not None for member in seen.world.members):
        return ""
    attempts = [member.record.create_attempts for member in seen.world.members if member.record is not None]
    if min(attempts, default=0) >= _IN_A_ROW:
        return "every creation fails"
    return "the cloud has no room for one" if seen.plan.quota else ""


def _halted(runtime: GroupRuntime) -> tuple[str, ...]:
    """Return why a roll stopped by itself, until a person decides."""
    if runtime.roll is None or runtime.roll.state is not RollState.HALTED:
        return ()
    how = f"to continue: trimtab roll {runtime.id}; to go back: trimtab rollback {runtime.id}"
    return (f"the roll has stopped: {runtime.roll.because}; {how}",)


def _channel_in_words(channel: Channel) -> str:
    return channel.source if channel.member is None else f"{channel.member} ({channel.source})"


def _held_back(runtime: GroupRuntime, now: Instant) -> tuple[str, ...]:
    """Return how many builds failed, during the back-off that follows."""
    until = runtime.builds.back_off_until
    if until is None or until <= now:
        return ()
    at = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%d %H:%M:%S")
    how = f"to end this now: correct the profile, or trimtab converge {runtime.id}"
    return (f"{runtime.builds.failed} builds failed in a row: no member is created before {at} UTC; {how}",)


def condition_of(runtime: GroupRuntime, now: Instant) -> GroupCondition:
    """Return the state of a group, worst first.

    A group in mode ``advise`` or ``off`` is never SCALING, and needs no desired size.
    """
    acting = runtime.definition.group.mode is Mode.ACT
    unlisted = runtime.seen is None or (runtime.state.desired is None and (acting or not runtime.seen.world.complete))
    checks = (
        (runtime.deleting, GroupCondition.DELETING),
        (bool(runtime.quarantined), GroupCondition.ERROR),
        (runtime.state.orphaned, GroupCondition.ORPHANED),
        (_is_in_error(runtime), GroupCondition.ERROR),
        (bool(messages_of(runtime, now)), GroupCondition.WARNING),
        (runtime.state.stopped is not Pause.NO, GroupCondition.PAUSED),
        (unlisted, GroupCondition.STARTING),
        (acting and not _is_as_desired(runtime), GroupCondition.SCALING),
        (any(quiet.until > now for quiet in runtime.state.quiets), GroupCondition.COOLDOWN),
    )
    return next((condition for holds, condition in checks if holds), GroupCondition.RUNNING)


def _is_in_error(runtime: GroupRuntime) -> bool:
    failed = runtime.seen is not None and bool(runtime.seen.failures)
    return runtime.unrecorded is not None or failed or runtime.state.older is not None or bool(_down(runtime))


def _is_as_desired(runtime: GroupRuntime) -> bool:
    seen = runtime.seen
    return seen is not None and seen.plan.converged and seen.fleet.in_service == runtime.state.desired


def members_of(runtime: GroupRuntime, now: Instant) -> tuple[MemberStatus, ...]:
    """Return every member as the last pass saw it, oldest first."""
    if runtime.seen is None:
        return ()
    seen, silent = runtime.seen, silent_since(runtime.silence)
    return tuple(_member(runtime, seen, member, silent, now) for member in seen.world.members)


def _member(
    runtime: GroupRuntime, seen: LastPass, member: Member, silent: Mapping[MemberName, Instant], now: Instant
) -> MemberStatus:
    record, server = member.record, member.server
    entered = record.in_service_at if record else None
    return MemberStatus(
        name=member.name,
        state=seen.states[member.name],
        address=server.address if server else runtime.addresses.get(member.name),
        since=record.intended_at if record else server.created_at if server else seen.at,
        state_since=runtime.begun[member.name].at if member.name in runtime.begun else seen.at,
        protected=record.protected if record else False,
        warming=entered is not None and now - entered < runtime.definition.group.warm_up,
        raw_state=server.raw_state if server else "not listed",
        unheard_since=silent.get(member.name),
        in_service_at=entered,
        unready=member.unready,
    )


def counts_of(runtime: GroupRuntime) -> dict[MemberState, int]:
    """Return the number of members in each state, every state present."""
    counts = Counter(runtime.seen.states.values() if runtime.seen else ())
    return {state: counts[state] for state in MemberState}
