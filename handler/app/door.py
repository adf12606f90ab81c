"""The one door in motion: everything that changes a group's size or state passes here, one after another.

What waits at the same time is decided together and shares one durable write. A decision counts only once it is on
disk: until then memory keeps the old state, and if the write fails it keeps it for good.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from config.errors import StoreError
from config.model import Catalogue
from config.units import Moment
from handler.app import logs
from handler.app.rooms import Room
from handler.store.interface import Store, Tick
from trigger.decide import decide
from trigger.evaluate import requests_from
from trigger.explain import Explanation, explain
from trigger.requests import Decision, GroupState, Request
from trigger.verdicts import Evaluation

_BATCH = 50
"""Decisions between two looks at the event loop: a few milliseconds."""

_LOOKS = 20
_LOOKS_PER_SECOND = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One thing that wants to pass: a tick's evaluation, requests from outside, or neither (a look at the bounds)."""

    room: Room
    at: Moment
    requests: tuple[Request, ...] = ()
    evaluation: Evaluation | None = None
    change: Callable[[GroupState], GroupState] | None = None
    """What changes the state by itself, alerts that last: the decision is about the state after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decided:
    question: Question
    before: GroupState
    decision: Decision
    explanation: Explanation


class _Looks:
    """How many refusals may have their group looked at: a flood of refused alarms must not become one of listings.

    Those beyond it are looked at when it is their turn. What changes a size is looked after at once.
    """

    def __init__(self) -> None:
        self._left = float(_LOOKS)
        self._at: float | None = None

    def granted(self, at: Moment) -> bool:
        """Whether there is one left; if so it is used."""
        since = 0.0 if self._at is None else max(at.steady - self._at, 0.0)
        self._left, self._at = min(self._left + since * _LOOKS_PER_SECOND, _LOOKS), at.steady
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Door:
    """Serialises decisions. Lives on the event loop; the store is called from a thread."""

    def __init__(self, store: Store, catalogue: Callable[[], Catalogue], decided: Callable[[Decision], None]) -> None:
        self._store = store
        self._catalogue = catalogue
        self._decided = decided
        self._turn = asyncio.Lock()
        self._looks = _Looks()
        self._waiting: list[tuple[Question, asyncio.Future[Decision]]] = []

    async def ask(self, question: Question) -> Decision:
        """Pass one question.

        Raises:
            StoreError: it could not be written down, so nothing was decided.
        """
        (decision,) = await self.ask_all((question,))
        return decision

    async def ask_all(self, questions: Sequence[Question]) -> list[Decision]:
        """Pass several at once, for example all groups of a slot. Raises as `ask`."""
        loop = asyncio.get_running_loop()
        waiting = [(question, loop.create_future()) for question in questions]
        self._waiting.extend(waiting)
        async with self._turn:
            while any(not future.done() for _, future in waiting):
                await self._pass_batch()
        return [future.result() for _, future in waiting]

    async def change(
        self, room: Room, transition: Callable[[GroupState], GroupState], *, act: str, by: str, message: str, at: Moment
    ) -> None:
        """Change a group's state by a person's or the daemon's own act (pause, resume, a vanished member).

        Raises:
            StoreError: it could not be written down, so nothing has changed.
        """
        async with self._turn:
            state = transition(room.state)
            await asyncio.to_thread(self._store.note, room.id, act, by, message, at.wall, state)
            room.state = state
        logs.say("act", group=room.id, act=act, by=by, message=message or None)

    @contextlib.asynccontextmanager
    async def shut(self) -> AsyncIterator[None]:
        """Let nothing pass, for example while the catalogue is exchanged."""
        async with self._turn:
            yield

    async def _pass_batch(self) -> None:
        batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
        states: dict[str, GroupState] = {}
        decided: list[_Decided] = []
        for question, _ in batch:
            result = self._decide(question, states.get(question.room.id, question.room.state))
            states[question.room.id] = result.decision.state
            decided.append(result)
        try:
            await asyncio.to_thread(self._store.record, [_tick(result) for result in decided])
        except StoreError as error:
            for _, future in batch:
                future.set_exception(error)
                future.exception()  # whoever asked may have gone; the error is logged by those who have not
            return
        for result, (_, future) in zip(decided, batch, strict=True):
            self._carry(result)
            future.set_result(result.decision)

    def _decide(self, question: Question, state: GroupState) -> _Decided:
        catalogue, room = self._catalogue(), question.room
        changed = state if question.change is None else question.change(state)
        own = requests_from(catalogue, question.evaluation) if question.evaluation is not None else ()
        decision = decide(
            room.definition.group,
            (*question.requests, *own),
            room.fleet(),
            changed,
            question.at,
            evaluation=question.evaluation,
        )
        return _Decided(
            question=question,
            before=state,
            decision=decision,
            explanation=explain(catalogue, room.definition.group, question.evaluation, decision, room.fleet()),
        )

    def _carry(self, result: _Decided) -> None:
        room, decision = result.question.room, result.decision
        room.state = decision.state
        room.decided_at = decision.at.wall
        if result.question.evaluation is not None or room.explanation is None or decision.changed:
            room.explanation = result.explanation
        if result.question.evaluation is not None:
            room.evaluation = result.question.evaluation
            room.holds = result.question.evaluation.holds
        if decision.restarts_holds:
            room.holds = {}
        if decision.changed or (decision.answers and self._looks.granted(decision.at)):
            room.wake.set()  # a refused request, too, is a reason to look whether the fleet is as it should be
        self._decided(decision)


def _tick(result: _Decided) -> Tick:
    decision = result.decision
    return Tick(
        group=decision.group,
        at=decision.at.wall,
        explanation=result.explanation,
        state=decision.state if decision.state != result.before else None,
        before=result.question.room.state,
        evaluated=result.question.evaluation is not None,
    )
