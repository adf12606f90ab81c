"""Decide when the next pass is due, and how long to back off after failed builds. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from config.units import Instant, MemberName, Seconds
from handler.planning.desired import Builds, Limits
from handler.planning.step_outcomes import StepOutcome, StepResult
from handler.planning.steps import (
    Create,
    Destroy,
    EnterService,
    Forget,
    MakePart,
    MarkLeaving,
    NoteAbsence,
    NoteHealth,
    NotePresence,
    NoteRegistration,
    NoteReturn,
    Plan,
    RemovePart,
    Unmark,
    Wait,
)
from handler.planning.world import Leaving, Phase, Record, World

_SOON: Seconds = 0.2
"""After progress: at once, but never in a tight loop behind a driver that answers *done* and does nothing."""

_AFTER_FAILURE: Seconds = 30.0

_PACE: dict[Wait, Seconds | None] = {
    Wait.BUILDING: 2.0,
    Wait.PASSING: 5.0,
    Wait.NOT_READY: 1.0,
    Wait.DRAINING: 1.0,
    Wait.DELETING: 1.0,
    Wait.RELEASING: 1.0,
    Wait.UNCONFIRMED: 5.0,
    Wait.PARTIAL: 5.0,
    Wait.DISTRUST: 5.0,
    Wait.BALANCER_UNKNOWN: 2.0,
    Wait.BALANCER_NOT_FOUND: 5.0,
    Wait.VANISHED: 1.0,
    Wait.MANY_VANISHED: 30.0,
    Wait.RETURNING: 5.0,
    Wait.UNREPAIRED: None,
    Wait.FAILING: 5.0,
    Wait.MANY_FAILING: 10.0,
    Wait.BALANCER_BUSY: 0.5,
    Wait.BACK_OFF: 30.0,
    Wait.RATE_LIMIT: 1.0,
    Wait.FULL: 10.0,
    Wait.QUOTA: 10.0,
    Wait.ENOUGH: _SOON,
    Wait.BUDGET: 30.0,
    Wait.BUILD_BACK_OFF: 30.0,
    Wait.PROTECTED: None,
    Wait.ROLLING: None,
    Wait.OLDER_STORE: None,
    Wait.NO_DESIRED: 5.0,
    Wait.PAUSED: None,
}
"""After how long each wait is checked again; ``None``: other passes notice its end, or only a person ends it."""

_IDLE_STEPS = (NoteAbsence, NotePresence, NoteHealth, NoteReturn, NoteRegistration, Destroy, RemovePart, Unmark)
"""Steps after whose success nothing is due at once."""

_TOLERATED = 2
"""Builds that may fail in a row without a pause."""
_BACK_OFF_FIRST: Seconds = 30.0
LONGEST_BACK_OFF: Seconds = 900.0
_DOUBLINGS = 5  # 30 s × 2⁵ is past the last

_UNBUILT = frozenset({Leaving.BROKEN, Leaving.BUILD_TIMEOUT, Leaving.NOT_READY})


def next_in(plan: Plan, outcomes: Sequence[StepOutcome], builds: Builds, now: Instant) -> Seconds | None:
    """Return in how many seconds the next pass is due; ``None``: nothing is waited for.

    Progress, waits and failed calls each have a pace of their own, and the soonest counts: the failure of one member
    delays no other member.
    """
    paces = [_pace(wait, plan, builds, now) for wait, _ in plan.waits]
    paces += [_after(outcome) for outcome in outcomes]
    return min((pace for pace in paces if pace is not None), default=None)


def _pace(wait: Wait, plan: Plan, builds: Builds, now: Instant) -> Seconds | None:
    if wait is Wait.BUILD_BACK_OFF and builds.back_off_until is not None:
        return max(builds.back_off_until - now, _SOON)
    if wait is Wait.BACK_OFF and plan.held:
        return max(min(one.again_at for one in plan.held) - now, _SOON)
    return _PACE[wait]


def _after(outcome: StepOutcome) -> Seconds | None:
    if outcome.result is StepResult.DONE:
        return None if isinstance(outcome.step, _IDLE_STEPS) else _SOON
    return _AFTER_FAILURE if outcome.retry_after is None else max(outcome.retry_after, _SOON)


def builds_after(before: Builds, outcomes: Iterable[StepOutcome], world: World, limits: Limits, now: Instant) -> Builds:
    """Count the builds that failed in a pass. A member that enters service resets the count.

    A failed build was refused by the cloud or given up, or its machine broke, timed out, never got ready, or vanished
    before it served.
    """
    every = list(outcomes)
    if any(isinstance(outcome.step, EnterService) and outcome.result is StepResult.DONE for outcome in every):
        return Builds(of=before.of)
    records = {member.name: member.record for member in world.members}
    failed = sum(_is_failed_build(outcome, records, limits) for outcome in every)
    if not failed:
        return before
    row = before.failed + failed
    return Builds(failed=row, back_off_until=back_off_until(row, now), of=before.of)


def back_off_until(failed: int, now: Instant) -> Instant | None:
    """Return until when no member is created after so many failed builds in a row: 30 s (third) to 15 min."""
    if failed <= _TOLERATED:
        return None
    doublings = min(failed - _TOLERATED - 1, _DOUBLINGS)
    return Instant(now + min(_BACK_OFF_FIRST * 2.0**doublings, LONGEST_BACK_OFF))


def _is_failed_build(outcome: StepOutcome, records: dict[MemberName, Record | None], limits: Limits) -> bool:
    if isinstance(outcome.step, Create | MakePart):
        return outcome.result is StepResult.FAILED and outcome.retry_after is None  # else its intent is still open
    record = None if outcome.member is None else records.get(outcome.member)
    if outcome.result is not StepResult.DONE or record is None or record.in_service_at is not None:
        return False
    match outcome.step:
        case MarkLeaving(why=why):
            return why in _UNBUILT
        case Forget():
            given_up = record.phase is Phase.INTENDED and record.create_attempts >= limits.create_attempts
            return given_up or record.phase is Phase.MADE
        case _:
            return False
