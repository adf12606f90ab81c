"""A bed whose group is behind a balancer that is made for it, on a clock that tests move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from config.model.catalogue import BalancerUse
from config.model.clouds import SimulatedCloud
from config.model.managed import HealthMonitor, ManagedBalancer, ManagedPart, Vip
from config.units import BalancerId, CloudId, MemberName
from handler.balancers.simulated import SimulatedBalancer
from handler.planning.desired import Definition
from handler.planning.provisioning import PartStatus, Provision
from handler.planning.world import Registration
from tests.support.beds import Bed
from tests.support.fake_cloud import FakeClock, Faults, Instants
from tests.support.worlds import EDGE, WEB, a_definition

MADE = BalancerId("made")
MAKING = 5.0
"""Seconds that a part takes."""


def a_managed(**changes: object) -> ManagedBalancer:
    lab = SimulatedCloud(id=CloudId("lab"))
    declared = ManagedBalancer(
        id=MADE, on=lab.id, cloud=lab, vip=Vip(subnet="public"), health_monitor=HealthMonitor(), lb_status_timeout=60.0
    )
    return replace(declared, **changes)  # type: ignore[arg-type]


def a_part(state: Provision = Provision.ACTIVE, *, id: str = "7", word: str = "") -> PartStatus:
    return PartStatus(id=id, state=state, word=word or f"{state.name}_CREATE")


class FakeProvisioner(SimulatedBalancer):
    """The simulated balancer with faults and instants; an answer may be lost after the work is done."""

    def __init__(self, declared: ManagedBalancer, clock: FakeClock, instants: Instants) -> None:
        super().__init__(declared, clock, making=MAKING, changing=1.0)
        self.clock, self.instants, self.faults = clock, instants, Faults()
        self.broken: ManagedPart | None = None
        """A part that came to nothing."""
        self.hidden = False
        """Listings by name show none of it, though it exists."""

    def parts(self) -> Mapping[ManagedPart, PartStatus]:
        with self.faults.around("parts"):
            found = {} if self.hidden else dict(super().parts())
        if self.broken in found:
            found[self.broken] = a_part(Provision.ERROR, id=found[self.broken].id, word="ERROR")
        return found

    def registrations(self) -> Mapping[MemberName, Registration]:
        return {} if self.hidden else super().registrations()

    def is_gone(self, part: ManagedPart, id: str) -> bool:
        with self.faults.around("is_gone"):
            return super().is_gone(part, id)

    def create(self, part: ManagedPart, found: Mapping[ManagedPart, PartStatus]) -> None:
        with self.instants.around(f"create {part.value}"), self.faults.around("create"):
            super().create(part, found)

    def delete(self, part: ManagedPart, id: str) -> None:
        with self.instants.around(f"delete {part.value}"), self.faults.around("delete"):
            super().delete(part, id)

    def join(self, member: MemberName, address: str, port: int) -> None:
        with self.instants.around(f"join {member}"), self.faults.around("join"):
            super().join(member, address, port)


def definition_behind(*declared: ManagedBalancer, edge: bool = True) -> Definition:
    """A group behind ``EDGE`` (or not) and balancers that are made for it."""
    before = a_definition(balancers=(EDGE,) if edge else (), drain=0.0)
    uses = (*before.group.balancers, *(BalancerUse(balancer=each.id, port=81) for each in declared))
    balancers = MappingProxyType({**before.balancers, **{each.id: each for each in declared}})
    return replace(before, group=replace(before.group, balancers=uses), balancers=balancers)


def a_bed(size: int, *, edge: bool = True, **changes: object) -> tuple[Bed, FakeProvisioner]:
    """A bed that has not begun, and the balancer that is to be made."""
    declared = a_managed(**changes)
    bed = Bed(definition=definition_behind(declared, edge=edge), size=size)
    made = FakeProvisioner(declared, bed.clock, bed.instants)
    bed.balancers[MADE] = made  # type: ignore[assignment]
    return bed, made


def undeclare(bed: Bed) -> None:
    """The group is behind the balancer no more, nor will members be: as a reload leaves it after a detachment."""
    kept = bed.store.kept[WEB]
    uses = tuple(use for use in kept.definition.group.balancers if use.balancer != MADE)
    group = replace(kept.definition.group, balancers=uses)
    bed.store.kept[WEB] = replace(kept, definition=replace(kept.definition, group=group))
