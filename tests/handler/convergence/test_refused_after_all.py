"""A call that its cloud refuses after the work is done: the machine counts, and no member is lost or made twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.errors import DriverError, Permanent, Transient
from config.model.catalogue import Victims
from config.units import MemberName
from handler.planning.world import Server
from handler.ports.orchestrator import Launch
from tests.support.beds import Bed
from tests.support.worlds import WEB, a_definition, name_of

REFUSED = Permanent("prod: PUT /servers/…: Policy doesn't allow os_compute_api:servers:update")


def settled(size: int, victims: Victims = Victims.OLDEST) -> Bed:
    definition = a_definition(balancers=(), ready=None)
    bed = Bed(definition=replace(definition, group=replace(definition.group, victims=victims)), size=size)
    bed.settle()
    return bed


def passed(bed: Bed, times: int) -> None:
    for _ in range(times):
        bed.run()
        bed.clock.advance(30.0)


@pytest.mark.parametrize("victims", [Victims.OLDEST, Victims.NEWEST])
def test_no_machine_is_destroyed_whose_adoption_is_refused_after_the_mark(victims: Victims) -> None:
    bed = settled(2, victims)
    machine, mark = bed.cloud.add(MemberName("database")).id, bed.cloud.mark

    def marked_and_refused(id: str, launch: Launch) -> Server:
        mark(id, launch)
        raise REFUSED

    bed.cloud.mark = marked_and_refused  # type: ignore[method-assign]
    name = bed.adopt()
    passed(bed, 10)
    assert (bed.cloud.destroyed, bed.store.kept[WEB].state.desired) == ([], 3)
    assert bed.cloud.machines[name].id == machine


@pytest.mark.parametrize("unreachable", [False, True], ids=["asked-by-name", "not-to-be-asked-at-first"])
def test_a_machine_that_is_made_and_then_refused_is_a_member(unreachable: bool) -> None:
    bed = settled(1)
    create, find = bed.cloud.create, bed.cloud.find
    away: list[DriverError] = [Transient("no route")] if unreachable else []

    def made_and_refused(launch: Launch) -> Server:
        create(launch)
        raise REFUSED

    def found(name: MemberName) -> Server | None:
        if away:
            raise away.pop()
        return find(name)

    bed.cloud.create, bed.cloud.find = made_and_refused, found  # type: ignore[method-assign]
    bed.desire(2)
    passed(bed, 10)
    assert (sorted(bed.cloud.machines), bed.cloud.destroyed) == ([name_of(1), name_of(2)], [])


def test_a_creation_that_is_refused_and_makes_nothing_is_given_up() -> None:
    bed = settled(1)

    def refused(launch: Launch) -> Server:
        raise REFUSED

    bed.cloud.create = refused  # type: ignore[method-assign]
    bed.desire(2)
    assert bed.run().builds.failed == 1
    assert sorted(bed.cloud.machines) == [name_of(1)]
