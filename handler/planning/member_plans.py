"""Split a plan by member: the steps of each, and their outcomes in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from config.errors import DriverError
from config.units import BalancerId, Instant, MemberName
from handler.planning.attempts import LIMIT, CallFailure
from handler.planning.causes import understood
from handler.planning.step_outcomes import StepOutcome, StepResult
from handler.planning.steps import (
    BalancerCall,
    CloudCall,
    Confirm,
    Detach,
    EnterService,
    Forget,
    MarkLeaving,
    NoteAbsence,
    NoteHealth,
    NotePresence,
    NoteRegistration,
    NoteReturn,
    Step,
    TakeUp,
)
from handler.planning.world import World

Call = CloudCall | BalancerCall
"""Steps that change the world."""
Notice = (
    TakeUp
    | Confirm
    | EnterService
    | MarkLeaving
    | Detach
    | NoteAbsence
    | NotePresence
    | NoteHealth
    | NoteReturn
    | NoteRegistration
    | Forget
)
"""Steps that only change what we remember."""

UNRECORDED = (NoteAbsence, NotePresence, NoteRegistration)
"""Observations without consequences: they get no line of history."""

Line = Sequence[tuple[MemberName, Step]]
"""Steps of one member, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedCall:
    """A call that is recorded and about to be made."""

    line: int
    """Of the journal."""
    name: MemberName
    step: Step
    started: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStep:
    """A call that is recorded as begun, without a recorded end."""

    line: int
    """Of the journal."""
    call: str
    """As history names the step."""
    member: MemberName | None
    at: Instant


def closing(step: OpenStep, world: World) -> tuple[StepResult, str] | None:
    """Return the result of a call during which the daemon ended; ``None``: this world does not show it yet.

    Only the creation and removal of a machine can be seen in the world. Anything else still due is planned again.
    """
    member = next((each for each in world.members if each.name == step.member), None)
    ended = "the daemon ended during this call"
    match step.call:
        case "create" if member is not None:
            if member.server is not None or (member.record is not None and member.record.made_at is not None):
                return StepResult.DONE, f"found: {ended}, and the machine was created"
            disproved = member.disproved and world.complete
            return (StepResult.RETRY, f"disproved: {ended}, and no machine was created") if disproved else None
        case "destroy" if member is None:
            return StepResult.DONE, f"found: {ended}, and the machine is gone"
        case "destroy" if member is not None and member.server is None:
            return (StepResult.DONE, f"found: {ended}, and the machine is gone") if member.disproved else None
        case _:
            return StepResult.RETRY, f"unknown: {ended}; steps that are still due are planned again"


def parted(lines: Iterable[Line]) -> tuple[list[tuple[MemberName, Notice]], list[Line]]:
    """Separate the members with record changes only from those with calls."""
    noted: list[tuple[MemberName, Notice]] = []
    called: list[Line] = []
    for line in lines:
        notices = [(name, step) for name, step in line if isinstance(step, Notice)]
        if len(notices) == len(line):
            noted += notices
        else:
            called.append(line)
    return noted, called


def changed(lines: Iterable[Line]) -> list[BalancerId]:
    """Return the balancers that lines change, always in the same order."""
    return sorted({step.balancer for line in lines for _, step in line if isinstance(step, BalancerCall)})


def head(line: Line, balancer: BalancerId) -> Line:
    """Return the first steps of a line, as long as they are at this balancer."""
    return [*takewhile(lambda each: isinstance(each[1], BalancerCall) and each[1].balancer == balancer, line)]


def done(name: MemberName, step: Step, started: Instant, ended: Instant) -> StepOutcome:
    """Return the outcome of a step that succeeded."""
    return StepOutcome(
        step=step, member=name, result=StepResult.DONE, because="", started_at=started, finished_at=ended
    )


def failed(outcome: StepOutcome, failure: CallFailure, error: DriverError, *, final: bool) -> StepOutcome:
    """Return the outcome of a step that failed, and when it is tried again: never, if ``final``."""
    known = understood(error)
    worn_out = failure.result is StepResult.FAILED and failure.attempt is not None
    return replace(
        outcome,
        result=failure.result,
        because=f"{known.words} ({LIMIT} attempts failed; retries go on)" if worn_out else known.words,
        cause=known.cause,
        attempt=failure.attempt,
        retry_after=None if final else failure.again_in,
    )


def history_detail(step: Notice) -> str:
    """Return the detail that history shows for a step without a call, besides its name."""
    match step:
        case MarkLeaving(why=why, because=because):
            return f"{why.value}: {because}" if because else why.value
        case Detach(balancer=balancer):
            return balancer
        case NoteHealth(failing=failing):
            return "failing" if failing else "not failing"
        case _:
            return ""
