"""Registrations of gone members, on a balancer that came back with an earlier state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from config.errors import Permanent, Transient
from config.model.catalogue import Mode
from config.units import MemberName
from handler.planning.world import Registration, RegistrationState
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import FakeBalancer
from tests.support.worlds import EDGE, WEB, name_of

GONE, OTHER = name_of(1), MemberName("web-zzzzzz-1")


@dataclass
class Template(FakeBalancer):
    def deregister(self, member: MemberName) -> None:
        self.leave(member)


def reverted(kind: type[FakeBalancer] = Template, state: RegistrationState = RegistrationState.SERVING) -> Bed:
    """One of three members has gone, and is given work again."""
    bed = grown(3)
    bed.balancers[EDGE] = kind(bed.clock, instants=bed.instants, states=bed.edge.states, addresses=bed.edge.addresses)
    bed.desire(2)
    bed.settle()
    assert bed.machines == {name_of(2), name_of(3)}
    bed.edge.states |= {GONE: state, OTHER: state}
    return bed


def messages(bed: Bed) -> list[str]:
    return [event.message for event in bed.store.events.values() if (event.name, event.by) == ("leave", GONE)][1:]


def test_a_gone_member_is_deregistered_and_history_has_the_reason() -> None:
    bed = reverted()

    bed.run()

    assert GONE not in bed.edge.states
    assert OTHER in bed.edge.states, "it is no member of this installation"
    assert messages(bed) == ["edge: it is gone, and the balancer came back with an earlier state"]
    assert bed.machines == {name_of(2), name_of(3)}


@dataclass
class Unreadable(FakeBalancer):
    """It cannot be read before it was repaired."""

    corrected: int = 0

    def correct(self) -> None:
        self.corrected += 1

    def registrations(self) -> Mapping[MemberName, Registration]:
        if not self.corrected:
            raise Permanent("it is not said whose")
        return super().registrations()


@pytest.mark.parametrize(("mode", "corrected"), [(Mode.ACT, 1), (Mode.ADVISE, 0)])
def test_only_an_acting_daemon_repairs_an_unreadable_balancer(mode: Mode, corrected: int) -> None:
    bed = grown(1)
    bed.balancers[EDGE] = edge = Unreadable(bed.clock, states=bed.edge.states, addresses=bed.edge.addresses)
    bed.redefine(replace(bed.definition, group=replace(bed.definition.group, mode=mode)))
    stored = bed.store.kept[WEB]
    for look in (bed.converger.observe, bed.converger.dry_run, bed.converger.snapshot):
        look(stored)
    assert edge.corrected == 0
    bed.run()
    bed.run()
    assert edge.corrected == corrected


def test_a_balancer_that_does_not_come_back_so_is_left_alone() -> None:
    bed = reverted(FakeBalancer)

    bed.run()

    assert GONE in bed.edge.states


def test_a_registration_without_work_is_left_alone() -> None:
    bed = reverted(state=RegistrationState.PARKED)

    bed.run()

    assert GONE in bed.edge.states


def only_looked_at(bed: Bed) -> None:
    bed.converger.observe(bed.stored)


def listed_in_part(bed: Bed) -> None:
    bed.cloud.partial = True
    bed.run()


@pytest.mark.parametrize("when", [only_looked_at, listed_in_part])
def test_no_registration_is_removed_while_observing_or_without_a_complete_listing(when: Any) -> None:
    bed = reverted()

    when(bed)

    assert GONE in bed.edge.states


def test_a_failed_part_is_reported_and_tried_again() -> None:
    bed = reverted()
    bed.edge.faults.script("leave", Transient("no answer"))

    done = bed.run()

    assert done.retries == (f"balancer edge: {GONE} is gone, and is still registered: no answer",)
    bed.run()
    assert GONE not in bed.edge.states
    assert len(messages(bed)) == 2


def test_what_cannot_be_written_down_is_not_done() -> None:
    bed = reverted()
    bed.store.full = True

    done = bed.run()

    assert GONE in bed.edge.states
    assert done.failures
