"""Carries out the steps of one plan: what must be durable first, then the call, then what became of it.

Note [Intents before calls]: every call stands between two writes. The first holds the journal line and whatever must be
on disk before the call; if it fails, the call is not made, nor any other of the pass. The second holds what follows
from the answer; if it is lost, the next pass finds the world as it is and plans from that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, assert_never

from config.errors import DriverError, Full, Permanent, StoreError, Transient
from config.units import BalancerId, Instant, MemberName
from handler.abreast import abreast
from handler.attempts import LIMIT, Failure, counted, judged, succeeded
from handler.balancers.interface import Balancer
from handler.desired import Definition
from handler.launches import LaunchId
from handler.orchestrators.interface import Launch, Orchestrator
from handler.records import before, gone, made, taken_up
from handler.removals import is_stuck
from handler.steps import (
    NAMES,
    CloudCall,
    Confirm,
    Create,
    Destroy,
    Detach,
    Drain,
    Enable,
    EnterService,
    Forget,
    Join,
    Leave,
    Mark,
    MarkLeaving,
    NoteAbsence,
    NoteHealth,
    NotePresence,
    Outcome,
    Result,
    Step,
    TakeUp,
    Unmark,
)
from handler.store.interface import Event, EventKind, Store
from handler.traffic import Traffic
from handler.world import Member, Record, Server, World

_AT_ONCE = 500
"""Steps without a call in one transaction: others who write do not wait for long."""

Call = Create | Join | Enable | Drain | Leave | Destroy | Mark | Unmark
"""Steps that change the world."""
Notice = TakeUp | Confirm | EnterService | MarkLeaving | Detach | NoteAbsence | NotePresence | NoteHealth | Forget
"""Steps that only change what we remember."""

_UNTOLD = (NoteAbsence, NotePresence)
"""Said anew with every listing: not worth a line of history."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What steps are carried out with."""

    installation: str
    store: Store
    orchestrator: Orchestrator
    balancers: Mapping[BalancerId, Balancer]
    """Those that could be read in this pass."""
    definition: Definition
    clock: Callable[[], Instant]
    workers: int
    traffic: Traffic


class Execution:
    """One plan being carried out.

    ``halted`` says why it ended early, if it did; ``refused``, how many calls the cloud may not be asked for now.
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
        self.refused = 0

    def run(self, steps: Sequence[Step]) -> tuple[Outcome, ...]:
        """Carry out everything: removals and balancers first, then creations; members side by side, each in order."""
        lines: dict[MemberName, list[tuple[MemberName, Step]]] = {}
        births: list[tuple[MemberName, Step]] = []
        minted = iter(self._minted)
        for step in steps:
            if isinstance(step, Create):
                births.append((next(minted) if step.member is None else step.member, step))
            else:
                lines.setdefault(step.member, []).append((step.member, step))
        told, called = _parted(lines.values())
        noted = self._noted_all(told)
        lanes = self._tools.traffic.abreast(self._tools.definition.cloud, self._tools.workers)
        moved = abreast([partial(self._line, line) for line in called], lanes)
        born = abreast([partial(self._line, [birth]) for birth in births], lanes)
        return (*noted, *(outcome for line in (*moved, *born) for outcome in line))

    def _noted_all(self, steps: Sequence[tuple[MemberName, Notice]]) -> tuple[Outcome, ...]:
        """Write down what has no call, many steps in one transaction, up to the first that cannot be written."""
        outcomes: list[Outcome] = []
        for first in range(0, len(steps), _AT_ONCE):
            if self.halted is not None or not self._goes_on():
                break
            outcomes += self._kept(partial(self._noted, steps[first : first + _AT_ONCE])) or ()
        return tuple(outcomes)

    def _line(self, line: Sequence[tuple[MemberName, Step]]) -> tuple[Outcome, ...]:
        """Carry out one member's steps in order, up to the first that is not done."""
        outcomes: list[Outcome] = []
        for name, step in line:
            may = self.halted is None and self._goes_on()
            outcome = self._kept(partial(self._admitted, name, step)) if may else None
            if outcome is None:
                break
            outcomes.append(outcome)
            if outcome.result is not Result.DONE:
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

    def _admitted(self, name: MemberName, step: Step) -> Outcome | None:
        """Carry a step out, unless it is a call for which the cloud may not be asked now: then nothing is begun."""
        tools = self._tools
        if not isinstance(step, CloudCall):
            return self._carry_out(name, step)
        makes = isinstance(step, Create)
        with tools.traffic.call(tools.definition.cloud, tools.clock, makes=makes) as admitted:
            if admitted:
                return self._carry_out(name, step)
        with self._halt:
            self.refused += 1
        return None

    def _carry_out(self, name: MemberName, step: Step) -> Outcome:
        if isinstance(step, Notice):
            return self._noted([(name, step)])[0]
        tools, group, cloud = self._tools, self._world.group, self._tools.definition.cloud.id
        started = tools.clock()
        durable = self._durable(name, step, started)
        first = () if durable is None else (durable,)
        line = tools.store.begin_step(group, NAMES[type(step)], name, started, first, cloud)
        if durable is not None:
            self._records[name] = durable
        outcome, after = self._called(name, step, started)
        last = () if after is None else (after,)
        said = outcome.because or str(getattr(step, "balancer", ""))
        tools.store.end_step(line, outcome.result, said, outcome.finished_at, last, cloud)
        if after is not None:
            self._records[name] = after
        return outcome

    def _durable(self, name: MemberName, step: Call, now: Instant) -> Record | None:
        """What must be on disk before the call, if it is not there yet."""
        record, profile = self._records[name], self._world.profile
        if isinstance(step, Create):
            return None if record.profile == profile else replace(record, profile=profile)
        return before(step, record, self._server(name), now)

    def _noted(self, steps: Sequence[tuple[MemberName, Notice]]) -> list[Outcome]:
        now, changed = self._tools.clock(), dict[MemberName, Record]()
        for name, step in steps:
            record = self._remembered(name, step, changed.get(name), now)
            if record is not None:
                changed[name] = record
        lines = [self._line_of(name, step, now) for name, step in steps if type(step) not in _UNTOLD]
        self._tools.store.note_steps(lines, tuple(changed.values()), self._tools.definition.cloud.id)
        self._records.update(changed)
        return [_outcome(name, step, now, now) for name, step in steps]

    def _remembered(self, name: MemberName, step: Notice, changed: Record | None, now: Instant) -> Record | None:
        member, server = self._members.get(name), self._server(name)
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
            name=NAMES[type(step)],
            by=name,
            result=Result.DONE,
            message=_told(step),
            took=0.0,
        )

    def _server(self, name: MemberName) -> Server | None:
        member = self._members.get(name)
        return None if member is None else member.server

    def _called(self, name: MemberName, step: Call, started: Instant) -> tuple[Outcome, Record | None]:
        clock, record = self._tools.clock, self._records[name]
        try:
            server = self._call(name, step)
        except DriverError as error:
            ended, failure = clock(), judged(step, record, error, room_comes=self._room_comes())
            if isinstance(step, CloudCall):
                self._tools.traffic.heard(self._tools.definition.cloud, error, ended)
            refused = isinstance(step, Create | Mark) and isinstance(error, Permanent) and not isinstance(error, Full)
            outcome = _failed(_outcome(name, step, started, ended), failure, error, final=refused)
            after = gone(record, ended) if refused else counted(step, record, failure, outcome.because, ended)
            if is_stuck(after, self._tools.definition.group.grace, ended):  # a warning of its own says so
                outcome = replace(outcome, result=Result.LIMITED)
            return outcome, after
        ended = clock()
        grace = self._tools.definition.group.grace
        done = succeeded(step, record, grace, ended) if server is None else made(record, server, ended)
        return _outcome(name, step, started, ended), done

    def _room_comes(self) -> bool:
        return any(record.leaving is not None for record in list(self._records.values()))

    def _call(self, name: MemberName, step: Call) -> Server | None:
        tools = self._tools
        match step:
            case Create():
                return tools.orchestrator.create(Launch(id=self._launch(name), profile=tools.definition.profile))
            case Destroy():
                tools.orchestrator.destroy(name, grace=tools.definition.group.grace)
            case Mark():
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

    def _steer(self, name: MemberName, step: Join | Enable | Drain | Leave, balancer: Balancer) -> None:
        match step:
            case Join():
                server = self._members[name].server
                if server is None or server.address is None:
                    raise Transient(f"{name} has no address yet")
                balancer.join(name, server.address, dict(self._records[name].balancers)[step.balancer])
            case Enable():
                balancer.enable(name)
            case Drain():
                balancer.drain(name)
            case Leave():
                balancer.leave(name)
            case _:
                assert_never(step)


def _parted(
    lines: Iterable[Sequence[tuple[MemberName, Step]]],
) -> tuple[list[tuple[MemberName, Notice]], list[Sequence[tuple[MemberName, Step]]]]:
    """Part the members of whom things are only written down from those for whom calls are made."""
    told: list[tuple[MemberName, Notice]] = []
    called: list[Sequence[tuple[MemberName, Step]]] = []
    for line in lines:
        notices = [(name, step) for name, step in line if isinstance(step, Notice)]
        if len(notices) == len(line):
            told += notices
        else:
            called.append(line)
    return told, called


def _outcome(name: MemberName, step: Step, started: Instant, ended: Instant) -> Outcome:
    return Outcome(step=step, member=name, result=Result.DONE, because="", started_at=started, finished_at=ended)


def _failed(outcome: Outcome, failure: Failure, error: DriverError, *, final: bool) -> Outcome:
    said = str(error) or type(error).__name__
    worn_out = failure.result is Result.FAILED and failure.attempt is not None
    return replace(
        outcome,
        result=failure.result,
        because=f"{said} ({LIMIT} attempts failed, and it is still tried)" if worn_out else said,
        attempt=failure.attempt,
        retry_after=None if final else failure.again_in,
    )


def _told(step: Notice) -> str:
    match step:
        case MarkLeaving(why=why, because=because):
            return f"{why.value}: {because}" if because else why.value
        case Detach(balancer=balancer):
            return balancer
        case NoteHealth(failing=failing):
            return "failing" if failing else "not failing"
        case _:
            return ""
