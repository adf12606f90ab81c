"""One decision on its way: the task that is asked for, and what was decided, as the store gets it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from config.model.catalogue import Group
from config.units import Moment, PolicyId
from handler.planning.world import Record
from handler.ports.stored import StoredTick
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.steady_ticks import SteadyState, UnchangedTick
from trigger.conditions.timers import Kept
from trigger.explain.explanation import Explanation
from trigger.explain.recorded_inputs import DecisionTrack, RecordedInputs
from trigger.explain.shapes import Story
from trigger.guards.turns import must_wait
from trigger.requests import Decision, Fleet, GroupState, Request
from trigger.verdicts import Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionTask:
    """One decision to make: on a tick's evaluation, on requests from outside, or on neither (a check of the bounds)."""

    runtime: GroupRuntime
    at: Moment
    requests: tuple[Request, ...] = ()
    evaluation: Evaluation | None = None
    judge: Callable[[Mapping[PolicyId, Kept], int | None], Evaluation] | None = None
    """Evaluates the same tick by other holds, at another desired size."""
    change: Callable[[GroupState], GroupState] | None = None
    """A change of the state by itself, such as lasting alerts: the decision is made on the state after it."""
    leaving: tuple[Record, ...] = ()
    """Records of the members that leave if a request lowers the size. No other writer may change them meanwhile.

    Such a request is carried out at once or not at all: it has no answer if it would have to wait for a turn.
    """
    joining: tuple[Record, ...] = ()
    """Intents of the members that are given to the group if a request raises the size. Likewise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingTask:
    """A task in the queue, and the answer that its caller waits for."""

    question: DecisionTask
    answer: asyncio.Future[Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedTask:
    """The decision on one task with all that follows from it; it counts once it is on disk."""

    waiting: WaitingTask
    evaluation: Evaluation | None
    """The tick's, by what held when it was decided."""
    holds: Mapping[PolicyId, Kept]
    """After the decision."""
    before: GroupState
    decision: Decision
    explanation: Explanation | None
    """``None``: it is that of ``unchanged``."""
    unchanged: UnchangedTick | None
    story: Story | None
    given: RecordedInputs | None
    track: DecisionTrack
    steady: SteadyState | None


def judged(question: DecisionTask, holds: Mapping[PolicyId, Kept], size: int | None) -> Evaluation | None:
    """Return the evaluation of a tick; made anew if a decision since has restarted holds, or changed the size."""
    made = question.evaluation
    if made is None or question.judge is None or (made.carried == holds and made.size == size):
        return made
    return question.judge(holds, size)


def at_once(question: DecisionTask, group: Group, fleet: Fleet) -> DecisionTask:
    """Return a task without the requests that would be kept for a turn, if members leave or join by them.

    A kept request is only a change of size: at its turn, other members would leave, and others would be made.
    """
    if not (question.leaving or question.joining):
        return question
    kept = tuple(request for request in question.requests if not must_wait(group, request, fleet))
    return replace(question, requests=kept)


def tick_of(result: DecidedTask, explanation: Explanation) -> StoredTick:
    """Return what the store writes of a decision, with the words of its tick."""
    decision = result.decision
    return StoredTick(
        group=decision.group,
        at=decision.at.wall,
        explanation=explanation,
        state=decision.state if decision.state != result.before else None,
        before=result.waiting.question.runtime.state,
        evaluated=result.waiting.question.evaluation is not None,
        members=_following(result),
        cloud=result.waiting.question.runtime.definition.cloud.id,
        given=result.given,
    )


def _following(result: DecidedTask) -> tuple[Record, ...]:
    """Return the members that leave or join by this decision: none, unless a request of the task itself decided it."""
    question, decision = result.waiting.question, result.decision
    before, after, winner = decision.desired_from, decision.desired_to, decision.winner
    if before is None or after is None or winner is None or winner.request not in question.requests:
        return ()
    if after < before:
        return question.leaving
    return question.joining if after > before else ()
