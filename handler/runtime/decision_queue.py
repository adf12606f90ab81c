"""The queue of decisions: every change of a group's size or state passes here, one after another.

Tasks that wait at the same time are decided together and share one durable write. A decision counts only once it is on
disk: until then memory keeps the old state, and if the write fails, for good.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence, Set
from dataclasses import replace

from config.errors import StoreError
from config.model.catalogue import Catalogue, Group
from config.units import GroupId, Instant, Moment, Seconds
from handler import logs
from handler.planning.limits import limited_state
from handler.planning.world import Record
from handler.ports.held_clock import LEAST_STEP
from handler.ports.store import Store
from handler.ports.stored import Event
from handler.runtime.decision_task import DecidedTask, DecisionTask, WaitingTask, at_once, judged, tick_of
from handler.runtime.group_runtime import GroupRuntime
from handler.runtime.loops import RefusalLooks, whole
from handler.runtime.steady_ticks import SteadyTick, UnchangedTick, steady_state_of
from trigger.conditions.timers import restarted
from trigger.decide import decide
from trigger.explain.explanation import explain
from trigger.explain.recorded_inputs import given_to
from trigger.explain.shapes import Story, story_of
from trigger.policies.evaluate import requests_from
from trigger.policies.schedules import due
from trigger.requests import Decision, GroupState
from trigger.verdicts import Evaluation

_BATCH = 256
"""Decisions that share a write, at most: as many as alerts are passed at once."""
_SLICE = 25
"""Of them, those between two looks at the event loop: a few milliseconds."""

_REPEATED = 200  # the same, of ticks that repeat the last one
_UNSET = Instant(0.0)
"""The start of a daemon whose start is not known."""


class DecisionQueue:
    """Serialises decisions. Lives on the event loop; the store is called from a thread."""

    def __init__(  # noqa: PLR0913 - the composition root's list
        self,
        store: Store,
        catalogue: Callable[[], Catalogue],
        decided: Callable[[Decision], None],
        *,
        storing: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
        clock: Callable[[], Moment] | None = None,
        superseded: Callable[[], bool] = lambda: False,
        ahead: Callable[
            [GroupRuntime, Mapping[GroupId, GroupState], Instant], GroupId | None
        ] = lambda runtime, states, now: None,
        life: Instant = _UNSET,
    ) -> None:
        self._life = life
        self._ahead = ahead
        self._superseded = superseded
        self._clock = clock
        self._store = store
        self._catalogue = catalogue
        self._decided = decided
        self._storing = storing
        self._turn = asyncio.Lock()
        self._looks = RefusalLooks()
        self._waiting: list[WaitingTask] = []

    async def ask(self, question: DecisionTask) -> Decision:
        """Pass one question.

        Raises:
            StoreError: it could not be written down, so nothing was decided.
        """
        (decision,) = await self.ask_all((question,))
        return decision

    async def ask_all(self, questions: Sequence[DecisionTask]) -> list[Decision]:
        """Pass several at once, for example all groups of a slot. Raises as `ask`.

        Cancelled, it takes back what has not been decided yet; what is being written is written.
        """
        loop = asyncio.get_running_loop()
        mine = [WaitingTask(question=question, answer=loop.create_future()) for question in questions]
        self._waiting.extend(mine)
        try:
            async with self._turn:
                while any(not waiting.answer.done() for waiting in mine):
                    await whole(self._pass_batch())
            return [waiting.answer.result() for waiting in mine]
        finally:
            for waiting in mine:
                waiting.answer.cancel()  # no more than a mark on those that are answered

    async def repeat(self, ticks: Sequence[tuple[GroupRuntime, SteadyTick]]) -> Set[GroupId]:
        """Pass ticks of groups whose decision stands, all of one moment, that bring what the ones before did.

        Returns:
            The groups whose ticks must be asked about: it stands no longer, or history cannot be extended.
        """
        if not ticks:
            return frozenset()
        async with self._turn:
            return await whole(self._repeat(ticks))

    async def _repeat(self, ticks: Sequence[tuple[GroupRuntime, SteadyTick]]) -> Set[GroupId]:
        catalogue, (_, first) = self._catalogue(), ticks[0]
        stands = not self._superseded() and not self._step(first.at)
        same = [(runtime, tick) for runtime, tick in ticks if stands and runtime.rests(tick, catalogue)]
        try:
            with self._storing():
                await asyncio.to_thread(self._store.record, (), [tick.repeated for _, tick in same])
        except StoreError:
            return {runtime.id for runtime, _ in ticks}
        for number, (runtime, tick) in enumerate(same, 1):
            runtime.repeat(tick)
            decision = tick.steady.decided(tick.at)
            self._look(runtime, decision)
            self._decided(decision)
            if number % _REPEATED == 0:
                await asyncio.sleep(0)
        return {runtime.id for runtime, _ in ticks} - {runtime.id for runtime, _ in same}

    async def change(
        self,
        runtime: GroupRuntime,
        transition: Callable[[GroupState], GroupState],
        *,
        act: str,
        by: str,
        message: str,
        at: Moment,
    ) -> None:
        """Change a group's state by a person's own act (pause, resume).

        Raises:
            StoreError: it could not be written down, so nothing has changed.
        """
        async with self._turn:
            await whole(self._change(runtime, transition, act=act, by=by, message=message, at=at))
        logs.say("act", group=runtime.id, act=act, by=by, message=message or None)

    async def lower(
        self,
        runtime: GroupRuntime,
        transition: Callable[[GroupState], GroupState],
        leaving: Sequence[Record],
        act: Event,
    ) -> None:
        """Lower a group's size by members that leave for it. No other writer may change their records meanwhile.

        Raises:
            StoreError: the store could not be written: no member leaves, and nothing has changed.
        """
        async with self._turn:
            await whole(self._lower(runtime, transition, leaving, act))
        logs.say("act", group=runtime.id, act=act.name, by=act.by, message=act.message or None)

    @contextlib.asynccontextmanager
    async def shut(self) -> AsyncIterator[None]:
        """Let nothing pass, for example while the catalogue is exchanged."""
        async with self._turn:
            yield

    async def _change(
        self,
        runtime: GroupRuntime,
        transition: Callable[[GroupState], GroupState],
        *,
        act: str,
        by: str,
        message: str,
        at: Moment,
    ) -> None:
        state = transition(runtime.state)
        await asyncio.to_thread(self._store.note, runtime.id, act, by, message, at.wall, state)
        runtime.state = state

    async def _lower(
        self,
        runtime: GroupRuntime,
        transition: Callable[[GroupState], GroupState],
        leaving: Sequence[Record],
        act: Event,
    ) -> None:
        state = transition(runtime.state)
        await asyncio.to_thread(self._store.lower, act, state, leaving, runtime.definition.cloud.id)
        runtime.state = state

    async def _pass_batch(self) -> None:
        asked = [waiting for waiting in self._waiting if not waiting.answer.done()]
        batch, self._waiting = asked[:_BATCH], asked[_BATCH:]
        try:
            decided = await self._decide_all(batch)
            with self._storing():
                ticks = [tick_of(result, result.explanation) for result in decided if result.explanation is not None]
                again = [each.unchanged.repeated for each in decided if each.unchanged is not None]
                await asyncio.to_thread(self._store.record, ticks, again)
        except StoreError as error:
            _refuse(batch, error)
            for waiting in batch:
                waiting.question.runtime.unrecorded = str(error)
            return
        except BaseException as error:
            _refuse(batch, error)  # a defect: no caller may wait for ever
            raise
        for number, result in enumerate(decided, 1):
            self._carry(result)
            if not result.waiting.answer.done():
                result.waiting.answer.set_result(result.decision)
            if number % _SLICE == 0:
                await asyncio.sleep(0)

    async def _decide_all(self, batch: Sequence[WaitingTask]) -> list[DecidedTask]:
        """Questions about one group build on each other. Nothing else passes meanwhile: it is this batch's turn."""
        last: dict[GroupId, DecidedTask] = {}
        decided: list[DecidedTask] = []
        asked = Counter(waiting.question.runtime.id for waiting in batch)
        for waiting in batch:
            if decided and len(decided) % _SLICE == 0:
                await asyncio.sleep(0)
            group = waiting.question.runtime.id
            last[group] = self._decide(waiting, last, alone=asked[group] == 1)
            decided.append(last[group])
        return decided

    def _decide(self, waiting: WaitingTask, last: Mapping[GroupId, DecidedTask], *, alone: bool) -> DecidedTask:
        question, catalogue = self._timed(waiting.question), self._catalogue()
        runtime, previous = question.runtime, last.get(question.runtime.id)
        state, track, holds = runtime.state, runtime.track, runtime.holds
        if previous is not None:
            state, track, holds = previous.decision.state, previous.track, previous.holds
        group, fleet, evaluation = runtime.definition.group, runtime.fleet(), judged(question, holds, state.desired)
        if group.service is not None:
            states = {each: result.decision.state for each, result in last.items()}
            if (before := self._ahead(runtime, states, question.at.wall)) is not None:
                fleet = replace(fleet, ahead=before)
                question = at_once(question, group, fleet)
        if self._superseded():
            fleet = replace(fleet, superseded=True)
        changed = state if question.change is None else question.change(state)
        asked = question.requests
        if evaluation is not None:
            own, scheduled = requests_from(catalogue, evaluation), due(group, changed, question.at.wall)
            asked = (*asked, *scheduled, *own)
        unasked = not (question.requests or question.change or fleet.superseded)
        decision = decide(group, asked, fleet, changed, question.at, evaluation=evaluation)
        given, track = given_to(
            decision,
            group,
            track,
            life=self._life,
            state=changed,
            fleet=fleet,
            requests=question.requests,
            evaluated=evaluation is not None,
            resumed=runtime.resumed,
            holds_anew=runtime.holds_anew,
        )
        story = self.story(evaluation, group, decision) if unasked and alone else None
        again = story is not None and given is None and decision.state == state and story.is_again(runtime.story)
        unchanged = (
            UnchangedTick(catalogue, group, evaluation, decision, fleet, changed) if again and evaluation else None
        )
        held = holds if evaluation is None else evaluation.holds
        return DecidedTask(
            waiting=waiting,
            evaluation=evaluation,
            holds=restarted(held) if decision.restarts_holds else held,
            before=state,
            decision=decision,
            explanation=None if unchanged else explain(catalogue, group, evaluation, decision, fleet, changed),
            unchanged=unchanged,
            story=story,
            given=given,
            track=track,
            steady=steady_state_of(catalogue, group, evaluation, changed, decision, fleet) if unasked else None,
        )

    def story(self, judged: Evaluation | None, group: Group, decision: Decision) -> Story | None:
        """Return what a tick shows, to compare it with the one before; ``None``: only its explanation says it."""
        return None if judged is None else story_of(self._catalogue(), group, judged, decision)

    def _timed(self, question: DecisionTask) -> DecisionTask:
        """The question as of the clock of now, where the clock was set since it was asked."""
        at, step = question.at, self._step(question.at)
        if not step:
            return question
        asked, timed = question.change, replace(at, wall=Instant(at.wall + step))
        if asked is None:
            return replace(question, at=timed)
        return replace(question, at=timed, change=lambda state: limited_state(asked(state), timed.wall))

    def _step(self, at: Moment) -> Seconds:
        """By how much the clock was set since a moment; 0.0: it was not."""
        if self._clock is None:
            return 0.0
        now = self._clock()
        step = (now.wall - now.steady) - (at.wall - at.steady)
        return step if abs(step) >= LEAST_STEP else 0.0

    def _carry(self, result: DecidedTask) -> None:
        decision, runtime = result.decision, result.waiting.question.runtime
        runtime.state, runtime.track, runtime.holds = decision.state, result.track, result.holds
        runtime.decided_at, runtime.unrecorded = decision.at.wall, None
        runtime.story, runtime.steady = result.story, result.steady
        if result.unchanged is not None:
            runtime.unchanged = result.unchanged
        elif result.evaluation is not None:
            runtime.keep(result.evaluation, result.explanation)
        elif decision.changed or (runtime.explained is None and runtime.unchanged is None):
            runtime.keep(runtime.evaluation, result.explanation)
        self._look(runtime, decision)
        self._decided(decision)

    def _look(self, runtime: GroupRuntime, decision: Decision) -> None:
        """Wake convergence: a refused request, too, is a reason to look whether the fleet is as it should be."""
        if decision.changed or (decision.answers and self._looks.granted(decision.at)):
            runtime.wake.set()


def _refuse(batch: Sequence[WaitingTask], error: BaseException) -> None:
    for waiting in batch:
        if not waiting.answer.done():
            waiting.answer.set_exception(error)
            waiting.answer.exception()  # the caller may have gone
