"""Turn the answer to a call into the step's outcome and the member's new record. Pure.

======================================  ==============================================================================
the answer                              what the member's record says then
======================================  ==============================================================================
a machine                               the cloud has confirmed it
done                                    earlier failures are cleared
refused for good: a creation            the member will not exist; its parts, if any, are still to be removed
refused for good: a mark                the failure; the member is forgotten with its place, in one transaction
failed, and the removal is STUCK        the failure, counted as one attempt: the STUCK warning explains the rest
failed otherwise                        the failure, and when the call may be made again (`planning.attempts`)
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
"""``None``: done, without further information."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMoment:
    """Hold when an answer came, and what it is judged by."""

    at: Instant
    grace: Seconds
    """How long the group gives a member to stop."""
    frees_capacity: bool
    """A member is leaving the same cloud: a full cloud may have capacity soon."""


def answered(
    begun: StartedCall, record: Record, answer: Answer, moment: AnswerMoment
) -> tuple[StepOutcome, Record | None]:
    """Return the outcome of a call and its member's new record; ``None``: the record stays as it is."""
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
    failure = judged(step, record, error, frees_capacity=moment.frees_capacity)
    final = _is_for_good(step, error)
    result = failed(outcome, failure, error, final=final)
    if final and not isinstance(step, MarkMachine):
        return result, unmade(record, moment.at)
    after = _counted(result, record, failure, moment)
    if is_stuck(after, moment.grace, moment.at):
        limited = replace(failure, result=StepResult.LIMITED)
        return replace(result, result=StepResult.LIMITED), _counted(result, record, limited, moment)
    return result, after


def _is_for_good(step: Step, error: DriverError) -> bool:
    """Return whether the member can never be created; a full cloud may have capacity later, so it does not count."""
    return (
        isinstance(step, Create | MakePart | MarkMachine)
        and isinstance(error, Permanent)
        and not isinstance(error, Full)
    )


def _counted(result: StepOutcome, record: Record, failure: CallFailure, moment: AnswerMoment) -> Record:
    return counted(result.step, record, failure, result.because, moment.at, result.cause)
