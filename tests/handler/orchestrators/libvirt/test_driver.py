"""One host with libvirt: what a crash leaves, what is refused, and what is never touched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from collector.clients.libvirt.messages import Fault, Procedure
from config.causes import FailureCause
from config.errors import DriverError, Engaged, Full, Permanent, Transient
from config.model.recipes import NoProgram
from config.units import GroupId
from handler.planning.world import ServerState
from tests.support.libvirt import MIB, LibvirtStage, libvirt_stage
from tests.support.libvirt_relay import CLOSED, LOST, Mishap, error
from tests.support.orchestrators import Clock

pytestmark = pytest.mark.real("libvirtd")

WEB = GroupId("web")
_FAILED = 9
UNANSWERED = pytest.mark.parametrize("mishap", [CLOSED, LOST], ids=["not sent", "answer lost"])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stage(clock: Clock) -> Iterator[LibvirtStage]:
    with libvirt_stage(clock=clock) as stage:
        yield stage


def states(stage: LibvirtStage) -> list[ServerState]:
    return [server.state for server in stage.driver().list_all().servers]


@UNANSWERED
@pytest.mark.parametrize(
    "procedure",
    [
        Procedure.DOMAIN_DEFINE_XML_FLAGS,
        Procedure.STORAGE_VOL_CREATE_XML,
        Procedure.DOMAIN_CREATE_WITH_FLAGS,
        Procedure.DOMAIN_SET_METADATA,
    ],
    ids=lambda procedure: procedure.words,
)
def test_a_creation_that_is_interrupted_is_found_and_finished_or_removed_with_its_volumes(
    stage: LibvirtStage, clock: Clock, procedure: Procedure, mishap: Mishap
) -> None:
    for sequence in (1, 2):
        stage.wire.script(procedure, mishap)
        with pytest.raises(Transient):
            stage.driver().create(stage.launch(sequence))
    first, second = stage.launch(1), stage.launch(2)
    clock.at += 60.0

    finished = stage.driver().create(first)
    stage.driver().destroy(second.id.name, grace=0.0)

    assert finished.state is ServerState.RUNNING
    assert [server.name for server in stage.driver().list_all().servers] == [first.id.name]
    assert [stage.volumes(each.id.name) for each in (first, second)] == [[f"{first.id.name}.qcow2"], []]


@UNANSWERED
@pytest.mark.parametrize(
    "procedure",
    [
        Procedure.DOMAIN_SET_METADATA,
        Procedure.DOMAIN_SHUTDOWN_FLAGS,
        Procedure.STORAGE_VOL_DELETE,
        Procedure.DOMAIN_UNDEFINE_FLAGS,
    ],
    ids=lambda procedure: procedure.words,
)
def test_a_removal_that_is_interrupted_goes_on_and_leaves_nothing(
    stage: LibvirtStage, procedure: Procedure, mishap: Mishap
) -> None:
    name = stage.driver().create(stage.launch()).name
    stage.wire.script(procedure, mishap)

    with pytest.raises(Transient):
        stage.driver().destroy(name, grace=30.0)
    stage.driver().destroy(name, grace=30.0)

    assert (stage.count(name), stage.volumes(name)) == (0, [])


def test_what_was_defined_and_never_started_builds_for_a_while_and_is_then_broken(
    stage: LibvirtStage, clock: Clock
) -> None:
    stage.wire.script(Procedure.DOMAIN_CREATE_WITH_FLAGS, CLOSED)
    with pytest.raises(Transient):
        stage.driver().create(stage.launch())

    assert states(stage) == [ServerState.BUILDING]
    clock.at += 121.0
    assert states(stage) == [ServerState.ERROR]


def test_a_start_that_may_be_under_way_is_waited_for(stage: LibvirtStage, clock: Clock) -> None:
    stage.wire.script(Procedure.DOMAIN_CREATE_WITH_FLAGS, CLOSED)
    with pytest.raises(Transient):
        stage.driver().create(stage.launch())
    clock.at += 59.0

    with pytest.raises(Engaged, match="is being made") as refused:
        stage.driver().create(stage.launch())

    assert refused.value.retry_after == pytest.approx(1.0)


def test_a_refused_creation_leaves_neither_a_domain_nor_a_volume(stage: LibvirtStage) -> None:
    launch = stage.launch()
    stage.wire.script(Procedure.DOMAIN_CREATE_WITH_FLAGS, error(Fault.CONFIG_UNSUPPORTED, "no such machine type"))

    with pytest.raises(Permanent, match="no such machine type") as refused:
        stage.driver().create(launch)

    assert refused.value.cause is FailureCause.LAUNCH_CONFIGURATION
    assert (stage.count(launch.id.name), stage.volumes(launch.id.name)) == (0, [])


def test_what_cannot_be_undone_is_no_refusal(stage: LibvirtStage) -> None:
    stage.wire.script(Procedure.DOMAIN_CREATE_WITH_FLAGS, error(Fault.CONFIG_UNSUPPORTED, "no such machine type"))
    stage.wire.script(Procedure.DOMAIN_UNDEFINE_FLAGS, CLOSED)

    with pytest.raises(Transient, match="could not be removed again"):
        stage.driver().create(stage.launch())


@pytest.mark.parametrize(
    ("fields", "cause", "words"),
    [
        ({"base": "nix"}, FailureCause.IMAGE, "nix"),
        ({"base_pool": "nix"}, FailureCause.IMAGE, "nix"),
        ({"pool": "nix"}, FailureCause.IMAGE, "nix"),
        ({"networks": ("nix",)}, FailureCause.NETWORK, "nix"),
        ({"disk": MIB // 2}, FailureCause.IMAGE, "it has 1048576 bytes"),
        ({"domain": '<domain type="kvm"/>'}, FailureCause.LAUNCH_CONFIGURATION, "domain define"),
    ],
    ids=["volume", "pool of the volume", "pool", "network", "disk", "domain"],
)
def test_what_a_host_lacks_is_permanent_and_nothing_is_made(
    stage: LibvirtStage, fields: dict[str, object], cause: FailureCause, words: str
) -> None:
    launch = stage.launch(**fields)

    with pytest.raises(Permanent, match=words) as refused:
        stage.driver().create(launch)

    assert refused.value.cause is cause
    assert stage.count(launch.id.name) == 0


@pytest.mark.parametrize(
    "words", ["cannot set up guest memory 'pc.ram': Cannot allocate memory", "No space left on device"]
)
def test_a_host_without_room_is_full(stage: LibvirtStage, words: str) -> None:
    launch = stage.launch()
    stage.wire.script(Procedure.DOMAIN_CREATE_WITH_FLAGS, error(1, words))

    with pytest.raises(Full) as refused:
        stage.driver().create(launch)

    assert refused.value.cause is FailureCause.CAPACITY
    assert stage.count(launch.id.name) == 0


def test_a_guest_that_does_not_stop_is_ended_after_its_grace_and_a_restart_begins_no_new_one(
    stage: LibvirtStage, clock: Clock
) -> None:
    name = stage.driver().create(stage.launch()).name
    stage.wire.script(Procedure.DOMAIN_SHUTDOWN_FLAGS, *[error(_FAILED, "the guest does not listen")] * 2)

    for seconds, left in ((0.0, [ServerState.DELETING]), (29.0, [ServerState.DELETING]), (1.0, [])):
        clock.at += seconds
        stage.driver().destroy(name, grace=30.0)
        assert states(stage) == left


def test_a_guest_that_has_stopped_may_be_removed_at_once(stage: LibvirtStage) -> None:
    name = stage.driver().create(stage.launch()).name
    stage.wire.script(Procedure.STORAGE_VOL_LOOKUP_BY_NAME, CLOSED)
    with pytest.raises(Transient):
        stage.driver().destroy(name, grace=30.0)

    assert states(stage) == [ServerState.STOPPED]


def test_volumes_that_trimtab_did_not_make_stay(stage: LibvirtStage) -> None:
    launch = stage.launch(5)
    stage.driver().mark(stage.foreign_member("database"), launch.id)
    stage.driver().create(stage.launch(6))

    for sequence in (5, 6):
        stage.driver().destroy(stage.launch(sequence).id.name, grace=0.0)

    assert stage.direct.volume(stage.direct.pool("default-pool"), "web").name == "web"


def test_a_disk_is_as_large_as_the_profile_says(stage: LibvirtStage) -> None:
    name = stage.driver().create(stage.launch(disk=8 * MIB)).name

    volume = stage.direct.volume(stage.direct.pool("default-pool"), f"{name}.qcow2")

    assert f"<capacity unit='bytes'>{8 * MIB}</capacity>" in stage.direct.volume_xml(volume)


def test_a_domain_that_cannot_be_listed_makes_the_listing_incomplete(stage: LibvirtStage) -> None:
    stage.driver().create(stage.launch())
    for procedure in (Procedure.DOMAIN_GET_METADATA, Procedure.DOMAIN_GET_STATE):
        stage.wire.script(procedure, error(_FAILED, "operation failed"))
        with pytest.raises(DriverError):
            stage.driver().list_all()


def test_a_guest_whose_address_is_not_known_has_none(stage: LibvirtStage) -> None:
    stage.driver().create(stage.launch())
    stage.wire.script(Procedure.DOMAIN_INTERFACE_ADDRESSES, error(Fault.AGENT_UNRESPONSIVE, "no agent"))

    listing = stage.driver().list_all()

    assert listing.complete
    assert [server.address for server in listing.servers] == [None]


def test_an_answer_that_is_lost_after_the_start_makes_no_member_permanent(stage: LibvirtStage) -> None:
    stage.wire.script(Procedure.DOMAIN_SET_METADATA, error(Fault.ACCESS_DENIED, "no"))

    with pytest.raises(Transient):
        stage.driver().create(stage.launch())

    assert states(stage) == [ServerState.RUNNING]


def test_a_daemon_that_was_started_again_is_spoken_to_by_a_new_connection(stage: LibvirtStage) -> None:
    driver = stage.driver()
    driver.list_all()
    stage.daemon.kill()
    stage.daemon.start()

    assert driver.list_all().complete


def test_the_launch_of_another_cloud_is_refused(stage: LibvirtStage) -> None:
    launch = stage.launch()
    other = replace(launch.profile, recipe=NoProgram())

    with pytest.raises(Permanent, match="no base volume"):
        stage.driver().create(replace(launch, profile=other))


def test_the_doctor_says_what_version_the_only_host_has(stage: LibvirtStage) -> None:
    (look,) = [check.look() for check in stage.driver().checks([], 4) if check.what == "version"]

    assert look.words.startswith("libvirt ")
