"""A plan member by member: the line of steps of each, and what is told of them. Pure."""

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
    NoteReturn,
    NoteSeat,
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
    | NoteSeat
    | Forget
)
"""Steps that only change what we remember."""

UNTOLD = (NoteAbsence, NotePresence, NoteSeat)
"""What a look showed, of which nothing follows: not worth a line of history."""

Line = Sequence[tuple[MemberName, Step]]
"""Steps of one member, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedCall:
    """A call that is written down and about to be made."""

    line: int
    """Of the journal."""
    name: MemberName
    step: Step
    started: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStep:
    """A call that is written down as begun, whose end was never written down."""

    line: int
    """Of the journal."""
    call: str
    """As history names the step."""
    member: MemberName | None
    at: Instant


def closing(step: OpenStep, world: World) -> tuple[StepResult, str] | None:
    """Say what became of a call during which the daemon ended; ``None``: this look does not show it yet.

    Only what makes or removes a machine can be told from a look. Whatever else is still to do is planned anew.
    """
    member = next((each for each in world.members if each.name == step.member), None)
    ended = "the daemon ended during this call"
    match step.call:
        case "create" if member is not None:
            if member.server is not None or (member.record is not None and member.record.made_at is not None):
                return StepResult.DONE, f"found: {ended}, and the machine was made"
            disproved = member.disproved and world.complete
            return (StepResult.RETRY, f"disproved: {ended}, and no machine was made") if disproved else None
        case "destroy" if member is None:
            return StepResult.DONE, f"found: {ended}, and the machine is gone"
        case "destroy" if member is not None and member.server is None:
            return (StepResult.DONE, f"found: {ended}, and the machine is gone") if member.disproved else None
        case _:
            return StepResult.RETRY, f"unknown: {ended}; what is still to do is planned again"


def parted(lines: Iterable[Line]) -> tuple[list[tuple[MemberName, Notice]], list[Line]]:
    """Part the members of whom things are only written down from those for whom calls are made."""
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
    """Name the balancers that lines change, in one order for everybody."""
    return sorted({step.balancer for line in lines for _, step in line if isinstance(step, BalancerCall)})


def head(line: Line, balancer: BalancerId) -> Line:
    """Take from a line what it begins with, as far as that is all at one balancer."""
    return [*takewhile(lambda each: isinstance(each[1], BalancerCall) and each[1].balancer == balancer, line)]


def done(name: MemberName, step: Step, started: Instant, ended: Instant) -> StepOutcome:
    """Say that a step is done."""
    return StepOutcome(
        step=step, member=name, result=StepResult.DONE, because="", started_at=started, finished_at=ended
    )


def failed(outcome: StepOutcome, failure: CallFailure, error: DriverError, *, final: bool) -> StepOutcome:
    """Say that it was not, and when it is tried again: never, if it is ``final``."""
    known = understood(error)
    worn_out = failure.result is StepResult.FAILED and failure.attempt is not None
    return replace(
        outcome,
        result=failure.result,
        because=f"{known.words} ({LIMIT} attempts failed, and it is still tried)" if worn_out else known.words,
        cause=known.cause,
        attempt=failure.attempt,
        retry_after=None if final else failure.again_in,
    )


def told(step: Notice) -> str:
    """What history says of a step without a call, besides its name."""
    match step:
        case MarkLeaving(why=why, because=because):
            return f"{why.value}: {because}" if because else why.value
        case Detach(balancer=balancer):
            return balancer
        case NoteHealth(failing=failing):
            return "failing" if failing else "not failing"
        case _:
            return ""
