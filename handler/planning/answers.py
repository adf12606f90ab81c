"""What follows from the answer to a call: what is told of it, and what is written down about its member. Pure.

======================================  ==============================================================================
the answer                              what is written down about the member
======================================  ==============================================================================
a machine                               the cloud has confirmed it
done                                    what failed before is forgotten
refused for good: what makes a member   it will not be: nothing of it exists, or its parts have yet to go
refused for good: a mark                the failure; the member is forgotten with its place, in one transaction
failed, and the removal is STUCK        the failure, as one of an attempt: the warning of a STUCK removal says the rest
failed otherwise                        the failure, and until when the call is not made again (`planning.attempts`)
======================================  ==============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from config.errors import DriverError, Full, Permanent
from config.units import Instant, Seconds
from handler.planning.attempts import CallFailure, counted, judged, succeeded
from handler.planning.member_plans import StartedCall, done, failed
from handler.planning.records import made, unmade
from handler.planning.removals import is_stuck
from handler.planning.step_outcomes import StepOutcome, StepResult
from handler.planning.steps import Create, MakePart, MarkMachine, Step
from handler.planning.world import Record, Server

Answer = Server | DriverError | None
"""``None``: done, and there is nothing more to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMoment:
    """When an answer came, and what matters then."""

    at: Instant
    grace: Seconds
    """How long the group gives a member to end."""
    room_comes: bool
    """A member leaves the same cloud: one that is full may have room soon."""


def answered(
    begun: StartedCall, record: Record, answer: Answer, moment: AnswerMoment
) -> tuple[StepOutcome, Record | None]:
    """Say what became of a call, and what its member's record becomes; ``None``: it stays as it is."""
    outcome = done(begun.name, begun.step, begun.started, moment.at)
    match answer:
        case Server():
            return outcome, made(record, answer, moment.at)
        case None:
            return outcome, succeeded(begun.step, record, moment.grace, moment.at)
        case DriverError():
            return _refused(outcome, begun.step, record, answer, moment)
        case _:
            assert_never(answer)


def _refused(
    outcome: StepOutcome, step: Step, record: Record, error: DriverError, moment: AnswerMoment
) -> tuple[StepOutcome, Record]:
    failure = judged(step, record, error, room_comes=moment.room_comes)
    final = _is_for_good(step, error)
    told = failed(outcome, failure, error, final=final)
    if final and not isinstance(step, MarkMachine):
        return told, unmade(record, moment.at)
    after = _counted(told, record, failure, moment)
    if is_stuck(after, moment.grace, moment.at):
        limited = replace(failure, result=StepResult.LIMITED)
        return replace(told, result=StepResult.LIMITED), _counted(told, record, limited, moment)
    return told, after


def _is_for_good(step: Step, error: DriverError) -> bool:
    """Whether a member ends before it began: a cloud that is full may have room later, and refuses nobody for good."""
    return (
        isinstance(step, Create | MakePart | MarkMachine)
        and isinstance(error, Permanent)
        and not isinstance(error, Full)
    )


def _counted(told: StepOutcome, record: Record, failure: CallFailure, moment: AnswerMoment) -> Record:
    return counted(told.step, record, failure, told.because, moment.at, told.cause)
