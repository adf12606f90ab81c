"""The rules of CloudStack's autoscale, command by command, over one daemon that all tests of this module share."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import pytest

from config.errors import Transient
from handler.identity.grants import EVERYTHING
from handler.operations.size_operations import ResumeGroup
from handler.planning.status import GroupStatus, MemberState
from tests.support.cloudstack_api import (
    OTHER_RULE,
    RULE,
    ZONE,
    ApiFault,
    ApiScene,
    a_bed,
    serving,
)

T = TypeVar("T")
Run = Callable[[Awaitable[T]], T]


class Stage:
    """One daemon with one group, and a loop to play scenes on."""

    def __init__(self, runner: asyncio.Runner, scene: ApiScene, group: dict[str, Any]) -> None:
        self.runner, self.scene, self.group = runner, scene, group

    def done(self, command: str, **given: object) -> dict[str, Any]:
        return self.runner.run(self.scene.admin.done(command, **given))

    def call(self, command: str, **given: object) -> dict[str, Any]:
        return self.runner.run(self.scene.admin.call(command, **given))

    def listed(self, command: str, **given: object) -> list[dict[str, Any]]:
        return self.runner.run(self.scene.admin.listed(command, **given))

    def refused(self, command: str, **given: object) -> tuple[int, str]:
        """The code and the text of a refusal, at once or by the job."""
        with pytest.raises(ApiFault) as caught:
            self.done(command, **given)
        return caught.value.code, caught.value.text

    @property
    def up(self) -> dict[str, Any]:
        return dict(self.group["scaleuppolicies"][0])

    @property
    def down(self) -> dict[str, Any]:
        return dict(self.group["scaledownpolicies"][0])

    @property
    def condition(self) -> dict[str, Any]:
        return dict(self.up["conditions"][0])


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with asyncio.Runner() as runner:
        life = serving(a_bed(tmp_path_factory.mktemp("cloudstack")))
        scene = runner.run(life.__aenter__())
        try:
            yield Stage(runner, scene, runner.run(scene.group()))
        finally:
            runner.run(life.__aexit__(None, None, None))


@pytest.fixture
def disabled(stage: Stage) -> Iterator[None]:
    stage.done("disableAutoScaleVmGroup", id=stage.group["id"])
    yield
    stage.done("enableAutoScaleVmGroup", id=stage.group["id"])


BOUND_BY_USERS = (
    "there are Vms already bound to the specified LoadBalancing Rule. User bound Vms and AutoScaled Vm Group cannot "
    "co-exist on a Load Balancing Rule"
)
REFUSALS: dict[str, tuple[str, dict[str, object], int, str]] = {
    "unknown source": (
        "createCounter", {"name": "x", "source": "RRD", "value": "1"}, 431, "The Source RRD does not exist"
    ),
    "unknown provider": (
        "createCounter", {"name": "x", "source": "SNMP", "value": "1.3", "provider": "Acme"}, 431,
        "The Provider Acme does not exist; Unable to create Counter",
    ),
    "counter twice": (
        "createCounter", {"name": "scaleup load", "source": "SNMP", "value": "1.3.6.1.4.1.2021.11.9.0"}, 431,
        "Counter with name scaleup load and value 1.3.6.1.4.1.2021.11.9.0 already exists. ",
    ),
    "an OID that is none": (
        "createCounter", {"name": "x", "source": "SNMP", "value": "cpu"}, 431, "is not"
    ),
    "what only a router measures": (
        "createCounter", {"name": "x", "source": "VIRTUALROUTER", "value": "public.network.received.average.mbps"}, 431,
        "is not measured here",
    ),
    "counter in use": (
        "deleteCounter", {"id": "{counter}"}, 536, "Counter is in use. Used by: conditions scaleup load"
    ),
    "unknown operator": (
        "createCondition", {"counterid": "{counter}", "relationaloperator": "NE", "threshold": 1}, 431,
        "The Operator NE does not exist; Unable to create Condition.",
    ),
    "negative threshold": (
        "createCondition", {"counterid": "{counter}", "relationaloperator": "GT", "threshold": -1}, 431,
        "The threshold -1 must be equal to or greater than 0.",
    ),
    "condition of no counter": (
        "createCondition", {"counterid": "gone", "relationaloperator": "GT", "threshold": 1}, 431,
        "Invalid parameter counterid value=gone due to incorrect long value format, or entity does not exist",
    ),
    "condition in use": (
        "deleteCondition", {"id": "{condition}"}, 536,
        "Cannot delete Condition when it is in use by one or more AutoScale Policies.",
    ),
    "condition of a running group": (
        "updateCondition", {"id": "{condition}", "relationaloperator": "GT", "threshold": 1}, 536,
        "used in 1 vm groups NOT in Disabled state.",
    ),
    "unknown action": (
        "createAutoScalePolicy", {"action": "grow", "duration": 1, "conditionids": "{condition}"}, 431,
        "action is invalid. Supported actions are: [SCALEUP, SCALEDOWN]",
    ),
    "negative duration": (
        "createAutoScalePolicy", {"action": "scaleup", "duration": -1, "conditionids": "{condition}"}, 431,
        "duration is an invalid value: -1",
    ),
    "negative quiet time": (
        "createAutoScalePolicy",
        {"action": "scaleup", "duration": 1, "quiettime": -1, "conditionids": "{condition}"}, 431,
        "quietTime is an invalid value: -1",
    ),
    "policy of no condition": (
        "createAutoScalePolicy", {"action": "scaleup", "duration": 1, "conditionids": ","}, 431,
        "AutoScale policy must have at least one condition",
    ),
    "policy of a running group": (
        "updateAutoScalePolicy", {"id": "{up}", "quiettime": 1}, 431,
        "The AutoScale Policy can be updated only if the Vm Group it is associated with is disabled in state",
    ),
    "policy in use": (
        "deleteAutoScalePolicy", {"id": "{up}"}, 431,
        "Cannot delete AutoScale Policy when it is in use by one or more AutoScale Vm Groups",
    ),
    "profile of no zone": (
        "createAutoScaleVmProfile", {"zoneid": "moon", "serviceofferingid": "s", "templateid": "t"}, 431,
        "Invalid parameter zoneid value=moon",
    ),
    "negative grace": (
        "createAutoScaleVmProfile",
        {"zoneid": ZONE, "serviceofferingid": "s", "templateid": "t", "expungevmgraceperiod": -1}, 431,
        "Expunge Vm Grace Period cannot be less than 0.",
    ),
    "what Trimtab itself decides of a machine": (
        "createAutoScaleVmProfile",
        {"zoneid": ZONE, "serviceofferingid": "s", "templateid": "t", "otherdeployparams": "displayname=x"}, 431,
        "Unsupported otherdeployparams key: displayname",
    ),
    "a community that no reference leads to": (
        "createAutoScaleVmProfile",
        {"zoneid": ZONE, "serviceofferingid": "s", "templateid": "t", "snmpcommunity": "hush"}, 431,
        "snmpcommunity is kept as a reference only",
    ),
    "unknown autoscale user": (
        "createAutoScaleVmProfile",
        {"zoneid": ZONE, "serviceofferingid": "s", "templateid": "t", "autoscaleuserid": "x"}, 431,
        "Invalid parameter autoscaleuserid value=x",
    ),
    "user data that is none": (
        "createAutoScaleVmProfile",
        {"zoneid": ZONE, "serviceofferingid": "s", "templateid": "t", "userdata": "%"}, 431, "base64",
    ),
    "profile of a running group": (
        "updateAutoScaleVmProfile", {"id": "{profile}", "templateid": "t"}, 431,
        "The AutoScale Vm Profile can be updated only if the Vm Group it is associated with is disabled in state",
    ),
    "profile in use": (
        "deleteAutoScaleVmProfile", {"id": "{profile}"}, 431,
        "Cannot delete AutoScale Vm Profile when it is in use by one more vm groups",
    ),
    "group of no rule": (
        "createAutoScaleVmGroup", {"lbruleid": "none"}, 431, "Unable to find loadbalancer by lbRuleId"
    ),
    "second group of a rule": (
        "createAutoScaleVmGroup", {"lbruleid": RULE}, 431, "an AutoScaleVmGroup is already attached to the lb rule"
    ),
    "no members": ("createAutoScaleVmGroup", {"minmembers": 0}, 431, "minmembers is an invalid value: 0"),
    "bounds the wrong way round": (
        "createAutoScaleVmGroup", {"minmembers": 4}, 431, "minmembers (4)cannot be greater than maxmembers (3)"
    ),
    "no interval": ("createAutoScaleVmGroup", {"interval": 0}, 431, "interval is an invalid value: 0"),
    "interval longer than a duration": (
        "createAutoScaleVmGroup", {"interval": 61}, 431,
        "duration : 60 specified in a policy cannot be less than vm group's interval : 61",
    ),
    "policy of the other direction": (
        "createAutoScaleVmGroup", {"scaleuppolicyids": "{down}"}, 431,
        "Only scaleup policies can be specified in scaleuppolicyids",
    ),
    "no policies": (
        "createAutoScaleVmGroup", {"scaledownpolicyids": ","}, 431,
        "AutoScale VM group must have at least one ScaleDown policy",
    ),
    "a name with a blank": ("createAutoScaleVmGroup", {"name": "a b"}, 431, "Invalid AutoScale VM group name."),
    "group that runs": (
        "updateAutoScaleVmGroup", {"id": "{group}", "maxmembers": 9}, 431,
        "An AutoScale Vm Group can be updated with minMembers/maxMembers/Interval only when it is in disabled state",
    ),
    "deleting a group that runs": (
        "deleteAutoScaleVmGroup", {"id": "{group}"}, 431,
        "because it is in ENABLED state. Please disable it or pass cleanup=true flag which will destroy all VMs.",
    ),
    "id beside another filter": (
        "listAutoScaleVmGroups", {"id": "{group}", "lbruleid": RULE}, 431,
        "When id is specified other parameters need not be specified",
    ),
    "an account that does not exist": (
        "listConditions", {"account": "none", "domainid": "d5a50268-0437-58cb-9c74-0c9cc8d217c2"}, 431,
        "Unable to find account none",
    ),
    "a job that does not exist": ("queryAsyncJobResult", {"jobid": "x"}, 431, "Invalid parameter jobid value=x"),
    "details of what has none": (
        "addResourceDetail",
        {"resourceid": "x", "resourcetype": "Volume", "details[0].a": "1"}, 431, "Unsupported resource type Volume",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSALS))
def test_what_cloudstack_refuses_is_refused_with_its_code_and_its_words(stage: Stage, name: str) -> None:
    command, given, code, text = REFUSALS[name]
    ids = {"counter": stage.condition["counterid"], "condition": stage.condition["id"], "up": stage.up["id"],
           "down": stage.down["id"], "profile": stage.group["vmprofileid"], "group": stage.group["id"]}  # fmt: skip
    if command == "createAutoScaleVmGroup":
        whole: dict[str, object] = {"lbruleid": OTHER_RULE, "minmembers": 1, "maxmembers": 3,
                                    "vmprofileid": "{profile}", "scaleuppolicyids": "{up}",
                                    "scaledownpolicyids": "{down}"}  # fmt: skip
        given = {**whole, **given}
    sent = {key: value.format(**ids) if isinstance(value, str) else value for key, value in given.items()}

    found = stage.refused(command, **sent)

    assert (found[0], text in found[1]) == (code, True), found


def test_a_rule_with_machines_of_others_gets_no_group(stage: Stage) -> None:
    side = stage.scene.up.bed.balancers["side"]
    wanted = {"lbruleid": OTHER_RULE, "vmprofileid": stage.group["vmprofileid"], "minmembers": 1, "maxmembers": 1,
              "scaleuppolicyids": stage.up["id"], "scaledownpolicyids": stage.down["id"]}  # fmt: skip
    before = stage.listed("listAutoScaleVmGroups")
    side.foreign["10.0.0.8", 8081] = "db"
    assert stage.refused("createAutoScaleVmGroup", **wanted) == (431, BOUND_BY_USERS)
    side.faults.always["registrations"] = Transient("no route")
    code, text = stage.refused("createAutoScaleVmGroup", **wanted)
    assert (code, "whether side has foreign machines cannot be read: no route" in text) == (534, True)
    side.faults.clear()
    side.foreign.clear()
    assert stage.listed("listAutoScaleVmGroups") == before


def test_a_machine_that_is_bound_to_a_groups_rule_later_is_reported_and_left_alone(stage: Stage) -> None:
    edge = stage.scene.up.bed.edge
    (group,) = (name for name in stage.scene.up.engine.runtimes if name.startswith("web-https"))
    edge.foreign["10.0.0.8", 8080] = "db"

    def status() -> GroupStatus:
        return stage.scene.up.operations.group(group)

    async def seen() -> None:
        runtime = stage.scene.up.engine.runtimes[group]
        runtime.wake.set()
        await stage.scene.up.until(lambda: status().messages and status().members)
        await stage.scene.up.until(lambda: status().members[0].state is MemberState.IN_SERVICE)

    stage.runner.run(seen())
    (message,) = status().messages
    (shown,) = stage.listed("listAutoScaleVmGroups", id=stage.group["id"])
    assert message.startswith(f"db is registered with edge and is not ours, and {group} is exclusive")
    assert (shown["availablevirtualmachinecount"], edge.foreign) == (1, {("10.0.0.8", 8080): "db"})
    edge.foreign.clear()


def test_a_group_is_known_by_its_rule_and_grows_to_its_least_number(stage: Stage) -> None:
    runtimes = stage.scene.up.engine.runtimes
    (name,) = (group for group in runtimes if group.startswith("web-https-"))
    stage.runner.run(stage.scene.up.until(lambda: stage.scene.up.operations.group(name).members))

    (member,) = stage.listed("listVirtualMachines", autoscalevmgroupid=stage.group["id"])

    assert member["name"].startswith(name)
    assert member["autoscalevmgroupid"] == stage.group["id"]
    assert (stage.group["interval"], stage.up["quiettime"], stage.up["action"]) == (30, 300, "SCALEUP")


def test_what_is_made_here_is_what_a_file_would_say(stage: Stage) -> None:
    declared = stage.scene.up.operations.declarations.document(EVERYTHING)

    (group,) = (body for name, body in declared["groups"].items() if name.startswith("web-https-"))
    assert group["balancers"] == [{"use": "edge", "port": 8080}]
    assert {key: group[key] for key in ("min", "max", "interval", "drain")} == {
        "min": 1, "max": 3, "interval": "30s", "drain": "120s",
    }  # fmt: skip
    (policy,) = (body for name, body in declared["policies"].items() if name == group["policies"][0])
    assert (policy["add"], policy["duration"], policy["quiet_time"]) == (1, "60s", "300s")
    assert declared["conditions"][policy["when"][0]]["above"] == 50


def test_what_the_file_declares_is_listed_and_cannot_be_changed_here(stage: Stage) -> None:
    (group,) = stage.listed("listAutoScaleVmGroups", name="file-made")

    stage.done("disableAutoScaleVmGroup", id=group["id"])

    code, text = stage.refused("updateAutoScaleVmGroup", id=group["id"], minmembers=1)
    assert (code, "belongs to the file" in text) == (431, True)
    assert stage.done("enableAutoScaleVmGroup", id=group["id"])["state"] == "ENABLED"


@pytest.mark.usefixtures("disabled")
def test_a_disabled_group_is_changed_with_what_it_is_made_of(stage: Stage) -> None:
    condition = stage.done("updateCondition", id=stage.condition["id"], relationaloperator="GE", threshold=60)
    policy = stage.done("updateAutoScalePolicy", id=stage.up["id"], quiettime=90, duration=120, name="grow")
    profile = stage.done(
        "updateAutoScaleVmProfile",
        id=stage.group["vmprofileid"],
        destroyvmgraceperiod=30,
        snmpport=1161,
        snmpcommunity="public",
        userdata=base64.b64encode(b"#cloud-config\n").decode(),
        **{"otherdeployparams[0].name": "disksize", "otherdeployparams[0].value": 20},
    )
    group = stage.done("updateAutoScaleVmGroup", id=stage.group["id"], maxmembers=5, interval=60, name="shop-front")

    assert (condition["relationaloperator"], condition["threshold"]) == ("GE", 60)
    assert (policy["quiettime"], policy["duration"], policy["name"]) == (90, 120, "grow")
    assert profile["counterparam"] == {"snmpcommunity": "public", "snmpport": "1161"}
    assert profile["otherdeployparams"] == {"disksize": "20"}
    assert (profile["expungevmgraceperiod"], profile["userdata"]) == (30, "I2Nsb3VkLWNvbmZpZwo=")
    assert (group["maxmembers"], group["interval"], group["name"], group["state"]) == (5, 60, "shop-front", "DISABLED")
    documents = stage.scene.up.operations.declarations.document(EVERYTHING)["groups"]
    assert [body["drain"] for name, body in documents.items() if name.startswith("web-https-")] == ["30s"]
    stage.done("updateCondition", id=stage.condition["id"], relationaloperator="GT", threshold=50)
    stage.done("updateAutoScaleVmGroup", id=stage.group["id"], maxmembers=3, interval=30, name="web-https")
    stage.done("updateAutoScalePolicy", id=stage.up["id"], quiettime=300, duration=60)
    stage.done("updateAutoScaleVmProfile", id=stage.group["vmprofileid"], expungevmgraceperiod=120)


@pytest.mark.usefixtures("disabled")
def test_the_conditions_of_a_policy_are_replaced_as_a_set(stage: Stage) -> None:
    before = stage.up["conditions"][0]["id"]
    (more,) = stage.listed("listConditions", keyword="high")
    after = stage.done("updateAutoScalePolicy", id=stage.up["id"], conditionids=f"{before},{more['id']}")
    assert len(after["conditions"]) == 2

    again = stage.done("updateAutoScalePolicy", id=stage.up["id"], conditionids=before)
    assert [each["id"] for each in again["conditions"]] == [before]


def test_two_conditions_on_one_counter_make_no_policy(stage: Stage) -> None:
    twin = stage.done("createCondition", counterid=stage.condition["counterid"], relationaloperator="LT", threshold=90)

    code, text = stage.refused(
        "createAutoScalePolicy",
        action="scaleup",
        duration=60,
        conditionids=f"{stage.condition['id']},{twin['id']}",
    )

    assert (code, "have the same counter" in text) == (431, True)
    stage.done("deleteCondition", id=twin["id"])


def test_disabling_is_the_groups_whole_pause_whichever_api_ends_it(stage: Stage) -> None:
    assert stage.done("disableAutoScaleVmGroup", id=stage.group["id"])["state"] == "DISABLED"
    (name,) = (group for group in stage.scene.up.engine.runtimes if group.startswith("web-https-"))
    assert stage.scene.up.operations.group(name).pause.value == "all"

    stage.runner.run(stage.scene.up.operations.pauses.resume(ResumeGroup(group=name).group, by="ada"))

    (group,) = stage.listed("listAutoScaleVmGroups", id=stage.group["id"])
    assert group["state"] == "ENABLED"


def test_a_list_counts_all_pages(stage: Stage) -> None:
    page = stage.call("listCounters", page=1, pagesize=1)

    assert (page["count"] >= 3, len(page["counter"])) == (True, 1)
    assert stage.call("listCounters", keyword="no such name") == {}
    assert {each["name"] for each in stage.listed("listCounters", source="snmp", name="LOAD")} == {
        "scaleup load", "scaledown load",
    }  # fmt: skip


def test_lists_are_filtered_by_what_uses_them(stage: Stage) -> None:
    up, group = stage.up["id"], stage.group["id"]
    ids = {
        "policies of a group": stage.listed("listAutoScalePolicies", vmgroupid=group, action="ScaleUp"),
        "policies with a condition": stage.listed("listAutoScalePolicies", conditionid=stage.condition["id"]),
        "conditions of a policy": stage.listed("listConditions", policyid=up),
        "groups of a policy": stage.listed("listAutoScaleVmGroups", policyid=up),
        "groups of a rule": stage.listed("listAutoScaleVmGroups", lbruleid=RULE),
        "groups of a zone": stage.listed("listAutoScaleVmGroups", zoneid=ZONE),
        "profiles of an offering": stage.listed("listAutoScaleVmProfiles", serviceofferingid="small", zoneid=ZONE),
    }

    assert {name: [each["id"] for each in found] for name, found in ids.items()} == {
        "policies of a group": [up],
        "policies with a condition": [up],
        "conditions of a policy": [stage.condition["id"]],
        "groups of a policy": [group],
        "groups of a rule": [group],
        "groups of a zone": [group],
        "profiles of an offering": [stage.group["vmprofileid"]],
    }


def test_what_a_client_gave_is_what_it_reads_again(stage: Stage) -> None:
    """Else Terraform would plan a change after every apply. The names of entries are as Go's client sends them."""
    profile = stage.done(
        "createAutoScaleVmProfile",
        zoneid=ZONE,
        serviceofferingid="small",
        templateid="web",
        expungevmgraceperiod=45,
        **{
            "counterparam[0].key": "snmpcommunity",
            "counterparam[0].value": "public",
            "counterparam[1].key": "snmpport",
            "counterparam[1].value": 161,
            "otherdeployparams[0].key": "networkids",
            "otherdeployparams[0].value": "tier,back",
            "otherdeployparams[1].key": "affinitygroupids",
            "otherdeployparams[1].value": "apart",
        },
    )

    (found,) = stage.listed("listAutoScaleVmProfiles", id=profile["id"])

    assert found == profile
    assert found["counterparam"] == {"snmpcommunity": "public", "snmpport": "161"}
    assert found["otherdeployparams"] == {"affinitygroupids": "apart", "networkids": "tier,back"}
    assert {key: found[key] for key in ("zoneid", "serviceofferingid", "templateid", "expungevmgraceperiod")} == {
        "zoneid": ZONE, "serviceofferingid": "small", "templateid": "web", "expungevmgraceperiod": 45,
    }  # fmt: skip
    assert stage.listed("listAutoScaleVmGroups", id=stage.group["id"])[0]["vmprofileid"] == stage.group["vmprofileid"]
    stage.done("deleteAutoScaleVmProfile", id=profile["id"])


def test_a_profile_without_more_parameters_has_empty_maps_for_terraform_plans_a_replacement_without_them(
    stage: Stage,
) -> None:
    profile = stage.done("createAutoScaleVmProfile", zoneid=ZONE, serviceofferingid="small", templateid="web")
    assert (profile["otherdeployparams"], profile["counterparam"]) == ({}, {})
    stage.done("deleteAutoScaleVmProfile", id=profile["id"])


def test_details_of_a_profile_are_kept_for_clients(stage: Stage) -> None:
    of = {"resourceid": stage.group["vmprofileid"], "resourcetype": "AutoScaleVmProfile"}
    stage.done("addResourceDetail", **of, **{"details[0].key": "tier", "details[0].value": "gold"})
    assert [(each["key"], each["value"]) for each in stage.listed("listResourceDetails", **of)] == [("tier", "gold")]

    stage.done("removeResourceDetail", **of, key="tier")
    assert stage.listed("listResourceDetails", **of) == []


def test_every_command_is_an_event_and_so_is_a_refusal(stage: Stage) -> None:
    stage.refused("deleteAutoScaleVmProfile", id=stage.group["vmprofileid"])

    newest = stage.listed("listEvents", type="AUTOSCALEVMPROFILE.DELETE")[0]
    assert (newest["level"], newest["username"], newest["state"]) == ("ERROR", "ada", "Completed")
    made = stage.listed("listEvents", resourceid=stage.group["id"], type="AUTOSCALEVMGROUP.CREATE")
    assert [each["level"] for each in made] == ["INFO"]
    types = {each["type"] for each in stage.listed("listEvents", pagesize=-1)}
    assert {"COUNTER.CREATE", "CONDITION.CREATE", "AUTOSCALEPOLICY.CREATE", "AUTOSCALEVMPROFILE.CREATE"} <= types


def test_listapis_names_what_the_caller_may_do(stage: Stage) -> None:
    assert {"createCounter", "listEvents"} <= {each["name"] for each in stage.listed("listApis")}
    (one,) = stage.listed("listApis", name="createautoscalepolicy")
    assert one["isasync"] is True
    assert {each["name"] for each in one["params"] if each["required"]} == {"action", "duration", "conditionids"}


def test_what_nothing_uses_is_deleted_in_order(stage: Stage) -> None:
    up, down = stage.up["id"], stage.down["id"]
    extra = stage.done(
        "createAutoScaleVmGroup",
        lbruleid=OTHER_RULE, minmembers=1, maxmembers=1, scaleuppolicyids=up, scaledownpolicyids=down,
        vmprofileid=stage.group["vmprofileid"],
    )  # fmt: skip
    stage.done("disableAutoScaleVmGroup", id=extra["id"])

    assert stage.done("deleteAutoScaleVmGroup", id=extra["id"], cleanup="true") == {"success": True}

    code, text = stage.refused("deleteAutoScaleVmGroup", id=extra["id"])
    assert (code, f"Invalid parameter id value={extra['id']} due to" in text) == (431, True)
