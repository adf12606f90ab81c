"""Compute the status of a group for people from what the daemon keeps in memory. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from collector.outages.misses import UNBELIEVED, whose
from collector.outages.outages import Channel, silent_since
from config.model.catalogue import Mode
from config.units import Instant, MemberName
from handler.planning.rolling import Rolled, rolled
from handler.planning.rolls import RollState
from handler.planning.status import GroupCondition, GroupStatus, MemberState, MemberStatus, RollbackStatus, RollStatus
from handler.planning.world import Member
from handler.runtime.group_runtime import GroupRuntime, LastPass
from trigger.guards.outdated_requests import say_older
from trigger.reasons import Reason
from trigger.requests import Pause

_IN_A_ROW = 3
"""Failed creations before the status reports that all of them fail: a single one may fail by chance."""
_NAMED = 5
"""Members that a message names; the rest are in the member list."""


def status_of(room: GroupRuntime, now: Instant) -> GroupStatus:
    """One group as it is now."""
    group, state, explanation = room.definition.group, room.state, room.explanation
    messages = messages_of(room, now)
    minimum, maximum = room.bounds(now)
    return GroupStatus(
        group=room.id,
        condition=condition_of(room, now),
        messages=messages,
        mode=group.mode,
        pause=state.pause,
        fleet_pause=state.fleet_pause,
        desired=state.desired,
        minimum=minimum,
        maximum=maximum,
        forced=state.forced,
        revision=state.revision,
        members=members_of(room, now),
        reason=reason_of(room),
        policies={policy.policy: policy.reason for policy in explanation.policies} if explanation else {},
        quiets=tuple(quiet for quiet in state.quiets if quiet.until > now),
        queued=state.turn.queued,
        waits=room.seen.plan.waits if room.seen else (),
        quota=room.seen.plan.quota if room.seen else "",
        unbelieved=tuple(f"{whose(miss)} rejected: {miss.said}" for miss in room.misses if miss.reply in UNBELIEVED),
        budget=room.seen.plan.budget if room.seen else "",
        decided_at=room.decided_at,
        converged_at=room.converged_at,
        listed=room.seen.world.complete if room.seen else None,
        pending=room.is_pending,
        definition=room.stored().in_force,
        rollback=_rollback(room),
        old=progress_of(room).old,
        roll=roll_of(room),
        older_store=state.older,
    )


def _rollback(room: GroupRuntime) -> RollbackStatus | None:
    pinned = room.pinned
    return None if pinned is None else RollbackStatus(revision=pinned.revision, at=pinned.at, by=pinned.by)


def progress_of(room: GroupRuntime) -> Rolled:
    """Return how many members use the current profile, as the last pass saw it."""
    seen = room.seen
    if seen is None:
        return Rolled(current=0, old=0, protected=())
    world = replace(seen.world, profile=room.definition.profile_digest)
    in_service = {name for name, state in seen.states.items() if state is MemberState.IN_SERVICE}
    return rolled(world, in_service, seen.plan.stuck)


def roll_of(room: GroupRuntime) -> RollStatus | None:
    """Return the group's last roll, and its progress."""
    roll = room.roll
    if roll is None:
        return None
    progress = progress_of(room)
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


def reason_of(room: GroupRuntime) -> Reason:
    """Return the reason of the last tick; before the first, why there was none."""
    if room.state.orphaned:
        return Reason.ORPHANED
    if room.explanation is not None:
        return room.explanation.reason
    return Reason.MODE_OFF if room.definition.group.mode is Mode.OFF else Reason.NOT_LISTED


def messages_of(room: GroupRuntime, now: Instant) -> tuple[str, ...]:
    """Return why a group is ERROR or WARNING, worst first."""
    named = [_channel_in_words(channel) for channel in room.unheard[:_NAMED]]
    unheard = ", ".join(named) + (" …" if len(room.unheard) > _NAMED else "")
    silent = (f"no data for more than ten intervals: {unheard}",) if room.unheard else ()
    lost = (f"no decisions are made, since they cannot be stored: {room.unrecorded}",) if room.unrecorded else ()
    seen = (*room.seen.failures, *room.seen.retries) if room.seen else ()
    older = (say_older(room.id, room.state.older),) if room.state.older is not None else ()
    return (*older, *lost, *_down(room), *seen, *_held_back(room, now), *_spent(room), *_halted(room), *silent)


def _spent(room: GroupRuntime) -> tuple[str, ...]:
    """Return which hourly budget reduced or refused the last decision to grow."""
    explanation = room.explanation
    if explanation is None or room.seen is None:
        return ()
    clamped = any(clamp.guard is Reason.BUDGET for answer in explanation.answers for clamp in answer.clamps)
    if not clamped and Reason.BUDGET not in {explanation.reason, *(policy.reason for policy in explanation.policies)}:
        return ()
    return (
        f"the growth that policies request is limited: {room.seen.hourly}; if that is too few, raise it in the file",
    )


def _down(room: GroupRuntime) -> tuple[str, ...]:
    """Return that no member is in service and none can be created; nothing while a member serves or is coming."""
    seen, size = room.seen, room.state.desired
    acting = room.definition.group.mode is Mode.ACT and room.state.stopped is not Pause.ALL
    if seen is None or not size or not acting or not seen.world.complete or seen.fleet.in_service or seen.failures:
        return ()  # failures are messages already
    why = _cannot_make(room, seen)
    return (f"0 of {size} members are in service, and {why}",) if why else ()


def _cannot_make(room: GroupRuntime, seen: LastPass) -> str:
    """Return why no member can be created; empty: no reason is known."""
    if room.builds.failed:
        return f"the last {room.builds.failed} builds failed" if room.builds.failed > 1 else "the last build failed"
    if any(member.server is not None for member in seen.world.members):
        return ""
    attempts = [member.record.create_attempts for member in seen.world.members if member.record is not None]
    if min(attempts, default=0) >= _IN_A_ROW:
        return "every creation fails"
    return "the cloud has no room for one" if seen.plan.quota else ""


def _halted(room: GroupRuntime) -> tuple[str, ...]:
    """Return why a roll stopped by itself, until a person decides."""
    if room.roll is None or room.roll.state is not RollState.HALTED:
        return ()
    how = f"to continue: trimtab roll {room.id}; to go back: trimtab rollback {room.id}"
    return (f"the roll has stopped: {room.roll.because}; {how}",)


def _channel_in_words(channel: Channel) -> str:
    return channel.source if channel.member is None else f"{channel.member} ({channel.source})"


def _held_back(room: GroupRuntime, now: Instant) -> tuple[str, ...]:
    """Return how many builds failed, during the back-off that follows."""
    until = room.builds.back_off_until
    if until is None or until <= now:
        return ()
    at = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%d %H:%M:%S")
    how = f"to end this now: correct the profile, or trimtab converge {room.id}"
    return (f"{room.builds.failed} builds failed in a row: no member is created before {at} UTC; {how}",)


def condition_of(room: GroupRuntime, now: Instant) -> GroupCondition:
    """Return the state of a group, worst first.

    A group in mode ``advise`` or ``off`` is never SCALING, and needs no desired size.
    """
    acting = room.definition.group.mode is Mode.ACT
    unlisted = room.seen is None or (room.state.desired is None and (acting or not room.seen.world.complete))
    checks = (
        (room.deleting, GroupCondition.DELETING),
        (room.state.orphaned, GroupCondition.ORPHANED),
        (_is_in_error(room), GroupCondition.ERROR),
        (bool(messages_of(room, now)), GroupCondition.WARNING),
        (room.state.stopped is not Pause.NO, GroupCondition.PAUSED),
        (unlisted, GroupCondition.STARTING),
        (acting and not _is_as_desired(room), GroupCondition.SCALING),
        (any(quiet.until > now for quiet in room.state.quiets), GroupCondition.COOLDOWN),
    )
    return next((condition for holds, condition in checks if holds), GroupCondition.RUNNING)


def _is_in_error(room: GroupRuntime) -> bool:
    failed = room.seen is not None and bool(room.seen.failures)
    return room.unrecorded is not None or failed or room.state.older is not None or bool(_down(room))


def _is_as_desired(room: GroupRuntime) -> bool:
    seen = room.seen
    return seen is not None and seen.plan.converged and seen.fleet.in_service == room.state.desired


def members_of(room: GroupRuntime, now: Instant) -> tuple[MemberStatus, ...]:
    """Return every member as the last pass saw it, oldest first."""
    if room.seen is None:
        return ()
    seen, silent = room.seen, silent_since(room.silence)
    return tuple(_member(room, seen, member, silent, now) for member in seen.world.members)


def _member(
    room: GroupRuntime, seen: LastPass, member: Member, silent: Mapping[MemberName, Instant], now: Instant
) -> MemberStatus:
    record, server = member.record, member.server
    entered = record.in_service_at if record else None
    return MemberStatus(
        name=member.name,
        state=seen.states[member.name],
        address=server.address if server else room.addresses.get(member.name),
        since=record.intended_at if record else server.created_at if server else seen.at,
        state_since=room.begun[member.name].at if member.name in room.begun else seen.at,
        protected=record.protected if record else False,
        warming=entered is not None and now - entered < room.definition.group.warm_up,
        raw_state=server.raw_state if server else "not listed",
        unheard_since=silent.get(member.name),
        in_service_at=entered,
        unready=member.unready,
    )


def counts_of(room: GroupRuntime) -> dict[MemberState, int]:
    """Return the number of members in each state, every state present."""
    counts = dict.fromkeys(MemberState, 0)
    for state in room.seen.states.values() if room.seen else ():
        counts[state] += 1
    return counts
