"""Members are nodes of roles of existing OneFlow services: OneFlow creates them, and OpenNebula lists them.

Note [Ordered by name]: before it scales a role, the driver writes the names of the next nodes (the order) into the
role; OneFlow refuses that write if the role has changed since it was read. Every new node bears the order from the
start, so the driver finds it by its mark even if an answer is lost, as `handler.orchestrators.opennebula.driver` does
(docs/adr/0012).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from collector.clients.circuits import Circuits
from collector.clients.coalescing import QUIET, Coalescer
from config.errors import DriverError, Engaged, Full, Permanent, Transient
from config.model.access import SecretRef
from config.model.catalogue import OneflowCloud, OneflowRecipe, OpennebulaRecipe, Profile
from config.model.node_orders import names_of, order_of
from config.units import Instant, MemberName, Seconds
from handler.orchestrators.accepted import after_acceptance, passing
from handler.orchestrators.oneflow.client import FlowWire
from handler.orchestrators.oneflow.doctor import FlowExamination
from handler.orchestrators.oneflow.obstacles import about, in_the_way, rivals_of
from handler.orchestrators.oneflow.parsing import FAILED_SCALING, PASSING, RUNNING, Service, ServiceRole, with_order
from handler.orchestrators.oneflow.services import OneflowServices
from handler.orchestrators.opennebula.driver import OpennebulaOrchestrator
from handler.orchestrators.opennebula.parsing import GIVEN, MARK, OpennebulaMachine, claim_of
from handler.orchestrators.opennebula.states import POWEROFF
from handler.planning.headroom import Quota, UsageLimit
from handler.planning.launches import LaunchId
from handler.planning.world import Server, ServerState
from handler.ports.examination import Check
from handler.ports.orchestrator import Launch

_LOOK_AGAIN: Seconds = 5.0
"""Pause while a service is busy."""
_STARTS = 3
_TAKEN = frozenset({ServerState.RUNNING, ServerState.BUILDING, ServerState.PASSING})
"""States of nodes that a creation may take: parked and broken nodes are not touched."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A role of a service, as just read."""

    service: Service
    role: ServiceRole
    machines: Sequence[OpennebulaMachine]
    """All machines of the user, nodes or not."""

    @property
    def nodes(self) -> Sequence[OpennebulaMachine]:
        """Return the role's nodes, in its order."""
        known = {machine.id: machine for machine in self.machines}
        return [known[node] for node in self.role.nodes if node in known]

    @property
    def free(self) -> Sequence[OpennebulaMachine]:
        """Return nodes that are not members."""
        return [node for node in self.nodes if not node.mark and node.launch is None and _may_be_taken(node)]


class OneflowOrchestrator(OpennebulaOrchestrator):
    """The driver of one user's roles on one OneFlow. Apart from creation, it is OpenNebula's driver."""

    def __init__(
        self,
        declaration: OneflowCloud,
        installation: str,
        clock: Callable[[], Instant],
        read_secret: Callable[[SecretRef], str],
        circuits: Circuits | None = None,
        *,
        quiet: Seconds = QUIET,
    ) -> None:
        super().__init__(declaration.nebula, installation, clock, read_secret, circuits)
        self._declaration = declaration
        self._flow = FlowWire(declaration, read_secret, circuits)
        self._services = OneflowServices(declaration.id, self._flow, clock)
        self._lock = threading.Lock()
        self._quiet = quiet
        self._growing: dict[OneflowRecipe, Coalescer[MemberName, OpennebulaMachine]] = {}
        self._starts: dict[int, int] = {}
        """How often machines that were off were started, so that they can be removed."""

    def standing(self, profile: Profile) -> int:
        """Return how many nodes of the role are not members: creations take these before OneFlow makes others.

        Raises:
            DriverError: the number cannot be read.
        """
        return len(self._place(self._recipe(profile)).free)

    def foreign_member(self, named: str) -> Server | None:
        """Find a machine, as OpenNebula's driver; a member's mark counts as a name, too."""
        for machine in self._pool.read()[0]:
            if machine.launch is not None and machine.launch.name == named:
                self._refuse_marked(machine, named)
        return super().foreign_member(named)

    def checks(self, profiles: Sequence[Profile], most: int) -> Sequence[Check]:
        """Return checks of OpenNebula and OneFlow, as `handler.ports.examination.Examined`."""
        examination = FlowExamination(
            cloud=self._declaration,
            flow=self._flow,
            services=self._services,
            free=lambda recipe: [node.id for node in self._place(recipe).free],
        )
        return (*super().checks(profiles, most), *examination.checks(profiles))

    def quotas(self, profile: Profile) -> Sequence[Quota]:
        """Return the quotas of the user and its group, and the role's ``max_vms``. Existing free nodes count already.

        Attributes that a role overrides in its template are not considered.
        """
        place = self._place(self._recipe(profile))
        role = place.role
        if place.free:
            return ()
        nodes = UsageLimit(
            what=f"nodes of role {role.name} of service {place.service.id}", used=role.cardinality, most=role.most
        )
        made_of = OpennebulaRecipe(template=str(role.template))
        others = () if role.template is None else super().quotas(replace(profile, recipe=made_of))
        return (Quota(limit=nodes, each=1), *others)

    def obstacles(self, profile: Profile) -> Sequence[str]:
        """Say what the service waits for, and what else scales the role (`ReportsObstacles`)."""
        recipe = self._recipe(profile)
        service = self._services.lately(recipe.service)
        role, waits = self._role(service, recipe), ""
        if service.state != RUNNING:
            waits = in_the_way(service, self._pool.read()[0])
        return [
            f"{self._about_service(service)}: {obstacle}" for obstacle in (waits, *rivals_of(service, role)) if obstacle
        ]

    # Making.

    def _made(self, launch: Launch) -> OpennebulaMachine:
        recipe = self._recipe(launch.profile)
        with self._lock:
            together = self._growing.setdefault(recipe, self._coalescer(recipe))
        machine = together.ask(launch.id.name)
        self._seen[launch.id.name] = machine.id
        if launch.claim is not None and machine.claim != launch.claim:
            with after_acceptance():
                self._write(machine, claim_of(launch.claim))
        return machine

    def _coalescer(self, recipe: OneflowRecipe) -> Coalescer[MemberName, OpennebulaMachine]:
        return Coalescer(lambda names: self._grown(recipe, names), self._quiet)

    def _recipe(self, profile: Profile) -> OneflowRecipe:
        if not isinstance(profile.recipe, OneflowRecipe):
            raise Permanent(f"profile {profile.id} has no role of OneFlow")
        return profile.recipe

    def _grown(
        self, recipe: OneflowRecipe, names: Sequence[MemberName]
    ) -> Mapping[MemberName, OpennebulaMachine | DriverError]:
        """Find members among the existing nodes; order all missing ones in one scaling."""
        names = sorted(names, key=_sequence)
        place = self._place(recipe)
        there = {name: node for node in place.machines if (name := node.member(self._installation)) in names and name}
        missing = [name for name in names if name not in there]
        claimed = {name: self._claimed(name, node) for name, node in zip(missing, place.free, strict=False)}
        answers: dict[MemberName, OpennebulaMachine | DriverError] = {**there, **claimed}
        missing = [name for name in missing if name not in claimed]
        if missing:
            answers |= self._ordered(place, missing)
        return answers

    def _place(self, recipe: OneflowRecipe) -> _Place:
        """Read a role and its nodes.

        Raises:
            Permanent: the service or role is missing, or cannot be scaled.
            Transient: the listing is incomplete.
        """
        service = self._services.find(recipe.service)
        role = self._role(service, recipe)
        machines, because = self._pool.read()
        if because:
            raise Transient(because)
        listed = {machine.id for machine in machines}
        asked = [self._machine(node) for node in role.nodes if node not in listed]
        return _Place(service, role, [*machines, *(machine for machine in asked if machine is not None)])

    def _role(self, service: Service, recipe: OneflowRecipe) -> ServiceRole:
        role = service.roles.get(recipe.role)
        if role is None:
            known = ", ".join(service.roles) or "none"
            raise Permanent(f"{self._about_service(service)} has no role {recipe.role}: its roles are {known}")
        if role.router:
            raise Permanent(
                f"{self._about_service(service)}: role {role.name} is one of virtual routers: they do not scale"
            )
        return role

    def _claimed(self, name: MemberName, node: OpennebulaMachine) -> OpennebulaMachine | DriverError:
        """Write a mark on an existing node; the last writer wins, so the node is read again."""
        try:
            self._write(node, ((MARK, name), (GIVEN, str(node.id))))
            with after_acceptance():
                again = self._machine(node.id)
        except DriverError as error:
            return error
        if again is None or again.member(self._installation) != name:
            return Transient(f"{self._about(name)}: node {node.id} is gone, or belongs to another member now")
        return again

    def _ordered(
        self, place: _Place, missing: Sequence[MemberName]
    ) -> Mapping[MemberName, OpennebulaMachine | DriverError]:
        service, role = place.service, place.role
        self._refuse_scaling(place)
        room = len(missing) if role.most is None else max(role.most - role.cardinality, 0)
        full = Full(f"{self._about_service(service)}: role {role.name} has max_vms {role.most}: raise it, or lower max")
        wanted = missing[:room]
        if not wanted:
            return dict.fromkeys(missing, full)
        first = role.next_number
        called = names_of(
            self._declaration.vm_name, (service.id, service.name), role.name, range(first, first + len(wanted))
        )
        order = order_of(dict(zip(called, wanted, strict=True)))
        self._flow.ask("PUT", f"/service/{service.id}", with_order(service, role.name, order))
        size = role.cardinality + len(wanted)
        self._scale(service, {"role_name": role.name, "cardinality": size, "force": False})
        with after_acceptance():
            born = self._born(place, wanted)
        return {**dict.fromkeys(missing[room:], full), **born}

    def _scale(self, service: Service, scaling: Mapping[str, object]) -> None:
        """Have a role scaled. If that is refused for good, the role is put back as it was read, without the order.

        Its members will not exist: a node that a person adds later would be taken for one that came back. A quota stops
        a scaling half way, and the order is still needed; the role cannot be put back then.
        """
        try:
            self._flow.ask("POST", f"/service/{service.id}/scale", scaling)
        except Full:
            raise
        except Permanent:
            with contextlib.suppress(DriverError):
                self._flow.ask("PUT", f"/service/{service.id}", service.body)
            raise

    def _refuse_scaling(self, place: _Place) -> None:
        """Raise if OneFlow would not scale a role, or not to the right size.

        Raises:
            Engaged: the service is busy.
            Transient: a temporary state, or one that a person fixes at OneFlow.
        """
        service, role = place.service, place.role
        it_is = f"{self._about_service(service)}: it is {service.state}"
        if service.state == FAILED_SCALING:
            self._flow.ask("POST", f"/service/{service.id}/action", {"action": {"perform": "recover", "params": {}}})
            raise Transient(f"{it_is}, and is now recovering: {service.complaint or 'its log has no error'}")
        if service.state in PASSING:
            raise Engaged(f"{it_is}, and scales when it is RUNNING", retry_after=_LOOK_AGAIN)
        if service.state != RUNNING:
            raise Transient(f"{self._about_service(service)}: {in_the_way(service, place.machines)}")
        if role.cardinality != len(role.nodes):
            counted = f"role {role.name} counts {role.cardinality} nodes and has {len(role.nodes)}"
            raise Transient(f"{self._about_service(service)}: {counted}: it would scale to another size than requested")

    def _born(
        self, place: _Place, wanted: Sequence[MemberName]
    ) -> Mapping[MemberName, OpennebulaMachine | DriverError]:
        """Find the new nodes by their marks; mark those without one, since all are ours."""
        nodes = self._services.find(str(place.service.id)).roles[place.role.name].nodes
        asked = [self._machine(node) for node in nodes if node not in place.role.nodes]
        new = [machine for machine in asked if machine is not None]
        born = {name: machine for machine in new if (name := machine.member(self._installation)) in wanted and name}
        answers: dict[MemberName, OpennebulaMachine | DriverError] = {
            name: self._settled(name, machine) for name, machine in born.items()
        }
        others = [machine for machine in new if not machine.mark and machine.launch is None]
        left = [name for name in wanted if name not in born]
        for name, machine in zip(left, others, strict=False):
            given = self._claimed(name, machine)
            answers[name] = passing(given) if isinstance(given, DriverError) else given
        return answers

    def _settled(self, name: MemberName, machine: OpennebulaMachine) -> OpennebulaMachine:
        """Write the member's name beside the order, for people and counters. The order alone identifies it."""
        if machine.mark:
            return machine
        self._write(machine, ((MARK, name), (GIVEN, str(machine.id))))
        return replace(machine, mark=name, given=str(machine.id))

    # Removing.

    def _terminate(self, machine: OpennebulaMachine, *, hard: bool) -> None:
        """Remove a machine, as OpenNebula's driver; but start one that is off first, and remove it at the next call.

        While a node is off, its service is in WARNING. That ends when the node runs, not when it is deleted. A start
        that has no answer, or is refused for now, is tried again.
        """
        tried = self._starts.get(machine.id, 0)
        if machine.state != POWEROFF or tried >= _STARTS:
            super()._terminate(machine, hard=hard)
            return
        self._starts[machine.id] = _STARTS  # then it is removed, whatever it does
        try:
            self._client.ask("vm.action", "resume", machine.id)
        except Transient:
            self._starts[machine.id] = tried + 1
            raise

    def _about_service(self, service: Service) -> str:
        return about(self._declaration.id, service)


def _may_be_taken(machine: OpennebulaMachine) -> bool:
    return machine.meaning is not None and machine.meaning[1] in _TAKEN


def _sequence(name: MemberName) -> int:
    launch = LaunchId.parse(name)
    return 0 if launch is None else launch.sequence
