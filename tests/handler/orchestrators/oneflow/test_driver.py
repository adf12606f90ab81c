from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.clients.coalescing import Coalescer
from config.errors import DriverError, Full, Permanent, Refused, Transient
from config.model.catalogue import Profile
from config.units import CloudId, MemberName, ProfileId
from handler.orchestrators.oneflow.parsing import refusal, service_of
from handler.orchestrators.table import orchestrator_for
from handler.planning.launches import Claim
from tests.support.oneflow_stage import OneflowStage, a_oneflow, old_oneflow_stage, oneflow_stage
from tests.support.opennebula import a_template_recipe
from tests.support.opennebula_wire import AUTHENTICATION, AUTHORISATION, DONE, POWEROFF, refused
from tests.support.orchestrators import Clock
from tests.support.waiting import PATIENT, scaled, until
from tests.support.wire_server import Fault, answered


@pytest.fixture
def stage() -> Iterator[OneflowStage]:
    with oneflow_stage(clock=Clock()) as stage:
        yield stage


@pytest.fixture
def old_stage() -> Iterator[OneflowStage]:
    with old_oneflow_stage(clock=Clock()) as stage:
        yield stage


# Making.


def test_a_newcomer_bears_its_order_from_birth_and_a_mark_of_its_own_soon_after(stage: OneflowStage) -> None:
    made = stage.driver().create(stage.launch(5))

    vm = stage.wire.vms[int(made.id)]
    assert vm.user_template["TRIMTAB_ORDER"] == f"web-k3f9ab-5:{vm.name}"
    assert (vm.user_template["TRIMTAB"], vm.user_template["TRIMTAB_VM"]) == ("web-k3f9ab-5", made.id)
    assert vm.user_template["ROLE_NAME"] == "node"


def test_what_a_role_gives_to_its_nodes_stays_beside_the_order(stage: OneflowStage) -> None:
    contents = stage.flow.role(3, "node")["template_contents"]
    contents["COLOUR"] = "blue & <green>"

    made = stage.driver().create(stage.launch())

    assert stage.wire.vms[int(made.id)].user_template["COLOUR"] == "blue & <green>"


def test_what_a_role_of_6_10_gives_to_its_nodes_stays_and_one_order_takes_the_place_of_the_last(
    old_stage: OneflowStage,
) -> None:
    given = 'COLOUR = "blue & <green>"\nFEATURES = [ ACPI = "yes",\n  PAE = "no" ]'
    role = old_stage.flow.role(3, "node")
    role["vm_template_contents"] = given
    keys = role.keys() | {"waiting"}
    driver = old_stage.driver()

    made = [driver.create(old_stage.launch(sequence)) for sequence in (1, 2)]

    last = old_stage.wire.vms[int(made[-1].id)]
    assert last.user_template["COLOUR"] == "blue & <green>"
    role = old_stage.flow.role(3, "node")
    assert role["vm_template_contents"] == f'{given}\nTRIMTAB_ORDER="web-k3f9ab-2:{last.name}"'
    assert role.keys() == keys


def test_a_newcomer_to_a_role_of_6_10_bears_its_order_from_birth(old_stage: OneflowStage) -> None:
    made = old_stage.driver().create(old_stage.launch(5))

    vm = old_stage.wire.vms[int(made.id)]
    assert vm.user_template["TRIMTAB_ORDER"] == f"web-k3f9ab-5:{vm.name}"
    assert old_stage.flow.role(3, "node")["vm_template_contents"].strip() == f'TRIMTAB_ORDER="web-k3f9ab-5:{vm.name}"'


def test_a_role_that_changes_between_reading_and_ordering_is_read_again_another_time(stage: OneflowStage) -> None:
    def meddle(call: str) -> None:
        if call == "PUT":
            stage.flow.before = lambda _: None
            stage.flow.role(3, "node")["last_vmname"] += 1

    stage.flow.before = meddle
    with pytest.raises(Transient, match="Immutable value"):
        stage.driver().create(stage.launch())

    assert stage.count(stage.launch().id.name) == 0
    assert stage.flow.count("scale") == 0
    stage.driver().create(stage.launch())


@pytest.mark.parametrize("release", ["stage", "old_stage"], ids=["7.0", "6.10"])
def test_a_node_that_a_person_adds_after_a_refused_scaling_is_not_the_member_that_was_ordered(
    release: str, request: pytest.FixtureRequest
) -> None:
    stage: OneflowStage = request.getfixturevalue(release)
    driver, launch = stage.driver(), stage.launch()
    before = json.dumps(stage.flow.role(3, "node"))
    stage.flow.script("scale", *[answered(b"Not authorized", status=403)] * 2)
    with pytest.raises(Permanent, match="Not authorized"):
        driver.create(launch)
    assert json.dumps(stage.flow.role(3, "node")) == before

    stage.flow._scale(3, "node", 1, force=False)

    assert driver.list(launch.id.group).servers == ()
    assert driver.standing(launch.profile) == 1


def test_an_order_stays_while_it_is_not_known_whether_its_scaling_was_carried_out(stage: OneflowStage) -> None:
    driver, launch = stage.driver(), stage.launch()
    stage.flow.script("scale", answered(b"Bad Gateway", status=502))
    with pytest.raises(Transient):
        driver.create(launch)

    stage.flow._scale(3, "node", 1, force=False)

    assert [server.name for server in driver.list(launch.id.group).servers] == [launch.id.name]


def test_a_refused_scaling_is_reported_though_its_order_cannot_be_withdrawn(stage: OneflowStage) -> None:
    stage.flow.script("scale", *[answered(b"Not authorized", status=403)] * 2)
    stage.flow.script("PUT", Fault(obeyed=True, status=200), answered(b"Bad Gateway", status=502))
    with pytest.raises(Permanent, match="Not authorized"):
        stage.driver().create(stage.launch())


@pytest.mark.parametrize("state", [1, 4, 8, 10, 3], ids=["deploying", "warning", "scaling", "cooldown", "undeploying"])
def test_a_service_that_is_at_something_is_left_alone(stage: OneflowStage, state: int) -> None:
    stage.flow.services[3]["state"] = state

    with pytest.raises(Transient, match="it is"):
        stage.driver().create(stage.launch())

    assert (stage.flow.count("PUT"), stage.flow.count("scale")) == (0, 0)


def test_what_has_failed_is_asked_to_recover_and_its_newcomer_is_taken(stage: OneflowStage) -> None:
    stage.wire.quota = 0
    with pytest.raises(Full):
        stage.driver().create(stage.launch())
    stage.wire.quota = 9

    with pytest.raises(Transient, match=r"now recovering: .*quota"):
        stage.driver().create(stage.launch())

    made = stage.driver().create(stage.launch())
    assert stage.flow.nodes(3, "node") == [int(made.id)]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param({"service": "nix"}, "no service .* is called 'nix'", id="service"),
        pytest.param({"service": "44"}, "Error getting document", id="service by id"),
        pytest.param({"role": "nix"}, "has no role nix: its roles are node", id="role"),
    ],
)
def test_what_is_not_there_is_permanent(stage: OneflowStage, fields: Mapping[str, Any], message: str) -> None:
    with pytest.raises(Permanent, match=message):
        stage.driver().create(stage.launch(**fields))


def test_a_role_of_virtual_routers_is_refused(stage: OneflowStage) -> None:
    stage.flow.role(3, "node")["type"] = "vr"

    with pytest.raises(Permanent, match="virtual routers"):
        stage.driver().create(stage.launch())


def test_a_profile_of_another_kind_is_refused(stage: OneflowStage) -> None:
    profile = Profile(id=ProfileId("p"), cloud=CloudId("prod"), recipe=a_template_recipe())

    with pytest.raises(Permanent, match="no role of OneFlow"):
        stage.driver().standing(profile)


# Nodes that are there.


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        pytest.param({}, 1, id="foreign"),
        pytest.param({"user_template": {"TRIMTAB": "web-zzzzzz-1", "TRIMTAB_VM": "7"}}, 0, id="another owner's"),
        pytest.param({"user_template": {"TRIMTAB": "released"}}, 0, id="let go"),
        pytest.param({"state": 5}, 0, id="set aside"),
        pytest.param({"state": 8}, 0, id="off"),
        pytest.param({"lcm": 36}, 0, id="failed"),
        pytest.param({"state": DONE}, 0, id="gone"),
        pytest.param({"owner": "other"}, 0, id="another user's"),
    ],
)
def test_only_nodes_that_run_and_are_free_are_taken(
    stage: OneflowStage, changes: Mapping[str, Any], standing: int
) -> None:
    own = stage.flow.service("old", "node", nodes=1)
    vm = stage.wire.vms[stage.flow.nodes(own, "node")[0]]
    for name, value in changes.items():
        setattr(vm, name, value)

    assert stage.driver().standing(stage.launch(service="old").profile) == standing


def test_the_oldest_node_is_taken_first(stage: OneflowStage) -> None:
    own = stage.flow.service("old", "node", nodes=3)

    made = [stage.driver().create(stage.launch(number, service="old")) for number in (1, 2)]

    assert [int(server.id) for server in made] == stage.flow.nodes(own, "node")[:2]
    assert stage.flow.count("scale") == 0


def test_a_node_that_another_client_takes_at_the_same_moment_is_not_ours(stage: OneflowStage) -> None:
    own = stage.flow.service("old", "node", nodes=1)
    vm = stage.wire.vms[stage.flow.nodes(own, "node")[0]]
    launch = stage.launch(service="old")

    def meddle(method: str) -> None:
        if method == "vm.info" and vm.user_template.get("TRIMTAB") == launch.id.name:
            vm.user_template["TRIMTAB"] = "web-zzzzzz-1"

    stage.wire.before = meddle

    with pytest.raises(Transient, match="belongs to another member"):
        stage.driver().create(launch)


# Room.


def test_a_role_has_room_up_to_its_max_vms_and_the_quotas_of_its_user(stage: OneflowStage) -> None:
    driver, launch = stage.driver(), stage.launch()
    stage.flow.role(3, "node")["max_vms"] = 5
    driver.create(launch)

    quotas = {quota.limit.what: quota for quota in driver.quotas(launch.profile)}

    nodes = quotas["nodes of role node of service 3"]
    assert (nodes.limit.used, nodes.limit.most, nodes.each) == (1, 5, 1)
    assert (quotas["machines"].limit.used, quotas["machines"].each) == (1, 1)


def test_nothing_limits_a_group_while_nodes_stand_there_that_use_it_up_already(stage: OneflowStage) -> None:
    stage.flow.service("old", "node", nodes=2, max_vms=2)
    profile = stage.launch(service="old").profile

    assert stage.driver().quotas(profile) == ()


# Removing.


def test_what_is_off_is_started_once_and_then_removed_whatever_it_does(stage: OneflowStage) -> None:
    driver, launch = stage.driver(), stage.launch()
    vm = stage.wire.vms[int(driver.create(launch).id)]
    for calls in (["resume"], ["resume", "terminate"]):
        vm.state, vm.lcm = POWEROFF, 0
        driver.destroy(launch.id.name, grace=30.0)
        assert vm.calls == calls

    assert driver.find(launch.id.name) is None


def test_a_start_that_is_not_carried_out_is_tried_again_a_few_times_before_a_node_is_removed(
    stage: OneflowStage,
) -> None:
    driver, launches = stage.driver(), (stage.launch(1), stage.launch(2))
    once, never = (stage.wire.vms[int(driver.create(launch).id)] for launch in launches)
    for vm in (once, never):
        vm.state, vm.lcm = POWEROFF, 0

    stage.wire.script("vm.action", answered(b"", status=503))
    with pytest.raises(Transient):
        driver.destroy(launches[0].id.name, grace=30.0)
    for calls in (["resume"], ["resume", "terminate"]):
        driver.destroy(launches[0].id.name, grace=30.0)
        assert once.calls == calls

    stage.wire.script("vm.action", *[answered(b"", status=503)] * 3)
    for _ in range(3):
        with pytest.raises(Transient):
            driver.destroy(launches[1].id.name, grace=30.0)
    driver.destroy(launches[1].id.name, grace=30.0)
    assert never.calls == ["terminate"]


# The wire.


def test_the_password_is_in_no_message(stage: OneflowStage) -> None:
    password = stage.secrets["PASSWORD"]
    stage.flow.script("POOL", answered(f"no {password} here".encode(), status=500))

    with pytest.raises(Transient) as caught:
        stage.driver().create(stage.launch())

    assert password not in str(caught.value)
    assert "no … here" in str(caught.value)


def test_a_new_password_takes_effect_at_once(stage: OneflowStage) -> None:
    driver, password = stage.driver(), stage.secrets["PASSWORD"]
    driver.create(stage.launch(1))
    stage.wire.users["fleet"] = stage.secrets["PASSWORD"] = f"{password}2"

    driver.create(stage.launch(2))

    assert driver.find(stage.launch(2).id.name) is not None


def test_a_secret_that_cannot_be_read_is_permanent() -> None:
    def unreadable(_: object) -> str:
        raise Refused("no such file")

    driver = orchestrator_for(
        a_oneflow("http://127.0.0.1:9", "http://127.0.0.1:9"), "k3f9ab", None, Clock(), read_secret=unreadable
    )  # type: ignore[arg-type]
    with pytest.raises(Permanent, match="no such file"):
        driver.list_all()


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (500, "Service cannot be scaled in state: SCALING", Transient),
        (500, "Role zz not found", Permanent),
        (500, "Immutable value: `role/nodes` can not be changed", Transient),
        (500, "Immutable value: `service/roles size` can not be changed", Permanent),
        (500, "User [2] : user [2] limit of 4 reached for VMS quota in VM.", Full),
        (401, "Invalid credentials", Permanent),
        (403, "", Permanent),
        (404, "Error getting document [9].", Permanent),
        (400, "KEY: 'role' REQUIRED", Permanent),
        (502, "<html>", Transient),
        (429, "", Transient),
    ],
)
def test_refusals_pass_or_do_not(status: int, message: str, kind: type) -> None:
    assert type(refusal(status, message, "prod")) is kind or isinstance(refusal(status, message, "prod"), kind)
    assert isinstance(refusal(status, message, "prod"), Transient) is (kind is Transient)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "DOCUMENT",
                    "ID",
                    "NAME",
                    "UNAME",
                    "TEMPLATE",
                    "BODY",
                    "state",
                    "roles",
                    "name",
                    "cardinality",
                    "nodes",
                    "log",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=24,
)


NOT_KNOWN = refused(AUTHENTICATION, "User couldn't be authenticated")
NOT_ALLOWED = refused(AUTHORISATION, "Not authorized to perform MANAGE VM")


@pytest.mark.parametrize(
    ("call", "faults"),
    [
        pytest.param("vm.info", [NOT_KNOWN, NOT_KNOWN], id="it cannot be read"),
        pytest.param("vm.update", [NOT_ALLOWED], id="its mark is refused"),
        pytest.param("vm.update", [answered(b"", obeyed=True), NOT_ALLOWED], id="its claim is refused"),
    ],
)
def test_a_node_that_was_ordered_is_not_written_off_since_what_follows_is_refused(
    stage: OneflowStage, call: str, faults: list[Fault]
) -> None:
    cloud, launch = stage.driver(), replace(stage.launch(), claim=Claim(counter=1, nonce="aaaaaaaa"))
    stage.wire.script(call, *faults)

    with pytest.raises(Transient, match="refused"):
        cloud.create(launch)

    assert cloud.create(launch).name == launch.id.name
    assert len(stage.flow.nodes(3, "node")) == 1


def test_a_standing_node_that_bears_the_mark_is_not_written_off_since_it_cannot_be_read(stage: OneflowStage) -> None:
    own = stage.flow.service("old", "node", nodes=1)
    stage.wire.script("vm.info", NOT_KNOWN, NOT_KNOWN)
    launch = stage.launch(service=str(own))

    with pytest.raises(Transient, match="check user and password"):
        stage.driver().create(launch)

    assert [server.name for server in stage.driver().list_all().servers] == [launch.id.name]


@pytest.mark.parametrize(
    ("call", "body"),
    [
        pytest.param("GET", {"DOCUMENT": {"ID": "3", "NAME": "shop", "UNAME": "fleet", "TEMPLATE": {
            "BODY": {"state": 2}}}}, id="a service without its roles"),
        pytest.param("POOL", {"DOCUMENT_POOL": {"DOCUMENT": "3"}}, id="a pool of another shape"),
        pytest.param("POOL", {"DOCUMENT_POOL": {"DOCUMENT": [{"NAME": "shop"}]}}, id="a service without id"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_does_not_prove_that_service_or_role_is_missing(
    stage: OneflowStage, call: str, body: object
) -> None:
    stage.flow.services[3]["name"] = "shop"
    stage.flow.script(call, answered(json.dumps(body).encode()))

    with pytest.raises(Transient, match="the answer cannot be read"):
        stage.driver().create(stage.launch(service="shop"))


@given(_JSON)
def test_whatever_is_answered_is_a_service_or_none(answer: object) -> None:
    service = service_of(answer)

    assert service is None or service.id >= 0


# Together.


def test_what_several_ask_for_is_done_in_one_go_and_each_has_its_own_answer() -> None:
    goes: list[Sequence[int]] = []
    answers: dict[int, object] = {}

    def do(asked: Sequence[int]) -> Mapping[int, int | DriverError]:
        goes.append(sorted(asked))
        return {each: each * 10 for each in asked if each != 3} | {3: Full("no room")}

    together: Coalescer[int, int] = Coalescer(do, quiet=scaled(1.0))

    def ask(number: int) -> None:
        try:
            answers[number] = together.ask(number)
        except DriverError as error:
            answers[number] = type(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert goes == [[0, 1, 2, 3, 4]]
    assert answers == {0: 0, 1: 10, 2: 20, 3: Full, 4: 40}


def test_a_caller_that_comes_while_a_batch_runs_is_served_by_the_next() -> None:
    goes: list[list[int]] = []
    under_way, goes_on = threading.Event(), threading.Event()

    def do(asked: Sequence[int]) -> Mapping[int, int | DriverError]:
        goes.append(list(asked))
        under_way.set()
        goes_on.wait(PATIENT)
        return {each: each for each in asked}

    together: Coalescer[int, int] = Coalescer(do)
    first = threading.Thread(target=together.ask, args=(1,))
    first.start()
    under_way.wait(PATIENT)
    second = threading.Thread(target=together.ask, args=(2,))
    second.start()
    until(lambda: together.waiting == 1)
    goes_on.set()
    first.join()
    second.join()

    assert goes == [[1], [2]]


@pytest.mark.parametrize("raised", [Transient("later"), Permanent("never")])
def test_a_failure_reaches_all_that_wait_and_not_the_next_caller(raised: DriverError) -> None:
    failing = [raised]

    def do(asked: Sequence[MemberName]) -> Mapping[MemberName, int | DriverError]:
        if failing:
            raise failing.pop()
        return dict.fromkeys(asked, 1)

    together: Coalescer[MemberName, int] = Coalescer(do)
    with pytest.raises(type(raised)):
        together.ask(MemberName("a"))

    assert together.ask(MemberName("a")) == 1


def test_a_fault_of_our_own_is_reported_and_answers_no_later_call() -> None:
    faults = [ValueError("a fault")]

    def do(asked: Sequence[int]) -> Mapping[int, int | DriverError]:
        if faults:
            raise faults.pop()
        return dict.fromkeys(asked, 7)

    together: Coalescer[int, int] = Coalescer(do)
    with pytest.raises(ValueError, match="a fault"):
        together.ask(1)

    assert together.ask(1) == 7


def test_a_member_that_is_not_in_the_answer_has_no_value_yet() -> None:
    together: Coalescer[int, int] = Coalescer(lambda _: {})

    with pytest.raises(Transient):
        together.ask(1)
