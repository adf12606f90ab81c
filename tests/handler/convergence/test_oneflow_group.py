"""A complete group in a role of OneFlow, over its real protocol, while answers are lost and OneFlow is busy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from config.model.catalogue import Mode, OneflowRecipe
from handler.planning.steps import Wait
from tests.support.cloud_beds import CloudBed
from tests.support.oneflow_stage import old_oneflow_stage, oneflow_stage
from tests.support.oneflow_wire import COOLDOWN, FAILED_SCALING, RUNNING, WARNING
from tests.support.opennebula_wire import ACTIVE, DONE, INTERNAL, POWEROFF, refused
from tests.support.opennebula_wire import RUNNING as VM_RUNNING
from tests.support.waiting import PATIENT, scaled
from tests.support.wire_server import LOST, UNREACHED, Fault, answered
from tests.support.worlds import a_definition


@pytest.fixture(params=[oneflow_stage, old_oneflow_stage], ids=["7.0", "6.10"])
def bed(request: pytest.FixtureRequest) -> Iterator[CloudBed]:
    recipe = OneflowRecipe(service="web", role="node")
    profile = replace(a_definition().profile, recipe=recipe)
    bed = CloudBed(definition=replace(a_definition(), profile=profile), size=0, workers=4)
    with request.param(clock=bed.clock) as stage:
        yield bed.on(stage, lambda: stage.alive, timeout=PATIENT)


def nodes(bed: CloudBed) -> int:
    """How many nodes the role has; its document agrees with itself."""
    bed.stage.flow.go_on()
    role = bed.stage.flow.role(3, "node")
    assert len(role["nodes"]) == role["cardinality"]
    return len(role["nodes"])


def _scale_once_for_all_members(bed: CloudBed) -> None:
    """Wait long for the other members of a pass: on a busy machine its threads do not come at the same time."""
    bed.stage.quiet = scaled(1.0)
    bed.restart()


def test_a_group_grows_to_five_and_shrinks_to_two_while_answers_are_lost(bed: CloudBed) -> None:
    flow = bed.stage.flow
    flow.script("scale", LOST, UNREACHED, answered(b"<html>", status=502, obeyed=True), LOST)
    flow.script("PUT", LOST, answered(b"Internal Server Error", status=500))
    flow.script("GET", answered(b"<html>"), UNREACHED)
    bed.desire(5)
    bed.run()
    bed.clock.advance(10.0)
    bed.restart()  # the process died; nothing is known but what the store and the cloud know

    bed.settle()
    bed.whole(5)
    assert nodes(bed) == 5

    bed.wire.script("vm.action", LOST, UNREACHED, refused(INTERNAL, "later", obeyed=True))
    bed.desire(2)
    bed.settle()

    bed.whole(2)
    assert nodes(bed) == 2


@pytest.mark.parametrize("fault", [LOST, UNREACHED], ids=["answer lost", "call lost"])
@pytest.mark.parametrize(
    ("api", "call", "after"),
    [
        *[("flow", "GET", count) for count in range(3)],
        *[("flow", call, count) for call in ("POOL", "PUT", "scale") for count in range(2)],
        *[("wire", call, count) for call in ("vm.info", "vm.update") for count in range(3)],
    ],
)
def test_a_crash_at_any_call_leaves_neither_an_orphan_nor_a_duplicate(
    bed: CloudBed, api: str, call: str, after: int, fault: Fault
) -> None:
    side = bed.stage.flow if api == "flow" else bed.wire
    side.script(call, *[answered(b"", obeyed=True)] * after, fault)
    bed.desire(3)
    bed.run()
    bed.restart()

    bed.settle()

    bed.whole(3)
    assert nodes(bed) == 3


def test_a_crash_after_which_fewer_are_wanted_leaves_no_orphan(bed: CloudBed) -> None:
    bed.stage.flow.script("scale", LOST)
    bed.desire(3)
    bed.run()
    bed.restart()
    bed.desire(1)

    bed.settle()

    bed.whole(1)
    assert nodes(bed) == 1


def test_machines_that_oneflow_forgot_before_it_wrote_them_down_are_members(bed: CloudBed) -> None:
    _scale_once_for_all_members(bed)
    bed.stage.flow.forgetful = True
    bed.desire(2)

    bed.settle()

    bed.whole(2)
    assert nodes(bed) == 0
    bed.desire(3)
    bed.settle()
    bed.whole(3)


def test_what_one_pass_makes_is_one_scaling(bed: CloudBed) -> None:
    _scale_once_for_all_members(bed)
    bed.stage.flow.patience = 3
    bed.desire(4)

    bed.settle()

    bed.whole(4)
    assert bed.stage.flow.count("scale") == 1


def test_nodes_that_are_there_become_members_before_any_is_made(bed: CloudBed) -> None:
    flow = bed.stage.flow
    role = flow.role(3, "node")
    role["cardinality"] = 3
    flow._deploy(3, role)
    bed.desire(4)

    bed.settle()

    bed.whole(4)
    assert flow.count("scale") == 1
    assert nodes(bed) == 4


def test_nodes_that_a_person_adds_are_used_before_others_are_created(bed: CloudBed) -> None:
    flow = bed.stage.flow
    bed.desire(2)
    bed.settle()
    scaled = flow.count("scale")
    role = flow.role(3, "node")
    role["cardinality"] = 3
    flow._deploy(3, role)
    bed.settle()
    assert len(bed.known()) == 2

    bed.desire(3)
    bed.settle()

    bed.whole(3)
    assert flow.count("scale") == scaled


def test_where_machines_are_called_otherwise_than_declared_they_are_members_all_the_same(bed: CloudBed) -> None:
    bed.stage.flow.naming = "vm-$VM_NUMBER-of-$ROLE_NAME"
    bed.desire(3)

    bed.settle()

    bed.whole(3)
    assert nodes(bed) == 3


@pytest.mark.parametrize("shown", [True, False], ids=["that is read before", "that may not be read"])
def test_a_group_that_a_quota_stops_grows_on_when_there_is_room(bed: CloudBed, shown: bool) -> None:
    bed.wire.quota = 2
    bed.wire.forbidden = set() if shown else {"user.info"}
    bed.desire(3)
    for _ in range(3):
        done = bed.run()
    assert {Wait.QUOTA, Wait.FULL} & dict(done.plan.waits).keys()
    assert len(bed.stage.alive) == 2

    bed.wire.quota = 10
    bed.settle()

    bed.whole(3)
    assert nodes(bed) == 3


def test_machines_that_fail_to_boot_are_replaced(bed: CloudBed) -> None:
    bed.wire.failing = 1
    bed.desire(3)

    bed.settle()

    bed.whole(3)
    assert nodes(bed) == 3


def test_a_member_that_is_off_is_started_before_it_goes_so_that_its_service_scales_again(bed: CloudBed) -> None:
    bed.desire(3)
    bed.settle()
    off = next(iter(bed.wire.vms.values()))
    off.state, off.lcm = POWEROFF, 0
    bed.stage.flow.go_on()
    assert bed.stage.flow.services[3]["state"] == WARNING

    bed.settle()

    bed.whole(3)
    assert (off.state, off.calls) == (DONE, ["resume", "terminate-hard"])
    assert bed.stage.flow.services[3]["state"] == RUNNING
    assert nodes(bed) == 3


def test_machines_that_were_terminated_by_hand_are_replaced(bed: CloudBed) -> None:
    bed.desire(3)
    bed.settle()
    before = bed.addresses()
    next(iter(bed.wire.vms.values())).state = DONE

    bed.bury(before)
    bed.settle(accept_vanished=True)

    bed.whole(3)
    assert nodes(bed) == 3


def test_max_vms_of_the_role_is_room(bed: CloudBed) -> None:
    bed.stage.flow.role(3, "node")["max_vms"] = 2
    bed.desire(3)

    for _ in range(3):
        done = bed.run()

    assert Wait.QUOTA in dict(done.plan.waits)
    assert nodes(bed) == 2


def test_a_role_that_counts_other_nodes_than_it_has_is_never_scaled(bed: CloudBed) -> None:
    bed.desire(2)
    bed.settle()
    scaled = bed.stage.flow.count("scale")
    bed.stage.flow.role(3, "node")["cardinality"] = 5
    bed.desire(3)

    messages = [message for _ in range(3) for message in bed.run().messages]

    assert any("counts 5 nodes and has 2" in message for message in messages)
    assert bed.stage.flow.count("scale") == scaled


def test_members_wait_for_a_service_that_is_at_something_for_as_long_as_it_takes(bed: CloudBed) -> None:
    flow = bed.stage.flow
    bed.desire(1)
    bed.run()
    flow.services[3]["state"] = flow.role(3, "node")["state"] = COOLDOWN
    flow.patience = flow._waits[3] = 10_000
    bed.desire(2)
    for _ in range(30):
        done = bed.run()
        bed.clock.advance(max(done.next_in or 0.0, 10.0))
        assert (done.world.complete, done.failed_builds, done.failures) == (True, 0, ())
    assert any("scales when it is RUNNING" in message for message in done.messages)
    assert len(bed.known()) == 2

    flow._waits[3] = 0
    bed.settle()

    bed.whole(2)
    assert nodes(bed) == 2
    assert max(record.sequence for record, _ in bed.store.records.values()) == 2


def trouble(bed: CloudBed) -> list[str]:
    """The messages of a pass half a minute later."""
    bed.clock.advance(31.0)
    return list(bed.run().retries)


def settled(bed: CloudBed, size: int) -> None:
    bed.desire(size)
    bed.settle()
    assert trouble(bed) == []


def test_a_group_at_rest_says_what_its_service_waits_for_until_it_scales_again(bed: CloudBed) -> None:
    settled(bed, 2)
    service, flow = bed.stage.flow.services[3], bed.stage.flow
    other = {**flow.role(3, "node"), "name": "db", "nodes": [], "cardinality": 1, "state": WARNING}
    service["roles"].append(other)
    flow._deploy(3, other)
    (node,) = flow.nodes(3, "db")
    bed.wire.vms[node].state, bed.wire.vms[node].lcm, service["state"] = POWEROFF, 0, WARNING

    (message,) = trouble(bed)

    assert message.startswith("prod: service web (3): it is WARNING, and scales only after all its nodes run")
    assert f"it waits for node {node} (POWEROFF). Members are replaced; start those that are not members: " in message
    bed.desire(3)
    bed.run()
    bed.clock.advance(31.0)
    (message,) = bed.run().retries  # the failed step and the obstacle give one message
    assert f"node {node} (POWEROFF)" in message

    bed.wire.vms[node].state, bed.wire.vms[node].lcm = ACTIVE, VM_RUNNING
    flow.go_on()
    bed.settle()
    assert trouble(bed) == []


def test_a_group_at_rest_says_that_its_service_has_failed(bed: CloudBed) -> None:
    settled(bed, 2)
    bed.stage.flow.services[3]["state"] = FAILED_SCALING
    bed.stage.flow._log(bed.stage.flow.services[3], "no host has room", severity="E")

    (message,) = trouble(bed)

    assert "it is FAILED_SCALING, and does not scale: no host has room: the next creation has it recover" in message
    assert message.endswith("oneflow recover 3")


@pytest.mark.parametrize("key", ["elasticity_policies", "scheduled_policies"])
def test_a_group_reports_what_else_scales_its_role_unless_it_only_advises(bed: CloudBed, key: str) -> None:
    settled(bed, 2)
    bed.stage.flow.role(3, "node")[key] = [{"type": "CHANGE"}]

    (message,) = trouble(bed)

    assert "OneFlow scales role node as well, by 1 policies of its own" in message
    assert message.endswith("oneflow update 3")
    group = replace(bed.definition.group, mode=Mode.ADVISE)
    bed.redefine(replace(bed.definition, group=group))
    assert trouble(bed) == []


def test_a_group_without_its_service_reports_that_at_rest(bed: CloudBed) -> None:
    settled(bed, 2)
    bed.stage.flow.services[3]["name"] = "renamed"

    bed.clock.advance(60.0)

    assert trouble(bed) == ["prod: no service that the user can see is called 'web'"]


def test_a_lost_answer_gives_no_notice_at_rest(bed: CloudBed) -> None:
    settled(bed, 2)
    bed.stage.flow.script("GET", LOST, UNREACHED)

    assert [trouble(bed), trouble(bed)] == [[], []]


def test_a_group_at_rest_asks_for_its_service_twice_a_minute(bed: CloudBed) -> None:
    settled(bed, 2)
    asked = bed.stage.flow.count("GET")

    for _ in range(60):
        bed.clock.advance(1.0)
        bed.run()

    assert bed.stage.flow.count("GET") - asked <= 2
