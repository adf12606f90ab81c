"""Carries out the steps of one plan: what must be durable first, then the call, then what became of it.

Note [Intents before calls]: every call stands between two writes. The first holds the journal line and whatever must be
on disk before the call; if it fails, the call is not made, nor any other of the pass. The second holds what follows
from the answer; if it is lost, the next pass finds the world as it is and plans from that.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, assert_never

from config.errors import DriverError, Full, Permanent, StoreError, Transient
from config.units import BalancerId, Instant, MemberName, PartName
from handler.convergence.balancer_locks import BalancerLeases
from handler.convergence.pass_threads import side_by_side, waiting
from handler.convergence.quotas import Quotas
from handler.convergence.traffic import CloudTraffic
from handler.planning.answers import Answer, AnswerMoment, answered
from handler.planning.desired import Definition
from handler.planning.launches import Claim, LaunchId
from handler.planning.member_plans import (
    UNRECORDED,
    Call,
    Line,
    Notice,
    StartedCall,
    changed,
    done,
    head,
    history_detail,
    parted,
)
from handler.planning.records import before, before_parting, forgotten, taken_up
from handler.planning.removals import is_stuck
from handler.planning.step_outcomes import StepOutcome, StepResult
from handler.planning.steps import (
    KINDS,
    BalancerCall,
    CloudCall,
    Create,
    Destroy,
    Drain,
    Enable,
    Forget,
    Join,
    Leave,
    MakePart,
    MarkMachine,
    PartStep,
    ReleasePart,
    RemovePart,
    Step,
    TakeUp,
    Unmark,
    Wait,
)
from handler.planning.world import Leaving, Member, Phase, Record, Server, World
from handler.ports.balancer import Balancer, Batched, MemberMove, RegistrationChange
from handler.ports.orchestrator import Endings, Launch, Orchestrator
from handler.ports.parts import change_part
from handler.ports.store import Store
from handler.ports.stored import Event, EventKind

_AT_ONCE = 500
"""Steps without a call in one transaction: other writers do not wait for long."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What steps are carried out with."""

    installation: str
    store: Store
    orchestrator: Orchestrator
    balancers: Mapping[BalancerId, Balancer]
    """Those that could be read in this pass, if only in part."""
    definition: Definition
    clock: Callable[[], Instant]
    workers: int
    traffic: CloudTraffic
    leases: BalancerLeases
    quotas: Quotas
    claim: Claim | None = None
    """What new members bear; ``None``: nothing."""


class Execution:
    """Carry out one plan.

    ``halted`` is the reason if it ended early; ``waits`` are planned steps that were left to the next pass.
    """

    def __init__(
        self, tools: Tools, world: World, minted: Sequence[Record], *, goes_on: Callable[[], bool] = lambda: True
    ) -> None:
        self._tools = tools
        self._goes_on = goes_on
        self._world = world
        self._members: dict[MemberName, Member] = {member.name: member for member in world.members}
        self._records: dict[MemberName, Record] = {
            member.name: member.record for member in world.members if member.record is not None
        }
        self._records.update((record.name, record) for record in minted)
        self._minted = tuple(record.name for record in minted)
        self._halt = threading.Lock()
        self.halted: str | None = None
        self.waits: Counter[Wait] = Counter()
        self._may_change: Callable[[BalancerId], bool] = lambda balancer: False

    def run(self, steps: Sequence[Step]) -> tuple[StepOutcome, ...]:
        """Carry out everything: removals and balancers first, then creations; members side by side, each in order."""
        lines: dict[MemberName, list[tuple[MemberName, Step]]] = {}
        births: dict[MemberName, list[tuple[MemberName, Step]]] = {}
        minted = iter(self._minted)
        for step in steps:
            if isinstance(step, Create | MakePart):
                name = next(minted) if step.member is None else step.member
                births.setdefault(name, []).extend((name, first) for first in self._beginning(name, step))
            else:
                lines.setdefault(step.member, []).append((step.member, step))
        notices, called = parted(lines.values())
        noted = self._noted_all(notices)
        lanes = self._tools.traffic.in_parallel(self._tools.definition.cloud, self._tools.workers)
        with self._tools.leases.taken(changed(called), self._world.group, self._tools.clock) as self._may_change:
            batched, left = self._in_batches(called)
            moved = side_by_side([partial(self._line, line) for line in left], lanes)
        born = side_by_side([partial(self._line, birth) for birth in births.values()], lanes)
        return (*noted, *batched, *(outcome for line in (*moved, *born) for outcome in line))

    def _in_batches(self, lines: Sequence[Line]) -> tuple[list[StepOutcome], list[Line]]:
        """Apply the first steps of lines at balancers that take many changes in one call; return the other steps.

        A line's next steps may be at a balancer that was before: each has its turn until no line begins at any of them.
        """
        outcomes: list[StepOutcome] = []
        left, known = list(lines), -1
        while known != len(outcomes):
            known = len(outcomes)
            for balancer, driver in self._tools.balancers.items():
                if isinstance(driver, Batched):
                    these, left = self._in_batch(balancer, driver, left)
                    outcomes += these
        return outcomes, [line for line in left if line]

    def _in_batch(
        self, balancer: BalancerId, driver: Batched, lines: Sequence[Line]
    ) -> tuple[Sequence[StepOutcome], list[Line]]:
        """Apply the first steps of lines at one balancer; return their outcomes, and the lines that go on."""
        heads = [head(line, balancer) for line in lines]
        if not any(heads) or not self._may_go_on(balancer):
            return (), list(lines)
        these = self._kept(partial(self._together, driver, [each for line in heads for each in line])) or []
        stopped = {outcome.member for outcome in these if outcome.result is not StepResult.DONE}
        whole = self.halted is None
        parts = [(line[len(begun) :], begun) for line, begun in zip(lines, heads, strict=True)]
        return these, [rest for rest, begun in parts if not begun or (whole and begun[0][0] not in stopped)]

    def _may_go_on(self, balancer: BalancerId) -> bool:
        return self.halted is None and self._goes_on() and self._may_change(balancer)

    def _together(self, driver: Batched, steps: Line) -> list[StepOutcome]:
        """Make several changes of one balancer: a line of history for each before, and after."""
        begun = [self._begun(name, step) for name, step in steps]
        try:
            changes = [self._change(name, step) for name, step in steps]
            with waiting():
                answers = driver.apply(changes)
        except DriverError as error:
            answers = [error] * len(steps)
        return [self._ended(one, answer) for one, answer in zip(begun, answers, strict=True)]

    def _change(self, name: MemberName, step: Step) -> RegistrationChange:
        if not isinstance(step, Join):
            return RegistrationChange(move=MemberMove(KINDS[type(step)]), member=name)
        return RegistrationChange(move=MemberMove.JOIN, member=name, at=self._place(name, step.balancer))

    def _place(self, name: MemberName, balancer: BalancerId) -> tuple[str, int]:
        """Address and port at which a member serves behind a balancer."""
        server = self._members[name].server
        if server is None or server.address is None:
            raise Transient(f"{name} has no address yet")
        return server.address, dict(self._records[name].balancers)[balancer]

    def _beginning(self, name: MemberName, step: Create | MakePart) -> tuple[Step, ...]:
        """Parts come before the machine of a new member: that is for a pass that has seen them ready."""
        parts = self._tools.definition.profile.parts if step.member is None else ()
        return tuple(MakePart(member=name, part=part.name) for part in parts) or (step,)

    def _noted_all(self, steps: Sequence[tuple[MemberName, Notice]]) -> tuple[StepOutcome, ...]:
        """Write down what has no call, many steps in one transaction, up to the first that cannot be written."""
        outcomes: list[StepOutcome] = []
        for first in range(0, len(steps), _AT_ONCE):
            if self.halted is not None or not self._goes_on():
                break
            outcomes += self._kept(partial(self._noted, steps[first : first + _AT_ONCE])) or ()
        return tuple(outcomes)

    def _line(self, line: Line) -> tuple[StepOutcome, ...]:
        """Carry out one member's steps in order, up to the first that is not done."""
        outcomes: list[StepOutcome] = []
        for name, step in line:
            may = self.halted is None and self._goes_on()
            outcome = self._kept(partial(self._admitted, name, step)) if may else None
            if outcome is None:
                break
            outcomes.append(outcome)
            if outcome.result is not StepResult.DONE:
                break
        return tuple(outcomes)

    def _kept(self, carry_out: Callable[[], T]) -> T | None:
        """Carry out what writes to the store; if that fails, nothing more is done."""
        try:
            return carry_out()
        except StoreError as error:
            with self._halt:
                self.halted = self.halted or f"nothing more is done: {error}"
            return None

    def _admitted(self, name: MemberName, step: Step) -> StepOutcome | None:
        """Carry a step out, unless cloud or balancer may not be called now: then nothing is begun."""
        tools = self._tools
        if isinstance(step, BalancerCall) and not self._may_change(step.balancer):
            self._leave(Wait.BALANCER_BUSY)
            return None
        if not isinstance(step, CloudCall):
            return self._carry_out(name, step)
        makes = isinstance(step, Create | MakePart)
        with tools.traffic.call(tools.definition.cloud, tools.clock, makes=makes) as admitted:
            if admitted:
                return self._carry_out(name, step)
        self._leave(Wait.RATE_LIMIT)
        return None

    def _leave(self, wait: Wait) -> None:
        """Count a step that is left to the next pass."""
        with self._halt:
            self.waits[wait] += 1

    def _carry_out(self, name: MemberName, step: Step) -> StepOutcome:
        if isinstance(step, Notice):
            return self._noted([(name, step)])[0]
        begun = self._begun(name, step)
        try:
            with waiting():
                answer: Answer = self._call(name, step)
        except DriverError as error:
            answer = self._proved(name, step, error)
        return self._ended(begun, answer)

    def _proved(self, name: MemberName, step: Step, refused: DriverError) -> Answer:
        """Return the refusal of a new member if its cloud has no machine under that name, else the machine.

        A call may be refused after it has done its work, as by a right that only its last part needs. A refusal that
        counts for good would then leave a machine without a member.
        """
        for_good = isinstance(refused, Permanent) and not isinstance(refused, Full)
        if not for_good or not isinstance(step, Create | MarkMachine):
            return refused
        try:
            with waiting():
                found = self._tools.orchestrator.find(name)
        except DriverError as error:
            return Transient(f"{refused}; and whether it was done all the same is not known: {error}")
        return refused if found is None else found

    def _begun(self, name: MemberName, step: Step) -> StartedCall:
        """Write down that a call is about to be made."""
        group, cloud = self._world.group, self._tools.definition.cloud.id
        started = self._tools.clock()
        durable = self._durable(name, step, started)
        saved = () if durable is None else (durable,)
        line = self._tools.store.begin_step(group, KINDS[type(step)], name, started, saved, cloud)
        if durable is not None:
            self._records[name] = durable
        return StartedCall(line=line, name=name, step=step, started=started)

    def _ended(self, begun: StartedCall, answer: Answer) -> StepOutcome:
        """Write down what became of a call."""
        ended, definition = self._tools.clock(), self._tools.definition
        if isinstance(answer, DriverError) and isinstance(begun.step, CloudCall):
            makes = isinstance(begun.step, Create | MakePart)
            self._tools.traffic.heard(definition.cloud, answer, ended, makes=makes)
        moment = AnswerMoment(
            at=ended, grace=definition.group.grace, frees_capacity=isinstance(answer, Full) and self._frees_capacity()
        )
        outcome, after = answered(begun, self._records[begun.name], answer, moment)
        saved = () if after is None else (after,)
        because = outcome.because or str(getattr(begun.step, "balancer", ""))
        self._tools.store.end_step(begun.line, outcome.result, because, ended, saved, definition.cloud.id)
        if after is not None:
            self._records[begun.name] = after
        return outcome

    def _durable(self, name: MemberName, step: Step, now: Instant) -> Record | None:
        """What must be on disk before the call, if it is not there yet."""
        record, profile = self._records[name], self._world.profile
        if isinstance(step, Create):
            return None if record.profile == profile else replace(record, profile=profile)
        if isinstance(step, PartStep):
            return before_parting(step, record, self._tools.definition)
        return before(step, record, self._server(name), now)

    def _noted(self, steps: Sequence[tuple[MemberName, Notice]]) -> list[StepOutcome]:
        now, changed = self._tools.clock(), dict[MemberName, Record]()
        for name, step in steps:
            record = self._remembered(name, step, changed.get(name), now)
            if record is not None:
                changed[name] = record
        lines = [self._line_of(name, step, now) for name, step in steps if type(step) not in UNRECORDED]
        self._tools.store.note_steps(lines, tuple(changed.values()), self._tools.definition.cloud.id)
        self._records.update(changed)
        return [done(name, step, now, now) for name, step in steps]

    def _remembered(self, name: MemberName, step: Notice, changed: Record | None, now: Instant) -> Record | None:
        member, server = self._members.get(name), self._server(name)
        if isinstance(step, Forget):
            return forgotten(self._records[name] if changed is None else changed, self._world, now)
        if not isinstance(step, TakeUp):
            return before(step, self._records[name] if changed is None else changed, server, now)
        if member is None or server is None:
            return None
        return taken_up(member, server, self._world, self._tools.definition, now)

    def _line_of(self, name: MemberName, step: Notice, now: Instant) -> Event:
        return Event(
            at=now,
            group=self._world.group,
            kind=EventKind.STEP,
            name=KINDS[type(step)],
            by=name,
            result=StepResult.DONE,
            message=history_detail(step) or self._ending(name, step),
            took=0.0,
        )

    def _ending(self, name: MemberName, step: Notice) -> str:
        """Return how a gone machine ended, where its cloud knows."""
        cloud = self._tools.orchestrator
        return cloud.ending(name) if isinstance(step, Forget) and isinstance(cloud, Endings) else ""

    def _server(self, name: MemberName) -> Server | None:
        member = self._members.get(name)
        return None if member is None else member.server

    def _frees_capacity(self) -> bool:
        """Return whether a removal is awaited; what is STUCK, evicted, or to be replaced later makes no room."""
        grace, now = self._tools.definition.group.grace, self._tools.clock()
        leaving = (record for record in list(self._records.values()) if record.phase is Phase.LEAVING)
        return any(each.leaving is not Leaving.EVICTED and not is_stuck(each, grace, now) for each in leaving)

    def _call(self, name: MemberName, step: Call) -> Server | None:
        tools = self._tools
        match step:
            case Create():
                profile, parts, first = tools.definition.profile, self._parts(name), step.member is None
                launch = Launch(id=self._launch(name), profile=profile, parts=parts, claim=tools.claim, first=first)
                with tools.quotas.making(self._world.group, name):
                    return tools.orchestrator.create(launch)
            case MakePart() | RemovePart() | ReleasePart():
                change_part(tools.orchestrator, step, tools.definition.profile)
            case Destroy():
                tools.orchestrator.destroy(name, grace=tools.definition.group.grace)
            case MarkMachine():
                return tools.orchestrator.mark(self._records[name].server_id or "", self._launch(name))
            case Unmark():
                tools.orchestrator.unmark(name)
            case Join() | Enable() | Drain() | Leave():
                self._steer(name, step, tools.balancers[step.balancer])
            case _:
                assert_never(step)
        return None

    def _launch(self, name: MemberName) -> LaunchId:
        sequence = self._records[name].sequence
        return LaunchId(installation=self._tools.installation, group=self._world.group, sequence=sequence)

    def _parts(self, name: MemberName) -> Mapping[PartName, str]:
        member = self._members.get(name)
        return {part.name: part.id for part in (() if member is None else member.parts)}

    def _steer(self, name: MemberName, step: Join | Enable | Drain | Leave, balancer: Balancer) -> None:
        match step:
            case Join():
                balancer.join(name, *self._place(name, step.balancer))
            case Enable():
                balancer.enable(name)
            case Drain():
                balancer.drain(name)
            case Leave():
                balancer.leave(name)
            case _:
                assert_never(step)
