"""Convergence: gather the world, plan, write intents, carry out, record. One call is one pass of one group."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from config.errors import StoreError
from config.model import Balancer as DeclaredBalancer
from config.model import Budget, Cloud, Mode, ReadyProbe
from config.units import GroupId, Instant, MemberName, Seconds, format_span
from handler.balancers.interface import Balancer
from handler.causes import told
from handler.desired import Definition, DesiredState, Limits, Rolling
from handler.execute import Execution, Tools
from handler.gather import Gatherer
from handler.leases import Leases
from handler.orchestrators.interface import Orchestrator
from handler.pacing import Builds, builds_after, next_in
from handler.provisions import Provisions, Tended
from handler.records import surrendered, ungiven
from handler.removals import words_of
from handler.snapshots.snapshot import Snapshot
from handler.steps import Create, Outcome, Plan
from handler.store.interface import Creates, Store, StoredGroup
from handler.traffic import Traffic
from handler.uncollected import uncollected
from handler.world import Record, World
from trigger.requests import GroupState, Pause

_STORE_RETRY: Seconds = 5.0
_UNTENDED = Tended(bound=True)
"""Nobody looked after the balancers that are made for the group: they may be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one pass saw, meant to do, did, and leaves behind."""

    world: World
    plan: Plan
    outcomes: tuple[Outcome, ...]
    """Of the steps that were begun; those after a failed one of the same member were not."""
    next_in: Seconds | None
    """When to look again; ``None``: nothing is waited for."""
    vanished: tuple[Record, ...]
    """Of members that are gone without having been asked to leave, where desired size is to follow: marked as leaving,
    to be written down in the transaction that lowers it."""
    refused: tuple[Record, ...]
    """Of machines that were given, and that the cloud will not mark: gone, to be written down in the transaction that
    lowers desired size by them."""
    failed_builds: int
    """In a row, this pass included."""
    back_off_until: Instant | None
    creates_left: int
    """Creates that the hourly budgets of group and cloud still allow, whichever is less."""
    failures: tuple[str, ...]
    """What cannot succeed until a person changes something, or could not be written down."""
    retries: tuple[str, ...]
    """What is tried again, and what could not be seen."""

    bound: bool = True
    """Balancers that were made for the group may still be there: it must not be forgotten yet."""

    @property
    def messages(self) -> tuple[str, ...]:
        """All that went wrong, failures first."""
        return self.failures + self.retries


class Converger:
    """Carries out passes. Passes of different groups may run side by side; of one group, one at a time."""

    def __init__(  # noqa: PLR0913 - the composition root's list of ports
        self,
        *,
        installation: str,
        store: Store,
        orchestrator_for: Callable[[Cloud], Orchestrator],
        balancer_for: Callable[[DeclaredBalancer], Balancer],
        probe: Callable[[str, ReadyProbe], bool],
        clock: Callable[[], Instant],
        workers: int = 8,
    ) -> None:
        self._installation = installation
        self._store = store
        self._orchestrator_for = orchestrator_for
        self._balancer_for = balancer_for
        self._clock = clock
        self._workers = workers
        self._traffic = Traffic()
        self._leases = Leases()
        self._gatherer = Gatherer(
            installation=installation,
            store=store,
            orchestrator_for=orchestrator_for,
            balancer_for=balancer_for,
            probe=probe,
            clock=clock,
            workers=workers,
            traffic=self._traffic,
        )
        self._provisions = Provisions(store=store, balancer_for=balancer_for, clock=clock)
        self._budgets = threading.Lock()

    @property
    def installation(self) -> str:
        """Whose marks are ours."""
        return self._installation

    def cloud(self, declared: Cloud) -> Orchestrator:
        """The driver of a cloud."""
        return self._orchestrator_for(declared)

    def gather(self, group: GroupId, definition: Definition) -> World:
        """Look once, change nothing.

        Raises:
            StoreError: what we remember cannot be read.
        """
        return self._gatherer.gather(group, definition)

    def dry_run(self, stored: StoredGroup) -> Plan:
        """Say what a pass would do now.

        Raises:
            StoreError: what we remember cannot be read.
        """
        return _planned(self.snapshot(stored))

    def snapshot(self, stored: StoredGroup) -> Snapshot:
        """Gather, and say all that a pass would plan from now.

        Raises:
            StoreError: what we remember cannot be read.
        """
        return self._looked(stored)[0]

    def observe(self, stored: StoredGroup) -> Pass:
        """Gather and plan, and do nothing: no call that changes anything, no write.

        Raises:
            StoreError: what we remember cannot be read.
        """
        seen, used = self._looked(stored)
        return _seen_only(stored, seen.world, _planned(seen), used)

    def run(
        self,
        stored: StoredGroup,
        *,
        accept_vanished: bool = False,
        only: MemberName | None = None,
        latest: Callable[[], GroupState] | None = None,
    ) -> Pass:
        """Make one pass, for all members or for one alone, of whom a person believes what is seen.

        A paused, ORPHANED or merely advised group is only looked at, unless it is being deleted.

        Gathering may take long: what was decided meanwhile counts, so ``latest`` is asked for the state after it. It is
        asked again before every step: a pause lets the calls finish that run, and no other begin.

        Raises:
            StoreError: what we remember cannot be read. That it cannot be written ends the pass before the call.
        """
        tended = _UNTENDED if _hands_off(stored) or only is not None else self._provisions.tend(stored)
        return _with(tended, self._pass(stored, accept_vanished=accept_vanished, only=only, latest=latest))

    def _pass(
        self,
        stored: StoredGroup,
        *,
        accept_vanished: bool,
        only: MemberName | None,
        latest: Callable[[], GroupState] | None,
    ) -> Pass:
        world = self.gather(stored.id, stored.definition)
        if latest is not None:
            stored = replace(stored, state=latest())
        with self._budgets:  # groups of one cloud share its budget: between counting and minting nobody else mints
            used = self._store.creates(stored.id, stored.definition.cloud.id, self._clock())
            planned = _planned(self._snapshot(stored, world, used, accept_vanished=accept_vanished, only=only))
            planned = planned if only is None else planned.of(only)
            if _hands_off(stored):
                return _seen_only(stored, world, planned, used)
            try:
                minted = self._mint(stored, planned)
            except StoreError as error:
                return _halted(_seen_only(stored, world, planned, used), str(error))
        execution = Execution(self._tools(stored.definition, world), world, minted, goes_on=_goes_on(stored, latest))
        outcomes = execution.run(planned.steps)
        for wait, members in execution.waits.items():
            planned = planned.waiting(wait, members)
        done = self._concluded(stored, world, planned, outcomes, used)
        return done if execution.halted is None else _halted(done, execution.halted)

    def _looked(self, stored: StoredGroup) -> tuple[Snapshot, Creates]:
        world = self.gather(stored.id, stored.definition)
        used = self._store.creates(stored.id, stored.definition.cloud.id, self._clock())
        return self._snapshot(stored, world, used), used

    def _snapshot(
        self,
        stored: StoredGroup,
        world: World,
        used: Creates,
        *,
        accept_vanished: bool = False,
        only: MemberName | None = None,
    ) -> Snapshot:
        group, cloud = stored.definition.group.budget, stored.definition.cloud.budget
        now = self._clock()
        return Snapshot(
            desired=DesiredState(
                size=stored.state.desired,
                revision=stored.state.revision,
                deleting=stored.deleting,
                paused=_all_stopped(stored),
                roll=_rolling(stored),
            ),
            world=world,
            definition=stored.definition,
            limits=Limits(
                creates=min(
                    group.outstanding - used.group_outstanding,
                    cloud.outstanding - used.cloud_outstanding,
                    _hourly(group, cloud, used),
                ),
                back_off_until=stored.back_off_until,
                accept_vanished=accept_vanished,
                calls=self._traffic.left(stored.definition.cloud, now),
                full=self._traffic.is_full(stored.definition.cloud, now),
                accept_members=() if only is None else (only,),
            ),
            at=now,
        )

    def _mint(self, stored: StoredGroup, planned: Plan) -> tuple[Record, ...]:
        count = sum(isinstance(step, Create) and step.member is None for step in planned.steps)
        if not count:
            return ()
        group, cloud = stored.definition.group, stored.definition.cloud.id
        balancers = tuple((use.balancer, use.port) for use in group.balancers)
        made_of = stored.definition.profile_digest
        return self._store.intend(stored.id, cloud, count, balancers, self._clock(), made_of)

    def _tools(self, definition: Definition, world: World) -> Tools:
        readable = [balancer for balancer, seating in world.seatings.items() if seating.seats is not None]
        return Tools(
            installation=self._installation,
            store=self._store,
            orchestrator=self._orchestrator_for(definition.cloud),
            balancers={balancer: self._balancer_for(definition.balancers[balancer]) for balancer in readable},
            definition=definition,
            clock=self._clock,
            workers=self._workers,
            traffic=self._traffic,
            leases=self._leases,
        )

    def _concluded(
        self, stored: StoredGroup, world: World, planned: Plan, outcomes: tuple[Outcome, ...], used: Creates
    ) -> Pass:
        now = self._clock()
        before = Builds(failed=stored.failed_builds, back_off_until=stored.back_off_until)
        builds = builds_after(before, outcomes, world, Limits(creates=0, back_off_until=None), now)
        minted = sum(isinstance(step, Create) and step.member is None for step in planned.steps)
        seen = _seen_only(stored, world, planned, used)
        done = replace(
            seen,
            outcomes=outcomes,
            next_in=next_in(planned, outcomes, builds, now),
            vanished=tuple(surrendered(planned.vanished, world, now)),
            refused=tuple(ungiven(outcomes, world, now)),
            failed_builds=builds.failed,
            back_off_until=builds.back_off_until,
            creates_left=max(seen.creates_left - minted, 0),
            failures=told(outcomes, planned.held, world, failed=True),
            retries=(*told(outcomes, planned.held, world, failed=False), *seen.retries),
        )
        if builds == before:
            return done
        try:
            self._store.save_builds(stored.id, builds.failed, builds.back_off_until)
        except StoreError as error:
            return _halted(done, str(error))
        return done


def _with(tended: Tended, done: Pass) -> Pass:
    """Tell of the balancers that are made for a group in what its pass leaves behind."""
    paces = [pace for pace in (done.next_in, tended.next_in) if pace is not None]
    return replace(
        done,
        failures=(*tended.failures, *done.failures),
        retries=(*tended.retries, *done.retries),
        next_in=min(paces, default=None),
        bound=tended.bound,
    )


def _planned(snapshot: Snapshot) -> Plan:
    with uncollected(len(snapshot.world.members)):
        return snapshot.plan()


def _goes_on(stored: StoredGroup, latest: Callable[[], GroupState] | None) -> Callable[[], bool]:
    """Whether another step may begin: not once everything is paused."""
    if latest is None or stored.deleting:
        return lambda: True
    return lambda: latest().stopped is not Pause.ALL


def _hands_off(stored: StoredGroup) -> bool:
    held = stored.state.orphaned or _all_stopped(stored) or stored.definition.group.mode is not Mode.ACT
    return held and not stored.deleting


def _rolling(stored: StoredGroup) -> Rolling | None:
    if stored.roll is None or not stored.roll.runs or not stored.state.desired:
        return None
    surge, unavailable = stored.roll.budgets.of(stored.state.desired)
    return Rolling(surge=surge, unavailable=unavailable)


def _all_stopped(stored: StoredGroup) -> bool:
    return stored.state.stopped is Pause.ALL


def _hourly(group: Budget, cloud: Budget, used: Creates) -> int:
    return max(min(group.per_hour - used.group_past_hour, cloud.per_hour - used.cloud_past_hour), 0)


def _seen_only(stored: StoredGroup, world: World, planned: Plan, used: Creates) -> Pass:
    """Make the pass of one who only looked."""
    unseen = [seating.because for seating in world.seatings.values() if seating.seats is None]
    return Pass(
        world=world,
        plan=planned,
        outcomes=(),
        next_in=None,
        vanished=(),
        refused=(),
        failed_builds=stored.failed_builds,
        back_off_until=stored.back_off_until,
        creates_left=_hourly(stored.definition.group.budget, stored.definition.cloud.budget, used),
        failures=(),
        retries=(
            *(doubt.words for doubt in planned.doubts),
            *filter(None, [planned.repair_stopped]),
            *unseen,
            *words_of(world.members, planned.stuck),
            *_overdue(stored, world, planned),
        ),
    )


def _overdue(stored: StoredGroup, world: World, planned: Plan) -> Iterator[str]:
    within = format_span(stored.definition.group.build_timeout)
    for member in world.members:
        if member.name in planned.overdue and member.server is not None:
            yield f"{member.name} has been {member.server.raw_state} for longer than {within}"


def _halted(done: Pass, message: str) -> Pass:
    return replace(done, next_in=_STORE_RETRY, failures=(*done.failures, message))
