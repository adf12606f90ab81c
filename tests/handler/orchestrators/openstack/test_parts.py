from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from config.errors import Full, Permanent, Transient
from config.model.parts import FloatingAddress, MemberPart, NetworkPort, Volume
from config.units import GroupId, MemberName, PartName
from handler.orchestrators.openstack.driver import OpenstackOrchestrator
from handler.orchestrators.openstack.part_parsing import KEY, description_of
from handler.planning.world import PartState
from tests.support.openstack import OpenstackStage, openstack_stage
from tests.support.openstack_wire import error, mint
from tests.support.waiting import PATIENT
from tests.support.wire_server import LOST, UNREACHED, Fault, answered

WEB = GroupId("web")
ONE = MemberName("web-k3f9ab-1")
DATA = MemberPart(name=PartName("data"), spec=Volume(size=20 << 30, kind="ssd"))
FRONT = MemberPart(name=PartName("front"), spec=NetworkPort(network="net"))
PUBLIC = MemberPart(name=PartName("public"), spec=FloatingAddress(network="public", port=FRONT.name))
ALL = (DATA, FRONT, PUBLIC)
_WHERE = {DATA: "/volumes", FRONT: "/ports", PUBLIC: "/floatingips"}
_KINDS = pytest.mark.parametrize("part", ALL, ids=lambda part: part.name)


@pytest.fixture
def stage() -> Iterator[OpenstackStage]:
    with openstack_stage() as stage:
        yield stage


@pytest.fixture
def driver(stage: OpenstackStage) -> OpenstackOrchestrator:
    return stage.driver()


def make(stage: OpenstackStage, driver: OpenstackOrchestrator, *parts: MemberPart, **recipe: Any) -> None:
    for part in parts:
        driver.make_part(ONE, part, stage.launch(**recipe).profile)


def ready_for(stage: OpenstackStage, driver: OpenstackOrchestrator, part: MemberPart) -> None:
    """Make what a part needs before it."""
    if part is PUBLIC:
        make(stage, driver, FRONT)


def there(stage: OpenstackStage, part: MemberPart) -> dict[str, dict[str, Any]]:
    kinds = {DATA: stage.cinder.volumes, FRONT: stage.neutron.ports, PUBLIC: stage.neutron.floatingips}
    return kinds[part]


def booted(stage: OpenstackStage, driver: OpenstackOrchestrator, *parts: MemberPart) -> str:
    """Make a server with parts; its id."""
    make(stage, driver, *parts)
    ids = {part.name: part.id for _, part in driver.parts(WEB).parts}
    launch = stage.launch()
    return driver.create(replace(launch, profile=replace(launch.profile, parts=parts), parts=ids)).id


# What they are made of.


def test_a_port_is_in_the_security_groups_of_the_recipe(stage: OpenstackStage, driver: OpenstackOrchestrator) -> None:
    make(stage, driver, FRONT, security_groups=("web",))
    (port,) = stage.neutron.ports.values()
    assert port["security_groups"] == [mint("security_group web")]
    assert (port["network_id"], port["name"]) == (mint("network net"), "web-k3f9ab-1-front")


@pytest.mark.parametrize(("size", "gib"), [(20 << 30, 20), ((20 << 30) + 1, 21), (1, 1)])
def test_a_volume_is_never_smaller_than_declared(
    stage: OpenstackStage, driver: OpenstackOrchestrator, size: int, gib: int
) -> None:
    make(stage, driver, replace(DATA, spec=Volume(size=size)))
    assert [volume["size"] for volume in stage.cinder.volumes.values()] == [gib]


def test_an_address_leads_to_the_port_that_it_names(stage: OpenstackStage, driver: OpenstackOrchestrator) -> None:
    make(stage, driver, FRONT, PUBLIC)
    ((port, _),) = stage.neutron.ports.items()
    assert [address["port_id"] for address in stage.neutron.floatingips.values()] == [port]


_LISTED = {DATA: "GET /volumes/detail", FRONT: "GET /ports", PUBLIC: "GET /floatingips"}


@_KINDS
def test_a_part_that_was_accepted_is_not_written_off_since_it_cannot_be_listed(
    stage: OpenstackStage, driver: OpenstackOrchestrator, part: MemberPart
) -> None:
    ready_for(stage, driver, part)
    stage.wire.script(_LISTED[part], answered(b"", obeyed=True), error(403, "Policy doesn't allow it to be performed."))

    with pytest.raises(Transient, match="refused"):
        make(stage, driver, part)

    make(stage, driver, part)
    assert len(there(stage, part)) == 1


def test_an_address_waits_for_its_port(stage: OpenstackStage, driver: OpenstackOrchestrator) -> None:
    with pytest.raises(Transient, match="its port front is not ready yet"):
        make(stage, driver, PUBLIC)


def test_a_server_is_made_with_its_ports_first_and_with_its_volumes(
    stage: OpenstackStage, driver: OpenstackOrchestrator
) -> None:
    server = booted(stage, driver, *ALL)
    ((port, _),), ((volume, _),) = stage.neutron.ports.items(), stage.cinder.volumes.items()
    given = stage.nova.vms[server].given["server"]
    assert given["networks"] == [{"port": port}, {"uuid": mint("network net")}]
    assert [(disk["source_type"], disk["boot_index"]) for disk in given["block_device_mapping_v2"]] == [
        ("image", 0),
        ("volume", -1),
    ]
    assert given["block_device_mapping_v2"][1]["uuid"] == volume
    assert not given["block_device_mapping_v2"][1]["delete_on_termination"]
    assert driver.list(WEB).servers[0].address == stage.neutron.ports[port]["fixed_ips"][0]["ip_address"]


def test_a_server_waits_for_parts_that_are_not_there(stage: OpenstackStage, driver: OpenstackOrchestrator) -> None:
    launch = stage.launch()
    with pytest.raises(Transient, match="front: not ready yet"):
        driver.create(replace(launch, profile=replace(launch.profile, parts=(FRONT,))))
    assert stage.nova.vms == {}


# What befalls calls.

_BEFALLING = [
    pytest.param(LOST, id="answer lost"),
    pytest.param(UNREACHED, id="not reached"),
    pytest.param(error(500, "Internal error", obeyed=True), id="made, and an error all the same"),
    pytest.param(answered(b"busy", status=503, headers=(("Retry-After", "7"),)), id="busy"),
    pytest.param(error(409, "conflict"), id="conflict"),
    pytest.param(answered(b"{}", status=201, obeyed=True), id="no id"),
    pytest.param(answered(b"\xff no json", status=201, obeyed=True), id="nonsense"),
    pytest.param(answered(b"{}" + b" " * 200, status=201, drip=0.05, obeyed=True), id="too slow"),
]


@_KINDS
@pytest.mark.parametrize("fault", _BEFALLING)
def test_what_befalls_the_call_that_makes_a_part_makes_no_second_one(
    stage: OpenstackStage, part: MemberPart, fault: Fault
) -> None:
    driver = stage.driver(timeout=0.5 if fault.drip else PATIENT)
    ready_for(stage, driver, part)
    stage.wire.script(f"POST {_WHERE[part]}", fault)
    with pytest.raises(Transient):
        make(stage, driver, part)
    make(stage, stage.driver(), part)
    assert len(there(stage, part)) == 1


@_KINDS
@pytest.mark.parametrize("fault", [LOST, UNREACHED, error(503, "later"), error(409, "in progress")], ids=str)
@pytest.mark.parametrize("drop", ["remove_part", "release_part"])
def test_what_befalls_the_call_that_ends_a_part_is_made_good_by_the_next(
    stage: OpenstackStage, driver: OpenstackOrchestrator, part: MemberPart, drop: str, fault: Fault
) -> None:
    ready_for(stage, driver, part)
    make(stage, driver, part)
    releases = f"DELETE {_WHERE[part]}/{{id}}/metadata/{KEY}" if part is DATA else f"PUT {_WHERE[part]}/{{id}}"
    stage.wire.script(releases if drop == "release_part" else f"DELETE {_WHERE[part]}/{{id}}", fault)
    with pytest.raises(Transient):
        getattr(driver, drop)(ONE, part.name)
    getattr(driver, drop)(ONE, part.name)
    assert driver.find_part(ONE, part.name) is None
    assert len(there(stage, part)) == (drop == "release_part")


def test_a_token_that_expires_is_renewed_in_flight(stage: OpenstackStage, driver: OpenstackOrchestrator) -> None:
    make(stage, driver, FRONT)
    stage.wire.expire()
    make(stage, driver, PUBLIC, DATA)
    assert len(stage.parts()) == 3


@_KINDS
def test_a_quota_is_told_apart(stage: OpenstackStage, driver: OpenstackOrchestrator, part: MemberPart) -> None:
    ready_for(stage, driver, part)
    stage.neutron.quota, stage.cinder.quota = {_WHERE[part][1:]: 0}, 0
    with pytest.raises(Full, match="quota"):
        make(stage, driver, part)


def test_so_is_an_outer_network_without_another_address(stage: OpenstackStage, driver: OpenstackOrchestrator) -> None:
    make(stage, driver, FRONT)
    stage.neutron.addresses = 0
    with pytest.raises(Full, match="give the network more addresses"):
        make(stage, driver, PUBLIC)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (replace(FRONT, spec=NetworkPort(network="nope")), "no network that the project can see is called 'nope'"),
        (replace(FRONT, spec=NetworkPort(network="twice")), "2 networks are called 'twice': write the id"),
        (replace(DATA, spec=Volume(size=1, kind="nope")), "no volume type"),
        (replace(PUBLIC, spec=FloatingAddress(network="back", port=FRONT.name)), "is not a valid external network"),
    ],
    ids=["unknown", "ambiguous", "volume type", "not external"],
)
def test_names_that_mean_nothing_or_two_things_are_refused(
    stage: OpenstackStage, driver: OpenstackOrchestrator, part: MemberPart, message: str
) -> None:
    make(stage, driver, FRONT)
    stage.nova.things.network += [{"name": "twice", "id": mint(f"twice {number}")} for number in range(2)]
    with pytest.raises(Permanent, match=message):
        make(stage, driver, replace(part, name=PartName("other")))


# Listings.


@_KINDS
def test_a_machine_that_listings_do_not_show_yet_is_found_by_the_driver_that_made_it(
    stage: OpenstackStage, driver: OpenstackOrchestrator, part: MemberPart
) -> None:
    ready_for(stage, driver, part)
    stage.neutron.hidden = stage.cinder.hidden = Everything()
    make(stage, driver, part)
    found = driver.find_part(ONE, part.name)
    assert found is not None
    make(stage, driver, part)
    assert len(there(stage, part)) == 1
    driver.remove_part(ONE, part.name)
    assert (driver.find_part(ONE, part.name), len(there(stage, part))) == (None, 0)


@pytest.mark.parametrize("part", [DATA, FRONT], ids=lambda part: part.name)
def test_of_two_that_bear_one_mark_the_newer_one_without_an_owner_goes(stage: OpenstackStage, part: MemberPart) -> None:
    stage.neutron.hidden = stage.cinder.hidden = Everything()
    make(stage, stage.driver(), part)
    driver = stage.driver()  # started again, and the listing is late
    make(stage, driver, part)
    first, _ = there(stage, part)
    stage.neutron.hidden = stage.cinder.hidden = set()
    (listed,) = driver.parts(WEB).parts
    assert listed[1].id == first
    make(stage, driver, part)
    assert list(there(stage, part)) == [first]


def test_of_two_that_bear_one_mark_the_one_that_a_server_has_counts(
    stage: OpenstackStage, driver: OpenstackOrchestrator
) -> None:
    spare, held = (stage.neutron.port(description=description_of(ONE, FRONT.name)) for _ in range(2))
    held["device_id"] = stage.nova.member(ONE).id
    assert [part.id for _, part in driver.parts(WEB).parts] == [held["id"]]
    make(stage, driver, FRONT)
    assert (list(stage.neutron.ports), spare["id"] in stage.neutron.ports) == ([held["id"]], False)


@pytest.mark.parametrize("drop", ["remove_part", "release_part"])
def test_of_two_that_bear_one_mark_neither_is_left_behind(
    stage: OpenstackStage, driver: OpenstackOrchestrator, drop: str
) -> None:
    for _ in range(2):
        stage.neutron.port(description=description_of(ONE, FRONT.name))
    getattr(driver, drop)(ONE, FRONT.name)
    assert [whose for whose, _ in stage.parts()] == ([""] if drop == "release_part" else [])


def test_long_listings_are_read_to_their_end(stage: OpenstackStage, driver: OpenstackOrchestrator) -> None:
    stage.neutron.most = stage.cinder.most = 2
    for number in range(5):
        stage.neutron.port(name=f"x-{number}")
        stage.cinder.volume(name=f"x-{number}")
    make(stage, driver, *ALL)
    listing = driver.parts(WEB)
    assert (sorted(part.name for _, part in listing.parts), listing.complete) == (["data", "front", "public"], True)


@pytest.mark.parametrize("label", ["GET /ports", "GET /floatingips", "GET /volumes/detail"])
@pytest.mark.parametrize(
    "fault",
    [
        error(503, "later"),
        answered(b"[]"),
        answered(b'{"ports": [3], "floatingips": [{"id": "1"}], "volumes": [{"id": "1"}]}'),
        answered(b"<html>", status=502),
    ],
    ids=str,
)
def test_a_listing_that_is_not_whole_proves_nothing(
    stage: OpenstackStage, driver: OpenstackOrchestrator, label: str, fault: Fault
) -> None:
    make(stage, driver, FRONT)
    stage.wire.script(label, fault)
    listing = driver.parts(WEB)
    assert not listing.complete
    assert listing.because
    stage.wire.script(label, fault)
    with pytest.raises(Transient):
        driver.find_part(ONE, DATA.name)
    assert driver.find_part(ONE, DATA.name) is None


def test_a_listing_is_not_whole_whose_last_entry_went_while_it_was_read(
    stage: OpenstackStage, driver: OpenstackOrchestrator
) -> None:
    outside = mint("network public")
    for number in range(6):
        stage.neutron.address(outside, description=description_of(MemberName(f"web-k3f9ab-{number + 1}"), PUBLIC.name))
    stage.neutron.most = 2

    def going(label: str) -> None:
        if label == "GET /floatingips" and stage.wire.count(label) == 2:
            stage.neutron.floatingips.pop(sorted(stage.neutron.floatingips)[1])

    stage.wire.before = going
    listing = driver.parts(WEB)
    assert (len(listing.parts), listing.complete) == (2, False)


def test_what_is_not_ours_is_neither_listed_nor_touched(stage: OpenstackStage, driver: OpenstackOrchestrator) -> None:
    theirs = [
        stage.neutron.port(name="web-k3f9ab-1-front"),
        stage.neutron.port(description="trimtab.part: web-k3f9ab-1"),
        stage.neutron.port(description="front of web-k3f9ab-1"),
        stage.neutron.port(description="trimtab.part: web-zzzzzz-1 front"),
        stage.neutron.port(description="my trimtab.part: web-k3f9ab-1 front"),
        stage.neutron.address(mint("network public"), description=""),
        stage.cinder.volume(name="web-k3f9ab-1-data", metadata={"trimtab.member": "web-k3f9ab-1"}),
        stage.cinder.volume(metadata={KEY: "web-zzzzzz-1 data"}),
    ]
    before = stage.parts()
    for name in (DATA.name, FRONT.name, PUBLIC.name):
        assert driver.find_part(ONE, name) is None
        driver.remove_part(ONE, name)
        driver.release_part(ONE, name)
        driver.remove_part(MemberName("web-zzzzzz-1"), name)
    assert driver.parts(WEB).parts == ()
    assert (stage.parts(), len(before)) == (before, len(theirs))


@_KINDS
def test_what_was_deleted_by_hand_is_gone(
    stage: OpenstackStage, driver: OpenstackOrchestrator, part: MemberPart
) -> None:
    ready_for(stage, driver, part)
    make(stage, driver, part)
    there(stage, part).clear()
    assert driver.find_part(ONE, part.name) is None
    driver.remove_part(ONE, part.name)
    make(stage, driver, part)
    assert len(there(stage, part)) == 1


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("creating", PartState.BUILDING),
        ("available", PartState.READY),
        ("in-use", PartState.READY),
        ("reserved", PartState.BUILDING),
        ("detaching", PartState.BUILDING),
        ("deleting", PartState.DELETING),
        ("error", PartState.ERROR),
        ("error_deleting", PartState.ERROR),
        ("a word of a later release", PartState.BUILDING),
    ],
)
def test_every_state_of_a_volume_has_a_meaning(
    stage: OpenstackStage, driver: OpenstackOrchestrator, status: str, state: PartState
) -> None:
    make(stage, driver, DATA)
    next(iter(stage.cinder.volumes.values()))["status"] = status
    found = driver.find_part(ONE, DATA.name)
    assert found is not None
    assert found.state is state


def test_an_address_that_leads_nowhere_came_to_nothing(stage: OpenstackStage, driver: OpenstackOrchestrator) -> None:
    make(stage, driver, FRONT, PUBLIC)
    driver.remove_part(ONE, FRONT.name)
    found = driver.find_part(ONE, PUBLIC.name)
    assert found is not None
    assert found.state is PartState.ERROR


# Never from under a machine.


@pytest.mark.parametrize("part", [DATA, FRONT], ids=lambda part: part.name)
def test_what_a_server_has_is_not_removed(
    stage: OpenstackStage, driver: OpenstackOrchestrator, part: MemberPart
) -> None:
    booted(stage, driver, part)
    for _ in range(2):
        with pytest.raises(Transient, match="is not removed while server"):
            driver.remove_part(ONE, part.name)
    assert len(there(stage, part)) == 1
    driver.destroy(ONE, grace=0.0)
    driver.remove_part(ONE, part.name)
    assert there(stage, part) == {}


@pytest.mark.parametrize("part", [DATA, FRONT], ids=lambda part: part.name)
def test_what_a_server_had_that_is_gone_is_removed_though_nova_never_let_go_of_it(
    stage: OpenstackStage, driver: OpenstackOrchestrator, part: MemberPart
) -> None:
    server = booted(stage, driver, part)
    del stage.nova.vms[server]  # its host was down: neither Neutron nor Cinder heard of it
    if part is DATA:
        with pytest.raises(Transient, match="waiting for it"):
            driver.remove_part(ONE, part.name)
    driver.remove_part(ONE, part.name)
    assert there(stage, part) == {}


def test_parts_outlive_a_server_that_is_deleted(stage: OpenstackStage, driver: OpenstackOrchestrator) -> None:
    server = booted(stage, driver, *ALL)
    stage.nova.lost(stage.nova.vms[server])
    listing = driver.parts(WEB)
    assert [(part.name, part.state) for _, part in listing.parts] == [
        (part.name, PartState.READY) for part in (DATA, FRONT, PUBLIC)
    ]


# A cloud without Cinder.


def test_a_cloud_without_cinder_has_ports_and_addresses(stage: OpenstackStage) -> None:
    stage.wire.services = tuple(each for each in stage.wire.services if each is not stage.cinder)
    driver = stage.driver()
    make(stage, driver, FRONT, PUBLIC)
    assert driver.parts(WEB).complete
    assert driver.find_part(ONE, DATA.name) is None
    with pytest.raises(Permanent, match="no such service"):
        make(stage, driver, DATA)


def test_where_cinder_has_been_its_absence_from_the_catalogue_proves_nothing(
    stage: OpenstackStage, driver: OpenstackOrchestrator
) -> None:
    make(stage, driver, DATA)
    stage.wire.services = tuple(each for each in stage.wire.services if each is not stage.cinder)
    stage.wire.script("GET /ports", *[error(401, "no")] * 2)
    with pytest.raises(Permanent):
        driver.find_part(ONE, DATA.name)  # and so a new session begins
    with pytest.raises(Permanent, match="no such service"):
        driver.find_part(ONE, DATA.name)
    assert not driver.parts(WEB).complete


class Everything(set[str]):
    """Holds whatever is asked for."""

    def __contains__(self, _: object) -> bool:
        return True
