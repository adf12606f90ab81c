from __future__ import annotations

import logging
import time
import typing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from xml.etree.ElementTree import Element

import pyone
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.http.pool import BoundedPool
from collector.clients.opennebula.client import OpennebulaClient
from collector.clients.opennebula.messages import ErrorCode, refusal
from config.errors import DriverError, Permanent, Refused, Transient
from config.model.access import SecretRef
from config.units import GroupId, MemberName
from handler.orchestrators.opennebula.parsing import machine_of, template_xml
from handler.orchestrators.opennebula.states import LCM_STATES, STATES
from handler.orchestrators.table import orchestrator_for
from handler.planning.world import ServerState
from tests.support.opennebula import OpennebulaStage, an_opennebula, opennebula_stage
from tests.support.opennebula_documents import parsed
from tests.support.opennebula_wire import (
    ACTION,
    ACTIVE,
    ALLOCATE,
    API,
    AUTHENTICATION,
    AUTHORISATION,
    DONE,
    EPILOG,
    INTERNAL,
    NO_EXISTS,
    PASSWORD,
    SHUTDOWN,
    USER,
    answering,
    refused,
)
from tests.support.orchestrators import Clock
from tests.support.wire_server import LOST, answered

WEB = GroupId("web")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stage(clock: Clock) -> Iterator[OpennebulaStage]:
    with opennebula_stage(clock=clock) as stage:
        yield stage


def name(sequence: int = 1) -> MemberName:
    return MemberName(f"web-k3f9ab-{sequence}")


def a_wire(stage: OpennebulaStage, **fields: object) -> OpennebulaClient:
    return OpennebulaClient(an_opennebula(stage.endpoint, **fields), lambda ref: stage.secrets[ref.env or ""])


# The wire fake, met by a client that we did not write.


def test_pyone_reads_what_the_fake_serves(stage: OpennebulaStage) -> None:
    one = pyone.OneServer(stage.endpoint, f"{USER}:{PASSWORD}", protocol="xmlrpc")

    extra = {"TEMPLATE": {"MOTD": "a & b", "NIC": {"NETWORK_ID": 1}}}
    made = one.template.instantiate(3, "web", False, extra, False)

    (listed,) = one.vmpool.infoextended(-3, 0, -10, -1).VM
    assert (listed.ID, listed.NAME, listed.USER_TEMPLATE["MOTD"]) == (made, "web", "a & b")
    assert listed.TEMPLATE["NIC"]["NETWORK"] == "back"
    assert one.vm.info(made).LCM_STATE == pyone.LCM_STATE.RUNNING
    assert [entry.NAME for entry in one.vnpool.info(-2, 0, -10).VNET] == ["back", "tier"]
    with pytest.raises(pyone.OneNoExistsException):
        one.vm.info(99)
    with pytest.raises(pyone.OneAuthenticationException):
        pyone.OneServer(stage.endpoint, f"{USER}:wrong", protocol="xmlrpc").vm.info(made)


# Making.


def test_a_machine_is_made_of_what_the_profile_says_and_bears_its_mark(stage: OpennebulaStage) -> None:
    extra = (("MEMORY", "4096"), ("CONTEXT", (("NETWORK", "YES"), ("MOTD", '"☂" & <'))), ("TIER", "front"))

    made = stage.driver().create(stage.launch(networks=("back", "tier"), extra=extra))

    vm = stage.wire.vms[int(made.id)]
    assert vm.name == vm.user_template["TRIMTAB"] == name()
    assert (vm.template["MEMORY"], vm.user_template["TIER"]) == ("4096", "front")
    assert vm.template["CONTEXT"] == {"NETWORK": "YES", "MOTD": '"☂" & <'}
    assert [nic["NETWORK"] for nic in vm.template["NIC"]] == ["back", "tier"]
    assert (made.state, made.raw_state, made.zone) == (ServerState.RUNNING, "RUNNING", "cluster 100")
    assert made.address == vm.template["NIC"][0]["IP"]


def test_what_the_profile_leaves_out_is_the_templates(stage: OpennebulaStage) -> None:
    made = stage.driver().create(stage.launch(networks=()))

    vm = stage.wire.vms[int(made.id)]
    assert [nic["NETWORK"] for nic in vm.template["NIC"]] == ["tier"]
    assert vm.template["MEMORY"] == "1024"


def test_digits_are_an_id(stage: OpennebulaStage) -> None:
    stage.driver().create(stage.launch(template="3", networks=("1",)))

    assert stage.wire.count("templatepool.info") == stage.wire.count("vnpool.info") == 0


def test_names_are_asked_for_once_a_minute(stage: OpennebulaStage, clock: Clock) -> None:
    cloud = stage.driver()
    for sequence in (1, 2):
        cloud.create(stage.launch(sequence))
    assert stage.wire.count("templatepool.info") == 1

    clock.at += 61
    cloud.create(stage.launch(3))

    assert stage.wire.count("templatepool.info") == 2


@pytest.mark.parametrize("what", ["template", "network"])
def test_a_name_that_nothing_bears_is_permanent(stage: OpennebulaStage, what: str) -> None:
    wrong = {"template": "wbe"} if what == "template" else {"networks": ("wbe",)}

    with pytest.raises(Permanent, match=f"no {what} .* is called 'wbe'"):
        stage.driver().create(stage.launch(**wrong))


def test_a_machine_that_waits_for_a_host_is_being_built(stage: OpennebulaStage) -> None:
    stage.wire.looks = 100

    made = stage.driver().create(stage.launch())

    assert (made.state, made.raw_state, made.zone) == (ServerState.BUILDING, "PENDING", None)


def test_a_machine_that_was_made_is_found_without_reading_the_pool(stage: OpennebulaStage) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch())
    before = stage.wire.count("vmpool.infoextended")

    assert cloud.find(name()) is not None

    assert stage.wire.count("vmpool.infoextended") == before


def test_a_machine_that_a_person_renamed_is_his_and_ours_again_when_its_name_is(stage: OpennebulaStage) -> None:
    cloud = stage.driver()
    made = cloud.create(stage.launch())

    stage.wire.vms[int(made.id)].name = "renamed"
    assert cloud.find(name()) is None

    stage.wire.vms[int(made.id)].name = name()
    assert cloud.find(name()) is not None


# Looking.


@pytest.mark.parametrize(
    ("state", "word", "meaning"),
    [
        (0, "INIT", ServerState.BUILDING),
        (1, "PENDING", ServerState.BUILDING),
        (2, "HOLD", ServerState.PARKED),
        (4, "STOPPED", ServerState.PARKED),
        (5, "SUSPENDED", ServerState.PARKED),
        (7, "FAILED", ServerState.ERROR),
        (8, "POWEROFF", ServerState.STOPPED),
        (9, "UNDEPLOYED", ServerState.PARKED),
        (10, "CLONING", ServerState.BUILDING),
        (11, "CLONING_FAILURE", ServerState.ERROR),
        (12, "STATE 12", ServerState.UNKNOWN),
    ],
)
def test_every_state_has_its_meaning(stage: OpennebulaStage, state: int, word: str, meaning: ServerState) -> None:
    stage.wire.looks = 1000
    stage.wire.member(name(), state=state, lcm=0, looks=1000)

    (server,) = stage.driver().list(WEB).servers

    assert (server.raw_state, server.state) == (word, meaning)


_OF_LCM = {
    ServerState.BUILDING: "LCM_INIT PROLOG BOOT CLEANUP_RESUBMIT",
    ServerState.RUNNING: "RUNNING HOTPLUG HOTPLUG_SNAPSHOT HOTPLUG_NIC HOTPLUG_SAVEAS HOTPLUG_RESIZE DISK_SNAPSHOT"
    " DISK_SNAPSHOT_REVERT DISK_SNAPSHOT_DELETE DISK_RESIZE BACKUP",
    ServerState.DELETING: "EPILOG SHUTDOWN CANCEL CLEANUP_DELETE",
    ServerState.ERROR: "FAILURE BOOT_FAILURE BOOT_MIGRATE_FAILURE PROLOG_MIGRATE_FAILURE PROLOG_FAILURE EPILOG_FAILURE"
    " EPILOG_STOP_FAILURE EPILOG_UNDEPLOY_FAILURE PROLOG_MIGRATE_POWEROFF_FAILURE PROLOG_MIGRATE_SUSPEND_FAILURE"
    " BOOT_UNDEPLOY_FAILURE BOOT_STOPPED_FAILURE PROLOG_RESUME_FAILURE PROLOG_UNDEPLOY_FAILURE"
    " PROLOG_MIGRATE_UNKNOWN_FAILURE",
    ServerState.UNKNOWN: "UNKNOWN",
    ServerState.PASSING: "MIGRATE SAVE_STOP SAVE_SUSPEND SAVE_MIGRATE PROLOG_MIGRATE PROLOG_RESUME EPILOG_STOP"
    " SHUTDOWN_POWEROFF BOOT_UNKNOWN BOOT_POWEROFF BOOT_SUSPENDED BOOT_STOPPED HOTPLUG_SAVEAS_POWEROFF"
    " HOTPLUG_SAVEAS_SUSPENDED SHUTDOWN_UNDEPLOY EPILOG_UNDEPLOY PROLOG_UNDEPLOY BOOT_UNDEPLOY HOTPLUG_PROLOG_POWEROFF"
    " HOTPLUG_EPILOG_POWEROFF BOOT_MIGRATE PROLOG_MIGRATE_POWEROFF PROLOG_MIGRATE_SUSPEND DISK_SNAPSHOT_POWEROFF"
    " DISK_SNAPSHOT_REVERT_POWEROFF DISK_SNAPSHOT_DELETE_POWEROFF DISK_SNAPSHOT_SUSPENDED"
    " DISK_SNAPSHOT_REVERT_SUSPENDED DISK_SNAPSHOT_DELETE_SUSPENDED PROLOG_MIGRATE_UNKNOWN DISK_RESIZE_POWEROFF"
    " DISK_RESIZE_UNDEPLOYED HOTPLUG_NIC_POWEROFF HOTPLUG_SAVEAS_UNDEPLOYED HOTPLUG_SAVEAS_STOPPED BACKUP_POWEROFF"
    " RESTORE",
}
_NEWER_THAN_PYONE = {"BACKUP": 69, "BACKUP_POWEROFF": 70, "RESTORE": 71}


@pytest.mark.parametrize(
    ("word", "meaning"), [(word, meaning) for meaning, words in _OF_LCM.items() for word in words.split()]
)
def test_every_state_of_an_active_machine_has_its_meaning(
    stage: OpennebulaStage, word: str, meaning: ServerState
) -> None:
    lcm = _NEWER_THAN_PYONE[word] if word in _NEWER_THAN_PYONE else pyone.LCM_STATE[word].value
    stage.wire.member(name(), lcm=lcm, looks=1000)

    (server,) = stage.driver().list(WEB).servers

    assert (server.raw_state, server.state) == (word, meaning)


def test_no_state_that_pyone_knows_is_forgotten() -> None:
    distinct = {word for words in _OF_LCM.values() for word in words.split()}
    assert {state.value for state in pyone.VM_STATE} == {*STATES, pyone.VM_STATE.ACTIVE, pyone.VM_STATE.DONE}
    assert {state.value for state in pyone.LCM_STATE} | set(_NEWER_THAN_PYONE.values()) == set(LCM_STATES)
    assert {word for word, _ in LCM_STATES.values()} == distinct


def test_a_state_that_is_not_known_says_nothing(stage: OpennebulaStage) -> None:
    stage.wire.member(name(), lcm=99, looks=1000)

    (server,) = stage.driver().list(WEB).servers

    assert (server.raw_state, server.state) == ("ACTIVE/99", ServerState.UNKNOWN)


@pytest.mark.parametrize(
    ("state", "lcm", "word"),
    [
        pytest.param(1, 0, "PENDING: Cannot dispatch VM: No host meets SCHED_REQUIREMENTS", id="no host takes it"),
        pytest.param(3, 36, "BOOT_FAILURE: Error deploying: no such image", id="it failed"),
        pytest.param(3, 3, "RUNNING", id="that was before"),
    ],
)
def test_what_opennebula_complains_of_is_reported_with_the_state(
    stage: OpennebulaStage, state: int, lcm: int, word: str
) -> None:
    vm = stage.wire.member(name(), state=state, lcm=lcm, looks=1000)
    vm.user_template |= {
        "SCHED_MESSAGE": "Sat Nov 21 19:20:45 2026: Cannot dispatch VM: No host meets SCHED_REQUIREMENTS",
        "ERROR": "Sat Nov  1 19:20:45 2026 : Error deploying: no such image",
    }
    (server,) = stage.driver().list(WEB).servers
    assert server.raw_state == word


@pytest.mark.parametrize(
    ("network", "address"),
    [(None, "10.0.0.7"), ("back", "10.0.0.7"), ("web", "2001:db8::7"), ("bare", None), ("no such", None)],
)
def test_members_are_reached_where_the_cloud_says(
    stage: OpennebulaStage, network: str | None, address: str | None
) -> None:
    nics = [
        {"NETWORK": "bare", "MAC": "02:00:00:00:00:01"},
        {"NETWORK": "back", "IP": "10.0.0.7"},
        {"NETWORK": "web", "IP6_GLOBAL": "2001:db8::7", "IP6_LINK": "fe80::7"},
    ]
    stage.wire.member(name(), template={"NIC": nics})

    (server,) = stage.driver(network=network).list(WEB).servers

    assert server.address == address


def test_the_last_host_decides_about_the_cluster(stage: OpennebulaStage) -> None:
    stage.wire.member(name(), hosts=[("node1", 100), ("node9", 104)])

    (server,) = stage.driver().list(WEB).servers

    assert server.zone == "cluster 104"


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("count", [99, 100, 101, 199, 200])
def test_pages_that_end_on_the_border_are_read_to_the_end(stage: OpennebulaStage, count: int, descending: bool) -> None:
    stage.wire.descending = descending
    for sequence in range(1, count + 1):
        stage.wire.member(name(sequence))

    listing = stage.driver().list(WEB)

    assert (len(listing.servers), listing.complete) == (count, True)


def changing(stage: OpennebulaStage, at: Callable[[int], None]) -> None:
    """Between two looks at the pool, whose number is told."""
    looks: list[str] = []

    def happen(method: str) -> None:
        looks.append(method)
        at(len(looks))

    stage.wire.before = happen


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("where", [0, 60, 98, 99, 149])
def test_a_machine_that_moves_over_the_border_of_pages_while_others_go_is_seen(
    stage: OpennebulaStage, where: int, descending: bool
) -> None:
    stage.wire.descending = descending
    machines = [stage.wire.member(name(sequence)) for sequence in range(1, 151)]

    def go(look: int) -> None:
        if look == 2:
            machines[where].state = machines[149 - where].state = DONE

    changing(stage, go)
    listing = stage.driver().list(WEB)

    assert listing.complete
    assert {server.name for server in listing.servers} >= {vm.name for vm in machines if vm.state != DONE}


@pytest.mark.parametrize("descending", [True, False])
def test_machines_that_come_while_a_pool_is_read_hide_no_other(stage: OpennebulaStage, descending: bool) -> None:
    stage.wire.descending = descending
    for sequence in range(1, 251):
        stage.wire.member(name(sequence))
    changing(stage, lambda look: [stage.wire.member(name(1000 * look + more)) for more in range(30)] and None)

    listing = stage.driver().list(WEB)

    assert listing.complete
    assert {server.name for server in listing.servers} >= {name(sequence) for sequence in range(1, 251)}


def test_a_pool_that_changes_all_the_time_is_not_all(stage: OpennebulaStage) -> None:
    machines = [stage.wire.member(name(sequence)) for sequence in range(1, 1001)]

    def go(look: int) -> None:
        for vm in machines[1000 - 100 * look :][:100] if look > 1 else ():  # what has been read already, and more
            vm.state = DONE

    changing(stage, go)
    listing = stage.driver().list(WEB)

    assert not listing.complete
    assert "changes while it is read" in listing.because


def test_many_are_made_at_the_same_time_beside_many_with_few_looks_at_the_pool(stage: OpennebulaStage) -> None:
    for sequence in range(1, 151):
        stage.wire.member(name(sequence))
    cloud = stage.driver()

    with ThreadPoolExecutor(max_workers=8) as workers:
        made = list(workers.map(lambda sequence: cloud.create(stage.launch(sequence)), range(1001, 1041)))

    assert len({server.id for server in made}) == 40
    assert len(stage.wire.alive) == len(set(stage.wire.alive)) == 190
    assert stage.wire.count("vmpool.infoextended") < 2 * 40


def test_a_member_that_is_not_among_those_read_may_still_be_there(stage: OpennebulaStage) -> None:
    for sequence in range(1, 151):
        stage.wire.member(name(1000 + sequence))
    for command in (lambda: stage.driver().find(name(1)), lambda: stage.driver().create(stage.launch(1))):
        stage.wire.script("vmpool.infoextended", answered(b"", obeyed=True), answered(b"", status=503))
        with pytest.raises(Transient, match="HTTP 503"):
            command()


def test_a_machine_that_was_made_is_not_written_off_since_it_cannot_be_read(stage: OpennebulaStage) -> None:
    cloud = stage.driver()
    stage.wire.script("vm.info", *[refused(AUTHENTICATION, "User couldn't be authenticated")] * 4)

    for _ in range(2):
        with pytest.raises(Transient, match="check user and password"):
            cloud.create(stage.launch())

    assert cloud.create(stage.launch()).name == name()
    assert stage.wire.alive == [name()]


def test_a_pool_of_other_things_proves_nothing(stage: OpennebulaStage) -> None:
    cloud = stage.driver()
    stage.wire.script("vmpool.infoextended", *[answering("<VM_POOL><HOST><ID>7</ID></HOST></VM_POOL>")] * 2)

    listing = cloud.list(WEB)

    assert (listing.servers, listing.complete) == ((), False)
    with pytest.raises(Transient, match="entries that cannot be read"):
        cloud.find(name())


def test_an_entry_that_makes_no_sense_leaves_the_listing_partial(stage: OpennebulaStage) -> None:
    mark = "<USER_TEMPLATE><TRIMTAB>web-k3f9ab-1</TRIMTAB></USER_TEMPLATE>"
    whole = (
        "<VM><ID>1</ID><UNAME>fleet</UNAME><NAME>web-k3f9ab-1</NAME><STATE>3</STATE><LCM_STATE>3</LCM_STATE>"
        f"<STIME>9</STIME>{mark}</VM>"
    )
    for odd in ("<VM><ID>2</ID></VM>", "<VM><NAME>web-k3f9ab-2</NAME></VM>"):
        stage.wire.script("vmpool.infoextended", answering(f"<VM_POOL>{whole}{odd}</VM_POOL>"))

        listing = stage.driver().list(WEB)

        assert [server.name for server in listing.servers] == [name()]
        assert not listing.complete


# Removing.


@pytest.mark.parametrize(("hard", "actions"), [(False, ["terminate"]), (True, ["terminate-hard"])])
def test_the_guest_is_asked_unless_the_cloud_is_to_be_hard(
    stage: OpennebulaStage, hard: bool, actions: list[str]
) -> None:
    cloud = stage.driver(hard=hard)
    made = cloud.create(stage.launch())

    cloud.destroy(name(), grace=30.0)

    assert stage.wire.vms[int(made.id)].calls == actions
    assert cloud.find(name()) is None


def test_a_guest_that_does_not_stop_is_made_to_after_the_grace(stage: OpennebulaStage, clock: Clock) -> None:
    stage.wire.stubborn = True
    cloud = stage.driver()
    made = cloud.create(stage.launch())
    for _ in range(3):
        cloud.destroy(name(), grace=30.0)
        clock.at += 10
        assert cloud.find(name()) is not None

    cloud.destroy(name(), grace=30.0)

    assert set(stage.wire.vms[int(made.id)].calls[:-1]) == {"terminate"}
    assert stage.wire.vms[int(made.id)].calls[-1] == "terminate-hard"
    assert cloud.find(name()) is None


def test_a_guest_that_still_stops_when_its_time_is_over_is_made_to(stage: OpennebulaStage, clock: Clock) -> None:
    cloud = stage.driver()
    made = cloud.create(stage.launch())
    stage.wire.looks = 1000
    for _ in range(2):
        cloud.destroy(name(), grace=30.0)
    assert stage.wire.vms[int(made.id)].calls == ["terminate"]

    clock.at += 31
    cloud.destroy(name(), grace=30.0)

    assert stage.wire.vms[int(made.id)].calls == ["terminate", "terminate-hard"]


def test_another_member_under_the_same_name_has_its_own_grace(stage: OpennebulaStage, clock: Clock) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch())
    cloud.destroy(name(), grace=30.0)
    cloud.destroy(name(), grace=30.0)
    clock.at += 3600
    again = cloud.create(stage.launch())

    cloud.destroy(name(), grace=30.0)

    assert stage.wire.vms[int(again.id)].calls == ["terminate"]


@pytest.mark.parametrize("lcm", [EPILOG, 23])
def test_what_is_on_its_way_out_is_not_asked_again(stage: OpennebulaStage, lcm: int) -> None:
    stage.wire.member(name(), lcm=lcm, looks=1000)

    stage.driver().destroy(name(), grace=0.0)

    assert stage.wire.count("vm.action") == 0


def test_a_machine_that_cannot_go_in_its_state_goes_later(stage: OpennebulaStage) -> None:
    vm = stage.wire.member(name(), lcm=2, looks=1000)

    with pytest.raises(Transient, match="wrong state"):
        stage.driver().destroy(name(), grace=30.0)

    vm.lcm = 3
    stage.driver().destroy(name(), grace=30.0)
    assert (vm.state, vm.lcm) == (ACTIVE, SHUTDOWN)


def test_a_machine_that_goes_while_it_is_being_removed_is_gone(stage: OpennebulaStage) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch())
    stage.wire.script("vm.action", refused(NO_EXISTS, "[one.vm.action] Error getting virtual machine [7]."))

    cloud.destroy(name(), grace=30.0)

    assert stage.wire.count("vm.action") == 1, "a machine that is gone is asked nothing more"


@pytest.mark.parametrize("state", [(ACTIVE, SHUTDOWN), (ACTIVE, EPILOG), (DONE, 0)], ids=str)
def test_a_request_that_comes_too_late_for_its_state_has_been_obeyed(
    stage: OpennebulaStage, state: tuple[int, int]
) -> None:
    vm = stage.wire.member(name(), looks=1000)

    def another_was_first(method: str) -> None:
        if method == "vm.action":
            vm.state, vm.lcm = state

    stage.wire.before = another_was_first

    stage.driver().destroy(name(), grace=30.0)

    assert (vm.state, vm.lcm) == state


def test_a_member_that_was_given_to_another_user_is_no_member_any_more(stage: OpennebulaStage) -> None:
    cloud = stage.driver()
    made = cloud.create(stage.launch())

    stage.wire.vms[int(made.id)].owner = "other"

    assert cloud.find(name()) is None
    cloud.destroy(name(), grace=0.0)
    assert stage.wire.vms[int(made.id)].calls == []


# Marks.


def test_another_users_machine_is_no_foreign_member_that_could_be_given(stage: OpennebulaStage) -> None:
    theirs = stage.wire.add("database", owner="other")

    assert stage.driver().foreign_member(str(theirs.id)) is None
    with pytest.raises(Permanent, match="no machine"):
        stage.driver().mark(str(theirs.id), stage.launch(5).id)


def test_a_name_that_several_machines_have_is_reported_with_their_ids(stage: OpennebulaStage) -> None:
    both = [stage.foreign_member("database") for _ in range(2)]

    with pytest.raises(Permanent, match=rf"write the id .*{both[1]}.*{both[0]}"):
        stage.driver().foreign_member("database")


def test_a_machine_that_is_given_keeps_its_name_and_attributes(stage: OpennebulaStage) -> None:
    vm = stage.wire.add("database", user_template={"OWNER": "ops"})

    stage.driver().mark(str(vm.id), stage.launch(5).id)

    assert (vm.name, vm.user_template["OWNER"]) == ("database", "ops")
    assert vm.user_template["TRIMTAB_VM"] == str(vm.id)


# Refusals.


@pytest.mark.parametrize(
    ("code", "text", "kind", "message"),
    [
        pytest.param(AUTHENTICATION, "no", Permanent, "check user and password", id="authentication"),
        pytest.param(AUTHORISATION, "Not authorized", Permanent, "what the user may use", id="authorisation"),
        pytest.param(AUTHORISATION, "user [2] limit of 4 reached for VMS quota in VM.", Permanent, "quota", id="quota"),
        pytest.param(AUTHORISATION, "limit of 4 exceeded for VMs", Permanent, "lower max", id="quota, older"),
        pytest.param(NO_EXISTS, "Error getting template [3].", Permanent, r"template \[3\]", id="no such template"),
        pytest.param(API, "Wrong parameter", Permanent, "Wrong parameter", id="api"),
        pytest.param(ACTION, "wrong state", Transient, "wrong state", id="action"),
        pytest.param(INTERNAL, "database is locked", Transient, "database", id="internal"),
        pytest.param(ALLOCATE, "Cannot get IP/MAC lease", Transient, "IP/MAC lease", id="allocation"),
        pytest.param(0x77777, "newer", Transient, "newer", id="a code that is not known"),
    ],
)
def test_every_refusal_is_transient_or_permanent_and_says_why(
    stage: OpennebulaStage, code: int, text: str, kind: type[DriverError], message: str
) -> None:
    stage.wire.script("template.instantiate", *[refused(code, f"[one.template.instantiate] {text}")] * 2)

    with pytest.raises(kind, match=message):
        stage.driver().create(stage.launch())

    assert stage.wire.alive == []


def test_a_new_password_takes_effect_in_flight(stage: OpennebulaStage) -> None:
    kept = iter(["an old one"])
    wire = OpennebulaClient(an_opennebula(stage.endpoint), lambda _: next(kept, PASSWORD))

    assert wire.every("templatepool.info", "VMTEMPLATE", -2).because == ""


def test_a_missing_secret_is_permanent_and_names_its_place(stage: OpennebulaStage) -> None:
    def read(ref: SecretRef) -> str:
        raise Refused(f"the environment variable {ref.env} holds no secret")

    with pytest.raises(Permanent, match="variable PASSWORD holds no secret"):
        OpennebulaClient(an_opennebula(stage.endpoint), read).ask("vm.info", 1)


def test_no_error_and_no_log_tells_a_secret(stage: OpennebulaStage, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    faults = [
        LOST,
        refused(INTERNAL, f"bad call by {USER}:{PASSWORD}"),
        answered(f"<html>{PASSWORD}".encode(), status=500),
        answered(PASSWORD.encode()),
        answered(b"<?xml version='1.0'?><methodResponse><fault><value><struct><member><name>faultCode</name><value>"
                 b"<int>1</int></value></member><member><name>faultString</name><value><string>s3cr-et:&amp; "
                 b"&lt;of the wire&gt;</string></value></member></struct></value></fault></methodResponse>"),
    ]  # fmt: skip
    errors = []
    for fault in faults:
        stage.wire.script("template.instantiate", fault)
        with pytest.raises(DriverError) as raised:
            stage.driver().create(stage.launch())
        errors.append(f"{raised.value} {raised.value.__cause__!r}")
        stage.wire.vms.clear()

    assert not [line for line in [*errors, caplog.text] if PASSWORD in line]


# The wire.


def test_the_whole_answer_has_one_deadline_however_it_drips(stage: OpennebulaStage) -> None:
    stage.wire.script("vm.info", answered(b" " * 100, drip=1.0))
    began = time.monotonic()

    with pytest.raises(Transient, match="not answered"):
        a_wire(stage, timeout=0.3).ask("vm.info", 1)

    assert time.monotonic() - began < 50.0, "the whole answer takes longer than a minute and a half"


def test_an_answer_has_a_largest_size(stage: OpennebulaStage) -> None:
    stage.wire.script("vm.info", answered(b"<" + b" " * 4000))
    wire = a_wire(stage)
    wire._session = BoundedPool(5.0, at_most=1000)

    with pytest.raises(Transient, match="not answered"):
        wire.ask("vm.info", 1)


def test_no_redirection_is_followed(stage: OpennebulaStage) -> None:
    stage.wire.script("vm.info", answered(b"", status=307, headers=(("Location", stage.endpoint),)))

    with pytest.raises(Transient, match="HTTP 307"):
        a_wire(stage).ask("vm.info", 1)

    assert stage.wire.count("vm.info") == 1


def test_no_listener_is_transient() -> None:
    with pytest.raises(Transient, match="connection refused"):
        OpennebulaClient(an_opennebula("http://127.0.0.1:9/RPC2", timeout=1.0), lambda _: "x").ask("vm.info", 1)


_BOMB = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">%s]><methodResponse><params><param><value>
<string>&z;</string></value></param></params></methodResponse>""" % b"".join(
    b'<!ENTITY %c "%s">' % (98 + n, (b"&%c;" % (97 + n)) * 10) for n in range(25)
)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(answered(b""), id="nothing"),
        pytest.param(answered(b"\x00\xff"), id="bytes"),
        pytest.param(answered(b"<html><body>proxy</body></html>"), id="another document"),
        pytest.param(answered(_BOMB), id="a bomb"),
        pytest.param(answering(""), id="an empty text"),
        pytest.param(answering("<VM><ID>"), id="cut off"),
        pytest.param(answering("<HOST><ID>1</ID></HOST>"), id="another thing"),
        pytest.param(answering("<NOTHING/>"), id="nothing that is known"),
        pytest.param(answering("<VM><ID>one</ID></VM>"), id="an id that is none"),
        pytest.param(answering("<VM><ID>8</ID><NAME>x</NAME></VM>"), id="hardly anything"),
        pytest.param(answering("<VM><ID>7</ID><TEMPLATE>text</TEMPLATE></VM>"), id="a template that is none"),
        pytest.param(answering(7), id="a number"),
        pytest.param(answering([1, 2]), id="a list"),
    ],
)
def test_what_makes_no_sense_proves_nothing(stage: OpennebulaStage, answer: typing.Any) -> None:
    cloud = stage.driver()
    cloud.create(stage.launch())
    for call in (lambda: cloud.find(name()), lambda: cloud.foreign_member("7")):
        stage.wire.script("vm.info", answer)
        with pytest.raises(Transient, match="cannot be read"):
            call()


def element(tag: str, children: typing.Any) -> Element:
    made = Element(tag)
    if isinstance(children, str):
        made.text = children
    else:
        made.extend(element(*child) for child in children)
    return made


TAGS = ["NIC", "IP", "TRIMTAB", "TRIMTAB_VM", "NETWORK", "HISTORY", "CID", "ID", "NAME", "STATE", "TEMPLATE"]
INSIDE = st.recursive(
    st.text(max_size=8),
    lambda inner: st.lists(st.tuples(st.sampled_from([*TAGS, "USER_TEMPLATE", "HISTORY_RECORDS"]), inner), max_size=4),
    max_leaves=12,
)
IDENTIFIED = [("ID", "7"), ("NAME", "x"), ("UNAME", "fleet"), ("STATE", "3"), ("LCM_STATE", "3"), ("STIME", "1")]


@given(INSIDE, INSIDE)
def test_whatever_is_answered_is_read_or_refused_and_never_raises(value: typing.Any, other: typing.Any) -> None:
    machine_of(value)
    machine_of(element("VM", value))
    parts = [("USER_TEMPLATE", value), ("TEMPLATE", other), ("HISTORY_RECORDS", value)]
    machine = machine_of(element("VM", [*IDENTIFIED, *parts]))
    assert machine is not None
    machine.address(None)
    machine.member("k3f9ab")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=40))
def test_whatever_is_written_into_a_template_is_read_back(value: str) -> None:
    assert parsed(template_xml((("A", value), ("B", (("C", value),))))) == {"A": value, "B": {"C": value}}


@pytest.mark.parametrize("fault", list(ErrorCode))
def test_every_fault_is_one_of_two_errors(fault: ErrorCode) -> None:
    assert isinstance(refusal(fault, "", "prod"), Transient | Permanent)


def test_the_table_makes_the_driver_without_asking_anything(clock: Clock, tmp_path: object) -> None:
    cloud = orchestrator_for(an_opennebula("http://127.0.0.1:9/"), "k3f9ab", tmp_path, clock)  # type: ignore[arg-type]

    with pytest.raises(Permanent, match="no secrets"):
        cloud.list(WEB)
