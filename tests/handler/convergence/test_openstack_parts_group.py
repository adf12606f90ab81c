"""A complete group on OpenStack with ports, floating addresses and volumes, over the real protocols."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from config.model.parts import FloatingAddress, MemberPart, NetworkPort, OnDelete, Volume
from config.units import PartName
from tests.support.cloud_beds import CloudBed
from tests.support.fake_cloud import Killed
from tests.support.openstack import a_server_recipe, openstack_stage
from tests.support.openstack_wire import error
from tests.support.waiting import PATIENT
from tests.support.wire_server import LOST, UNREACHED, Fault, answered
from tests.support.worlds import a_definition

DATA = MemberPart(name=PartName("data"), spec=Volume(size=1 << 30), on_delete=OnDelete.RETAIN)
FRONT = MemberPart(name=PartName("front"), spec=NetworkPort(network="net"))
PUBLIC = MemberPart(name=PartName("public"), spec=FloatingAddress(network="public", port=FRONT.name))
PARTS = (DATA, FRONT, PUBLIC)
_CHANGES_AT_MOST = 100


def a_bed(workers: int = 4) -> CloudBed:
    kept = a_definition(parts=PARTS)
    profile = replace(kept.profile, recipe=a_server_recipe(networks=()))
    definition = replace(kept, profile=profile, group=replace(kept.group, grace=0.0))
    return CloudBed(definition=definition, size=0, workers=workers)


@pytest.fixture
def bed() -> Iterator[CloudBed]:
    bed = a_bed()
    with openstack_stage(clock=bed.clock) as stage:
        yield bed.on(stage, lambda: stage.nova.alive, timeout=PATIENT)


def whole(bed: CloudBed, size: int, *, retained: int = 0) -> None:
    """Every member has its parts, each of them once; only retained parts have no member."""
    bed.whole(size)
    parts = bed.stage.parts()
    assert parts == sorted([("", "data")] * retained + [(name, part.name) for name in bed.known() for part in PARTS])
    servers = {vm.id: vm.name for vm in bed.stage.nova.vms.values()}
    for port in bed.stage.neutron.ports.values():
        assert servers[port["device_id"]] in port["description"]


def test_a_group_with_parts_grows_and_shrinks_while_answers_are_lost(bed: CloudBed) -> None:
    bed.stage.nova.builds = bed.stage.cinder.builds = bed.stage.cinder.deletes = 2
    bed.wire.script("POST /ports", LOST, UNREACHED, answered(b"<html>", status=502, obeyed=True))
    bed.wire.script("POST /volumes", LOST, error(500, "Internal error", obeyed=True), error(503, "later"))
    bed.wire.script("POST /floatingips", UNREACHED, LOST, error(409, "conflict"))
    bed.wire.script("GET /ports", error(503, "later"), answered(b"{", status=200))
    bed.desire(4)
    bed.run()
    bed.wire.expire()
    bed.clock.advance(10.0)
    bed.restart()  # the process died; nothing is known but what the store and the cloud know
    bed.settle()
    whole(bed, 4)

    bed.wire.script("DELETE /ports/{id}", LOST, UNREACHED, error(409, "in progress"))
    bed.wire.script("DELETE /floatingips/{id}", error(503, "later", obeyed=True), UNREACHED)
    bed.wire.script("DELETE /volumes/{id}/metadata/trimtab.part", LOST, UNREACHED)
    bed.desire(1)
    bed.settle()
    whole(bed, 1, retained=3)
    bed.desire(0)
    bed.settle()
    whole(bed, 0, retained=4)


class Deadly(defaultdict[str, deque[Fault]]):
    """What befalls calls: with the ``deadly``-th one that changes anything, the process that makes it dies."""

    def __init__(self, die: Callable[[], None], deadly: int, fault: Fault) -> None:
        super().__init__(deque)
        self.changes = 0
        self._die, self._deadly, self._fault = die, deadly, fault

    def __getitem__(self, label: str) -> deque[Fault]:
        if not label.startswith("GET ") and label != "POST /auth/tokens":
            self.changes += 1
            if self.changes == self._deadly:
                self._die()
                return deque([self._fault])
        return super().__getitem__(label)


def killed_at(deadly: int, fault: Fault, start: int, end: int) -> bool:
    """Resize a group, die with one call, and go on in a new process; whether there was such a call."""
    bed = a_bed(workers=1)
    with openstack_stage(clock=bed.clock) as stage:
        bed.on(stage, lambda: stage.nova.alive, timeout=PATIENT)
        bed.desire(start)
        bed.settle()
        bed.desire(end)

        def die() -> None:
            bed.instants.kill_at = 0

        stage.wire.faults = Deadly(die, deadly, fault)
        try:
            bed.settle()
        except Killed:
            stage.wire.faults = defaultdict(deque)
            bed.restart()
            bed.settle()
            whole(bed, end, retained=max(start - end, 0))
            return True
    return False


@pytest.mark.parametrize("fault", [UNREACHED, LOST], ids=["before it is done", "after it was done"])
@pytest.mark.parametrize(("start", "end"), [(0, 1), (1, 0)], ids=["grow", "shrink"])
def test_killed_at_any_call_that_changes_anything_no_part_is_lost_or_doubled(
    start: int, end: int, fault: Fault
) -> None:
    ran = next(each for each in range(1, _CHANGES_AT_MOST) if not killed_at(each, fault, start, end))
    assert ran == 5  # data, front, public, and the server: each was tried, and there is nothing more


def test_a_member_waits_for_room_where_a_quota_stops_one_of_its_parts(bed: CloudBed) -> None:
    bed.stage.neutron.quota = {"floatingips": 2}
    bed.desire(3)
    failures = []
    for _ in range(4):
        done = bed.run()
        failures += done.failures
        assert done.failed_builds == 0
        bed.clock.advance(30.0)
    assert any("quota" in failure for failure in failures)
    assert len(bed.stage.nova.alive) == 2
    bed.stage.neutron.quota = {}
    bed.settle()
    whole(bed, 3)


def test_a_volume_that_fails_is_made_again(bed: CloudBed) -> None:
    bed.stage.cinder.builds = 1000
    bed.desire(1)
    bed.run()
    (volume,) = bed.stage.cinder.volumes.values()
    volume["status"] = "error"
    bed.stage.cinder.builds = 0
    bed.settle()
    whole(bed, 1)
    assert volume["id"] not in bed.stage.cinder.volumes


def test_a_server_that_finds_no_host_goes_with_its_parts_and_is_replaced_with_new_ones(bed: CloudBed) -> None:
    bed.stage.nova.failing.append("No valid host was found.")
    bed.desire(2)
    bed.settle()
    whole(bed, 2, retained=1)


def test_members_of_a_lost_store_are_taken_up_with_their_parts(bed: CloudBed) -> None:
    bed.desire(2)
    bed.settle()
    bed.store.records.clear()
    bed.restart()
    bed.settle()
    whole(bed, 2)
    bed.desire(0)
    bed.settle()
    whole(bed, 0, retained=2)
