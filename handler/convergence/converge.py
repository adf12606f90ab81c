"""Convergence: gather the world, plan, write intents, carry out, record. One call is one pass of one group."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from config.errors import StoreError
from config.model.balancers import Balancer as DeclaredBalancer
from config.model.catalogue import Cloud, ReadyProbe
from config.units import GroupId, Instant, MemberName, Seconds
from handler.convergence.balancer_locks import BalancerLeases
from handler.convergence.claiming import Generation, Rival
from handler.convergence.evidence import Witnesses
from handler.convergence.execute import Execution, Tools
from handler.convergence.gather import Gatherer
from handler.convergence.idle_groups import IdleGroup, grows_only, idle_group
from handler.convergence.inventories import Compared, Inventories
from handler.convergence.inventory import AskedListing
from handler.convergence.leftovers import Journal, lifted
from handler.convergence.own_probes import OwnProbes
from handler.convergence.pass_plan import PassPlanner, PlannedPass
from handler.convergence.pass_threads import waiting
from handler.convergence.passes import Pass, halted, hands_off, with_obstacles, with_tended
from handler.convergence.provisions import Provisions, Tended
from handler.convergence.quotas import QuotaReading, Quotas, obstacles_of
from handler.convergence.stale_backends import deregister
from handler.convergence.traffic import CloudTraffic
from handler.planning.causes import failure_messages
from handler.planning.claims import inventory_of
from handler.planning.desired import Definition, Limits
from handler.planning.pacing import builds_after, next_in
from handler.planning.plan import Snapshot
from handler.planning.records import restored, surrendered, ungiven
from handler.planning.step_outcomes import StepOutcome
from handler.planning.steps import Create, Plan
from handler.planning.world import Record, World
from handler.ports.balancer import Balancer
from handler.ports.orchestrator import ListsUnadopted, Orchestrator, ReportsObstacles
from handler.ports.store import Store
from handler.ports.stored import StoredGroup
from trigger.guards.outdated_requests import compared
from trigger.requests import GroupState, Pause

_UNTENDED = Tended(bound=True)
"""The balancers that Trimtab creates for the group were not checked: they may exist."""


class Converger:
    """Carry out passes. Passes of different groups may run in parallel; of one group, one at a time."""

    def __init__(  # noqa: PLR0913 - the composition root's list of ports
        self,
        *,
        installation: str,
        store: Store,
        orchestrator_for: Callable[[Cloud], Orchestrator],
        balancer_for: Callable[[DeclaredBalancer], Balancer],
        probe: Callable[[str, ReadyProbe], str],
        clock: Callable[[], Instant],
        workers: int = 8,
        generation: Generation | None = None,
    ) -> None:
        self._installation = installation
        self._store = store
        self._orchestrator_for = orchestrator_for
        self._balancer_for = balancer_for
        self._clock = clock
        self._workers = workers
        self._generation = generation
        self._traffic = CloudTraffic()
        self._quotas = Quotas(orchestrator_for, self._traffic, clock)
        self._planner = PassPlanner(store, self._quotas, self._traffic, clock)
        self._leases = BalancerLeases()
        self.witnesses = Witnesses(probe, workers, OwnProbes(store))
        self._gatherer = Gatherer(
            installation=installation,
            store=store,
            orchestrator_for=orchestrator_for,
            balancer_for=balancer_for,
            probe=probe,
            clock=clock,
            workers=workers,
            traffic=self._traffic,
            witnesses=self.witnesses,
        )
        self._inventories = Inventories(
            installation=installation,
            store=store,
            orchestrator_for=orchestrator_for,
            clock=clock,
            traffic=self._traffic,
            witnesses=self.witnesses,
        )
        self._journal = Journal(store=store, clock=clock)
        self._provisions = Provisions(store=store, balancer_for=balancer_for, clock=clock)
        self._budgets = threading.Lock()

    @property
    def installation(self) -> str:
        """The installation whose marks members bear."""
        return self._installation

    def follow(self, step: Seconds) -> None:
        """Keep the remaining time of every span in memory after the clock was set by ``step``."""
        keepers = (self._gatherer, self.witnesses, self._traffic, self._leases, self._quotas, self._provisions)
        for keeper in keepers:
            keeper.follow(step)

    @property
    def generation(self) -> Generation | None:
        """The claim of this daemon; ``None``: it makes none."""
        return self._generation

    @property
    def rival(self) -> Rival | None:
        """Why this daemon has stopped acting; ``None``: it acts."""
        return None if self._generation is None else self._generation.rival

    def cloud(self, declared: Cloud) -> Orchestrator:
        """The driver of a cloud."""
        return self._orchestrator_for(declared)

    def standing(self, definition: Definition) -> int:
        """Return how many existing machines creations would use first (`handler.ports.orchestrator.ListsUnadopted`).

        Raises:
            DriverError: the number cannot be read.
        """
        orchestrator = self._orchestrator_for(definition.cloud)
        if not isinstance(orchestrator, ListsUnadopted):
            return 0
        with waiting():
            return orchestrator.standing(definition.profile)

    def idle(self, stored: StoredGroup, done: Pass) -> IdleGroup | None:
        """Return what a group goes by that this pass left with nothing to do; ``None``: it needs a pass each interval.

        Only passes ask a cloud that reports obstacles for them.
        """
        if self.rival is not None or not self._journal.is_closed(stored.id):
            return None
        idle = idle_group(stored, done)
        if idle is None or isinstance(self._orchestrator_for(stored.definition.cloud), ReportsObstacles):
            return None
        return idle

    def compare(self, cloud: Cloud, idle: Sequence[IdleGroup]) -> Compared:
        """Read one inventory for groups with nothing to do on one cloud (`handler.convergence.inventories`).

        Raises:
            StoreError: the store cannot be read.
        """
        return self._inventories.compare(cloud, idle)

    def listings(self, cloud: Cloud, groups: Sequence[GroupId]) -> Mapping[GroupId, AskedListing]:
        """List the machines of one group, or of several groups of one cloud by one call.

        Of several, those are left out that the call does not show whole.
        """
        if len(groups) > 1:
            return self._inventories.listings(cloud, groups)
        at = self._clock()
        return {group: AskedListing(asked_at=at, listing=self._gatherer.list(group, cloud)) for group in groups}

    def gather(
        self, group: GroupId, definition: Definition, *, corrects: bool = False, listed: AskedListing | None = None
    ) -> World:
        """Gather the world once, without changes; with ``corrects``, repair balancers that cannot be read otherwise.

        Raises:
            StoreError: the store cannot be read.
        """
        return self._gatherer.gather(group, definition, corrects=corrects, given=listed)

    def dry_run(self, stored: StoredGroup) -> Plan:
        """Return the plan of a pass now.

        Raises:
            StoreError: the store cannot be read.
        """
        return self._looked(stored).plan

    def snapshot(self, stored: StoredGroup) -> Snapshot:
        """Gather, and return the input of a plan now.

        Raises:
            StoreError: the store cannot be read.
        """
        return self._looked(stored).snapshot

    def observe(self, stored: StoredGroup, listed: AskedListing | None = None) -> Pass:
        """Gather and plan only: no call that changes anything, no write. For ``listed`` see `run`.

        Raises:
            StoreError: the store cannot be read.
        """
        return self._looked(stored, listed).only(stored)

    def run(
        self,
        stored: StoredGroup,
        *,
        accept_vanished: bool = False,
        only: MemberName | None = None,
        latest: Callable[[], GroupState] | None = None,
        listed: AskedListing | None = None,
    ) -> Pass:
        """Make one pass, for all members or for the one whose loss a person accepts.

        A paused, ORPHANED or advised group is only observed, unless it is being deleted.

        Gathering may take long, and decisions made meanwhile count: ``latest`` returns the state after it. It is called
        again before every step: after a pause, running calls finish and no other begins. ``listed`` is a listing that
        was asked for since the group's last pass, or that is kept for creations; without it the pass asks for one.

        Raises:
            StoreError: the store cannot be read. If it cannot be written, the pass ends before the call.
        """
        self._meet(stored)
        kept = hands_off(stored) or stored.state.older is not None or self.rival is not None
        with waiting():
            tended = _UNTENDED if kept or only is not None else self._provisions.tend(stored)
        done = self._pass(stored, accept_vanished=accept_vanished, only=only, latest=latest, listed=listed)
        if not kept and not stored.deleting and only is None:
            orchestrator = self._orchestrator_for(stored.definition.cloud)
            done = with_obstacles(obstacles_of(orchestrator, stored.definition, self._traffic, self._clock), done)
        return self._reported(stored, with_tended(tended, replace(done, whole=only is None)))

    def _meet(self, stored: StoredGroup) -> None:
        """Claim the group's cloud before the first step there (`handler.convergence.claiming`)."""
        cloud = stored.definition.cloud
        if self._generation is not None and not hands_off(stored):
            self._generation.meet(cloud, self._orchestrator_for(cloud), self._traffic)

    def _see(self, stored: StoredGroup, world: World) -> None:
        """Look for claims of another daemon among the listed machines."""
        cloud = stored.definition.cloud
        servers = [member.server for member in world.members if member.server is not None]
        if self._generation is not None and not hands_off(stored):
            self._generation.see(cloud, self._orchestrator_for(cloud), self._traffic, stored.id, servers)

    def _reported(self, stored: StoredGroup, done: Pass) -> Pass:
        """Add to a pass that this daemon has stopped acting, or cannot write its claim."""
        if self._generation is None:
            return done
        failures = () if self.rival is None else (self.rival.words,)
        unwritten = self._generation.unwritten.get(stored.definition.cloud.id)
        retries = () if unwritten is None else (unwritten,)
        return replace(done, failures=(*failures, *done.failures), retries=(*retries, *done.retries))

    def _pass(
        self,
        stored: StoredGroup,
        *,
        accept_vanished: bool,
        only: MemberName | None,
        latest: Callable[[], GroupState] | None,
        listed: AskedListing | None = None,
    ) -> Pass:
        ordered, quiet = accept_vanished or only is not None, self.rival is not None or hands_off(stored)
        world = self.gather(stored.id, stored.definition, corrects=only is None and not quiet, listed=listed)
        self._see(stored, world)
        if latest is not None:
            stored = replace(stored, state=latest())
        if self.rival is None and not hands_off(stored):
            self._journal.close(stored.id, stored.definition.cloud.id, world)
            stored, world = lifted(self._store, stored, world, only, self._clock(), ordered=ordered)
        held = self.rival is not None or hands_off(stored) or _is_doubted(stored, world, self._clock())
        look = partial(self._planner.look, stored, world, accept_vanished=accept_vanished, only=only)
        seen, minted, reading = look(), tuple[Record, ...](), None
        if listed is not None and listed.kept and not grows_only(seen.plan):
            return self._pass(stored, accept_vanished=accept_vanished, only=only, latest=latest)
        if seen.plan.makes:
            reading = self._quotas.read(stored.definition)
            with (
                self._budgets
            ):  # groups of one cloud share budgets and quotas: one pass at a time counts and records intents
                seen = look(reading=reading)
                try:
                    minted = () if held else self._mint(stored, seen, reading)
                except StoreError as error:
                    return halted(seen.only(stored), str(error))
        if held:
            return seen.only(stored)
        goes_on = self._goes_on(stored, latest)
        return self._carried_out(stored, seen, minted, reading, settled=only is None, goes_on=goes_on)

    def _carried_out(
        self,
        stored: StoredGroup,
        seen: PlannedPass,
        minted: tuple[Record, ...],
        reading: QuotaReading | None,
        *,
        settled: bool,
        goes_on: Callable[[], bool],
    ) -> Pass:
        """Carry out what was planned; ``settled``: the pass is for all members."""
        world, planned, tools = seen.snapshot.world, seen.plan, self._tools(stored.definition, seen.snapshot.world)
        try:
            settled = settled and stored.state.older is None
            registered = () if not settled else deregister(self._gatherer.reverted[stored.id], stored.id, tools)
        except StoreError as error:
            return halted(seen.only(stored), str(error))
        execution = Execution(tools, world, minted, goes_on=goes_on)
        outcomes = execution.run(planned.steps)
        self._quotas.passed(stored.id, stored.definition.cloud.id, outcomes)
        for wait, members in execution.waits.items():
            planned = planned.waiting(wait, members)
        done = self._concluded(stored, replace(seen, plan=planned), outcomes)
        done = replace(done, unread=self._quotas.news(reading), retries=(*done.retries, *registered))
        return done if execution.halted is None else halted(done, execution.halted)

    def _goes_on(self, stored: StoredGroup, latest: Callable[[], GroupState] | None) -> Callable[[], bool]:
        """Return whether another step may begin: not in a full pause, nor while another daemon controls the fleet."""
        if latest is None or stored.deleting:
            return lambda: self.rival is None
        return lambda: self.rival is None and latest().stopped is not Pause.ALL

    def _looked(self, stored: StoredGroup, listed: AskedListing | None = None) -> PlannedPass:
        world = self.gather(stored.id, stored.definition, listed=listed)
        seen = self._planner.look(stored, world)
        if not seen.plan.makes:
            return seen
        return self._planner.look(stored, world, reading=self._quotas.read(stored.definition))

    def _mint(self, stored: StoredGroup, seen: PlannedPass, reading: QuotaReading | None) -> tuple[Record, ...]:
        minted = self._intend(stored, seen.plan)
        self._quotas.promise(stored.id, reading, [*(record.name for record in minted), *seen.intended()])
        return minted

    def _intend(self, stored: StoredGroup, planned: Plan) -> tuple[Record, ...]:
        count = sum(isinstance(step, Create) and step.member is None for step in planned.steps)
        if not count:
            return ()
        group, cloud = stored.definition.group, stored.definition.cloud.id
        balancers = tuple((use.balancer, use.port) for use in group.balancers)
        made_of = stored.definition.profile_digest
        return self._store.intend(stored.id, cloud, count, balancers, self._clock(), made_of)

    def _tools(self, definition: Definition, world: World) -> Tools:
        readable = [
            balancer for balancer, balancer_view in world.balancer_views.items() if balancer_view.known is not None
        ]
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
            quotas=self._quotas,
            claim=None if self._generation is None else self._generation.own,
        )

    def _concluded(self, stored: StoredGroup, before_it: PlannedPass, outcomes: tuple[StepOutcome, ...]) -> Pass:
        world, planned, now = before_it.snapshot.world, before_it.plan, self._clock()
        before = stored.builds
        builds = builds_after(before, outcomes, world, Limits(creates=0, back_off_until=None), now)
        if builds != before:
            builds = replace(builds, of=stored.definition.build_digest)
        self.witnesses.acted(world, planned.believed, evened=planned.evened)
        minted = sum(isinstance(step, Create) and step.member is None for step in planned.steps)
        seen = before_it.only(stored)
        done = replace(
            seen,
            outcomes=outcomes,
            next_in=next_in(planned, outcomes, builds, now),
            vanished=tuple(surrendered(planned.vanished, world, now)),
            refused=tuple(ungiven(outcomes, world, now)),
            returned=tuple(restored(planned.returned, world, stored.definition, now)),
            builds=builds,
            creates_left=max(seen.creates_left - minted, 0),
            failures=(*seen.failures, *failure_messages(outcomes, planned.held, world, failed=True)),
            retries=(*failure_messages(outcomes, planned.held, world, failed=False), *seen.retries),
        )
        if builds == before:
            return done
        try:
            self._store.save_builds(stored.id, builds)
        except StoreError as error:
            return halted(done, str(error))
        return done


def _is_doubted(stored: StoredGroup, world: World, now: Instant) -> bool:
    """Return whether this world changes how far the store is believed, which has to be stored before any step."""
    if stored.deleting:
        return False
    seen = inventory_of(world, stored.state.desired)
    return compared(stored.definition.group, stored.state, seen, now) is not stored.state
