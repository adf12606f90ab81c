"""Decide what follows from a call that failed, and when it may be made again. Pure.

==================================================  =========  =======  ============================================
the answer                                          result     counted  again
==================================================  =========  =======  ============================================
the cloud asks for time                             `RETRY`    no       after that time
nothing was sent: the endpoint is down or busy      `RETRY`    no       when the endpoint is tried again
the cloud is full, and a member is leaving          `RETRY`    no       after 10 s: there may be capacity by then
the cloud is full, and no member is leaving         `FAILED`   no       after 30 s
transient, for less than `LIMIT` times in a row     `LIMITED`  yes      after 1 s, doubling up to 30 s
no answer to a creation that may have arrived       `LIMITED`  yes      after 30 s: it is looked for by name until then
transient, `LIMIT` times in a row and more          `FAILED`   yes      after 30 s, doubling up to 5 min
permanent                                           `FAILED`   yes      as above; what a person changes is found then
==================================================  =========  =======  ============================================
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from config.causes import FailureCause
from config.errors import DriverError, Full, Permanent, Transient, Unanswered, Unsent
from config.units import BalancerId, Instant, Seconds
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import (
    KINDS,
    CloudCall,
    Create,
    Destroy,
    MakePart,
    MarkMachine,
    PartStep,
    ReleasePart,
    RemovePart,
    Step,
    Unmark,
)
from handler.planning.world import Attempts, Phase, Record

LIMIT = 10
"""Transient failures in a row of one call for one member, after which it is shown as an error. Retries go on: the cause
may clear."""

_FIRST: Seconds = 1.0
_LAST: Seconds = 30.0
LONGEST_PAUSE: Seconds = 300.0
_UNTIL_FREE: Seconds = 10.0
_LEAST_GRACE: Seconds = 30.0
_DOUBLINGS = 5  # 1 s × 2⁵ is past the last


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFailure:
    """Hold the result of a failed call, and when it may be made again."""

    result: StepResult
    again_in: Seconds
    attempt: int | None = None
    """Which of the limited attempts; ``None``: it is none of them."""
    counts: bool = True
    """It is a failure of this call, and not of the moment."""


def judged(step: Step, record: Record, error: DriverError, *, frees_capacity: bool = False) -> CallFailure:
    """Return the result of a call that failed for the member with this record.

    ``frees_capacity``: a member is leaving the same cloud.
    """
    before = found(step, record)
    count = 0 if before is None else before.count
    if isinstance(error, Full):
        result = StepResult.RETRY if frees_capacity else StepResult.FAILED
        return CallFailure(result=result, again_in=_UNTIL_FREE if frees_capacity else _LAST, counts=False)
    if isinstance(error, Permanent):
        return CallFailure(result=StepResult.FAILED, again_in=_long(count))
    asked = error.retry_after if isinstance(error, Transient) else None
    if asked is not None and (isinstance(step, CloudCall) or isinstance(error, Unsent)):
        return CallFailure(result=StepResult.RETRY, again_in=asked, counts=False)
    attempt = count + 1
    if attempt >= LIMIT:
        return CallFailure(
            result=StepResult.FAILED, again_in=max(asked or 0.0, _long(attempt - LIMIT)), attempt=attempt
        )
    may_be_made = isinstance(error, Unanswered) and isinstance(step, Create | MakePart)
    again = _LAST if may_be_made else min(_FIRST * 2.0 ** min(count, _DOUBLINGS), _LAST)
    return CallFailure(result=StepResult.LIMITED, again_in=max(asked or 0.0, again), attempt=attempt)


def _long(doublings: int) -> Seconds:
    return min(_LAST * 2.0 ** min(doublings, _DOUBLINGS), LONGEST_PAUSE)


def counted(
    step: Step, record: Record, failure: CallFailure, because: str, now: Instant, cause: FailureCause | None = None
) -> Record:
    """Return the record with the failure of a call, and the time from which the call may be made again."""
    before = found(step, record)
    updated = Attempts(
        call=_call(step),
        balancer=_balancer(step),
        count=(0 if before is None else before.count) + failure.counts,
        again_at=Instant(now + failure.again_in),
        failed=failure.result is StepResult.FAILED,
        because=because,
        cause=cause,
    )
    after = replace(record, attempts=(*_others(step, record), updated))
    if not failure.counts:
        return after
    match step:
        case Create() | MarkMachine() | MakePart():
            return _unmade_once(after)
        case RemovePart() if record.phase is Phase.INTENDED:
            return _unmade_once(replace(after, destroy_attempts=record.destroy_attempts + 1))
        case Destroy() | Unmark() | RemovePart() | ReleasePart():
            return replace(after, destroy_attempts=record.destroy_attempts + 1)
        case _:
            return after


def succeeded(step: Step, record: Record, grace: Seconds, now: Instant) -> Record | None:
    """Return the record without earlier failures of this call; ``None``: there were none.

    An accepted removal is not repeated while the machine still has its grace, or a listing still shows it. The removal
    of a part before its machine existed counts as a failed attempt to create the member.
    """
    if isinstance(step, Destroy):
        updated = Attempts(call=KINDS[Destroy], count=0, again_at=Instant(now + max(grace, _LEAST_GRACE)))
        return replace(record, attempts=(*_others(step, record), updated))
    after = replace(record, attempts=tuple(_others(step, record)))
    if isinstance(step, RemovePart) and record.phase is Phase.INTENDED:
        return _unmade_once(after)
    return None if found(step, record) is None else after


def _unmade_once(record: Record) -> Record:
    """Count a failed attempt to create a member."""
    return replace(record, create_attempts=record.create_attempts + 1)


def held(step: Step, record: Record, now: Instant) -> Attempts | None:
    """Return the failures because of which a call may not be made yet; ``None``: it may."""
    before = found(step, record) if record.attempts else None
    return None if before is None or before.again_at <= now else before


def found(step: Step, record: Record) -> Attempts | None:
    """Return the recorded failures of this call."""
    return next((one for one in record.attempts if _is_of(one, step)), None)


def _others(step: Step, record: Record) -> Iterator[Attempts]:
    return (one for one in record.attempts if not _is_of(one, step))


def _is_of(one: Attempts, step: Step) -> bool:
    return (one.call, one.balancer) == (_call(step), _balancer(step))


def _call(step: Step) -> str:
    """Return the name of the call, and of the part of the member where there is one."""
    name = KINDS[type(step)]
    return f"{name} {step.part}" if isinstance(step, PartStep) else name


def _balancer(step: Step) -> BalancerId | None:
    found: BalancerId | None = getattr(step, "balancer", None)
    return found
