"""Requests as Go's clients make them: cloudstack-go, below Terraform's provider, and cloudmonkey.

They cannot be built where these tests run. What they send, and how they read answers, is written down here from their
sources: cloudstack-go v2 (``newRawRequest``, ``EncodeValues``, ``getRawValue``, the structs of ``AutoScaleService``),
terraform-provider-cloudstack (its resources' calls, in their order), cloudmonkey 6.4 (``NewAPIRequest``,
``pollAsyncJob``, ``UpdateCache``).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from handler.web.cloudstack import CloudstackReceiver
from tests.support.cloudstack_api import RULE, TEXT, ApiScene, a_bed, serving

NAMED = TEXT.replace(
    "{cloud: prod, networks: [tier]}",
    "{cloud: prod, networks: [tier], name: Paris, templates: {t-1: web}, offerings: {o-1: small}}",
).replace("cloudstack_api:", "cloudstack_api:\n  states: lower")
OID = "1.3.6.1.4.1.2021.11.9.0"

# What a struct of cloudstack-go takes: a field of another type fails to decode.
_OWNER = {"account": str, "domain": str, "domainid": str, "domainpath": str}
COUNTER: dict[str, Any] = {"id": str, "name": str, "provider": str, "source": str, "value": str}
CONDITION: dict[str, Any] = {
    **_OWNER, "id": str, "counter": COUNTER, "counterid": str, "countername": str, "relationaloperator": str,
    "threshold": int,
}  # fmt: skip
POLICY: dict[str, Any] = {
    **_OWNER, "id": str, "name": str, "action": str, "duration": int, "quiettime": int, "conditions": [CONDITION],
}  # fmt: skip
PROFILE: dict[str, Any] = {
    **_OWNER, "id": str, "autoscaleuserid": str, "expungevmgraceperiod": int, "fordisplay": bool,
    "otherdeployparams": {str: str}, "counterparam": {str: str}, "serviceofferingid": str, "templateid": str,
    "userdata": str, "zoneid": str,
}  # fmt: skip
GROUP: dict[str, Any] = {
    **_OWNER, "id": str, "name": str, "lbruleid": str, "vmprofileid": str, "availablevirtualmachinecount": int,
    "created": str, "fordisplay": bool, "hasannotations": bool, "interval": int, "maxmembers": int, "minmembers": int,
    "privateport": str, "publicport": str, "publicip": str, "state": str, "scaleuppolicies": [POLICY],
    "scaledownpolicies": [POLICY],
}  # fmt: skip


def decodes(value: Any, shape: Any) -> bool:
    """Tell whether Go decodes a value into a struct, a map, a slice or a scalar of this shape."""
    match shape:
        case list():
            return isinstance(value, list) and all(decodes(each, shape[0]) for each in value)
        case {**fields} if str in fields:
            return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
        case {**fields}:
            return isinstance(value, dict) and all(
                decodes(value[name], each) for name, each in fields.items() if name in value
            )
        case _:
            return type(value) is shape


def go_encoded(parameters: Mapping[str, str]) -> str:
    """``EncodeValues``: by names as they are; ``~`` and ``*`` are left, and a blank is %20."""
    return "&".join(f"{name}={quote(value, safe='*~')}" for name, value in sorted(parameters.items()))


def signature(text: str, secret: str) -> str:
    return base64.b64encode(hmac.new(secret.encode(), text.lower().encode(), hashlib.sha1).digest()).decode()


@dataclass
class Wire:
    """The ASGI application that answers at ``/client/api``."""

    scene: ApiScene

    async def get(self, query: str) -> tuple[int, Any]:
        return await self._sent("GET", query.encode(), b"")

    async def post(self, form: Mapping[str, str]) -> tuple[int, Any]:
        """``PostForm``: names and values are encoded, blanks as plus."""
        return await self._sent(
            "POST", b"", "&".join(f"{quote_plus(n)}={quote_plus(v)}" for n, v in sorted(form.items())).encode()
        )

    async def _sent(self, method: str, query: bytes, body: bytes) -> tuple[int, Any]:
        receiver, sent = CloudstackReceiver(self.scene.commands, _nothing_else), []

        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": method, "query_string": query, "client": ("127.0.0.1", 1)}
        await receiver(scope, receive, send)
        assert dict(sent[0]["headers"])[b"content-type"].startswith(b"application/json")
        return sent[0]["status"], json.loads(sent[1]["body"])


async def _nothing_else(*_: Any) -> None:
    raise AssertionError("another path")


class GoError(Exception):
    """``CSError``."""


class CloudstackGo(Wire):
    """cloudstack-go: lists by GET, everything else by POST; every job is waited for."""

    async def ask(self, command: str, **given: object) -> Any:
        """``newRequest`` and ``newPostRequest``, and the only value of a job's result."""
        parameters = {
            **{
                name: ("true" if value else "false") if isinstance(value, bool) else str(value)
                for name, value in given.items()
            },
            "apiKey": self.scene.admin.api_key,
            "command": command,
            "response": "json",
            "signatureversion": "3",
            "expires": f"{datetime.now(UTC) + timedelta(minutes=15):%Y-%m-%dT%H:%M:%SZ}",
        }
        text = go_encoded(parameters)
        proof = signature(text, self.scene.admin.secret)
        if command.startswith(("list", "query")):
            status, document = await self.get(f"{text}&signature={quote(proof, safe='')}")
        else:
            status, document = await self.post({**parameters, "signature": proof})
        (inner,) = document.values()
        if status != 200:
            raise GoError(f"CloudStack API error {inner['errorcode']} ({inner['cserrorcode']}): {inner['errortext']}")
        if "jobid" not in inner or command == "queryAsyncJobResult":
            return inner
        job = await self.ask("queryAsyncJobResult", jobid=inner["jobid"])
        if job["jobstatus"] == 2:
            raise GoError(f"Undefined error: {json.dumps(job['jobresult'])}")
        if "success" in job["jobresult"]:
            return job["jobresult"]
        (entity,) = job["jobresult"].values()
        return entity

    async def one(self, command: str, **given: object) -> Any:
        """``Get…ByID`` and ``Get…ID``: exactly one."""
        found = await self.ask(command, **given)
        assert found.get("count") == 1, found
        (objects,) = (value for name, value in found.items() if name != "count")
        return objects[0]


def played(folder: Path, play: Callable[[CloudstackGo], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with serving(a_bed(folder, NAMED)) as scene:
            await play(CloudstackGo(scene))

    asyncio.run(run())


async def _profile_as_terraform_reads_it(go: CloudstackGo, profile: str) -> dict[str, Any]:
    """Everything that a refresh of ``cloudstack_autoscale_vm_profile`` asks for, as it stands in the state then."""
    found = await go.one("listAutoScaleVmProfiles", id=profile)
    zone = await go.one("listZones", id=found["zoneid"])
    offering = await go.one("listServiceOfferings", id=found["serviceofferingid"])
    template = await go.one(
        "listTemplates", id=found["templateid"], templatefilter="executable", zoneid=found["zoneid"]
    )
    details = await go.ask("listResourceDetails", resourcetype="AutoScaleVmProfile", resourceid=profile)
    assert decodes(found, PROFILE)
    return {
        "zone": zone["name"],
        "service_offering": offering["name"],
        "template": template["name"],
        "destroy_vm_grace_period": found["expungevmgraceperiod"],
        "other_deploy_params": found.get("otherdeployparams"),
        "metadata": {each["key"]: each["value"] for each in details.get("resourcedetail", ())},
        "display": found["fordisplay"],
    }


async def _policy(go: CloudstackGo, action: str, operator: str) -> Any:
    """A policy with its condition and its counter, each read as a refresh reads it."""
    domain = await go.one("listDomains", name="ROOT")
    counter = await go.ask("createCounter", name=f"{action} cpu", provider="VirtualRouter", source="SNMP", value=OID)
    condition = await go.ask(
        "createCondition", counterid=counter["id"], relationaloperator=operator, threshold=80, account="root",
        domainid=domain["id"],
    )  # fmt: skip
    policy = await go.ask(
        "createAutoScalePolicy", action=action, conditionids=condition["id"], duration=60, quiettime=120,
        name=f"{action} by ~cpu*",
    )  # fmt: skip
    assert decodes(await go.one("listCounters", id=counter["id"]), COUNTER)
    assert decodes(await go.one("listConditions", id=condition["id"]), CONDITION)
    read = await go.one("listAutoScalePolicies", id=policy["id"])
    assert decodes(read, POLICY)
    assert (read["action"], read["quiettime"], read["name"]) == (action.upper(), 120, f"{action} by ~cpu*")
    return policy


async def _profile(go: CloudstackGo) -> Any:
    """A profile by names, which the provider looks up first."""
    zone = await go.one("listZones", name="Paris")
    offering = await go.one("listServiceOfferings", name="small", zoneid=zone["id"])
    template = await go.one("listTemplates", name="web", templatefilter="executable", zoneid=zone["id"])
    profile = await go.ask(
        "createAutoScaleVmProfile", serviceofferingid=offering["id"], templateid=template["id"], zoneid=zone["id"],
        expungevmgraceperiod=45, fordisplay=True,
        **{
            "counterparam[0].key": "snmpcommunity", "counterparam[0].value": "public",
            "counterparam[1].key": "snmpport", "counterparam[1].value": "161",
            "otherdeployparams[0].name": "rootdisksize", "otherdeployparams[0].value": "20",
        },
    )  # fmt: skip
    await go.ask(
        "addResourceDetail", resourceid=profile["id"], resourcetype="AutoScaleVmProfile",
        **{"details[0].key": "team", "details[0].value": "shop"},
    )  # fmt: skip
    assert await _profile_as_terraform_reads_it(go, profile["id"]) == {
        "zone": "Paris", "service_offering": "small", "template": "web", "destroy_vm_grace_period": 45,
        "other_deploy_params": {"rootdisksize": "20"}, "metadata": {"team": "shop"}, "display": True,
    }  # fmt: skip
    return profile


def test_terraform_leads_a_group_from_apply_to_destroy_and_plans_no_change(tmp_path: Path) -> None:
    async def play(go: CloudstackGo) -> None:
        up, down, profile = await _policy(go, "scaleup", "GT"), await _policy(go, "scaledown", "LT"), await _profile(go)
        rule = await go.one("listLoadBalancerRules", name="web-https")
        kept = {"lbruleid": rule["id"], "minmembers": 1, "maxmembers": 3, "vmprofileid": profile["id"], "interval": 30}
        group = await go.ask(
            "createAutoScaleVmGroup", **kept, scaleuppolicyids=up["id"], scaledownpolicyids=down["id"], name="web",
            fordisplay=True,
        )  # fmt: skip
        read = await go.one("listAutoScaleVmGroups", id=group["id"])
        assert decodes(read, GROUP)
        assert kept.items() <= read.items(), "terraform plan shows no change"
        assert [[each["id"] for each in read[f"scale{way}policies"]] for way in ("up", "down")] == [
            [up["id"]], [down["id"]],
        ]  # fmt: skip
        assert (read["name"], read["state"], read["lbruleid"]) == ("web", "enabled", RULE)

        await go.ask("disableAutoScaleVmGroup", id=group["id"])
        assert (await go.one("listAutoScaleVmGroups", vmprofileid=profile["id"]))["state"] == "disabled"
        await go.ask("updateAutoScaleVmProfile", id=profile["id"], expungevmgraceperiod=60)
        await go.ask("updateAutoScaleVmGroup", id=group["id"], maxmembers=5)
        await go.ask("enableAutoScaleVmGroup", id=group["id"])
        assert (await _profile_as_terraform_reads_it(go, profile["id"]))["destroy_vm_grace_period"] == 60

        await _destroyed(go, group["id"], profile["id"], (up, down))

    played(tmp_path, play)


async def _destroyed(go: CloudstackGo, group: str, profile: str, policies: tuple[Any, ...]) -> None:
    """``terraform destroy``, in its order."""
    await go.ask("disableAutoScaleVmGroup", id=group)
    deleted = [
        await go.ask("deleteAutoScaleVmGroup", id=group, cleanup=True),
        await go.ask("deleteAutoScaleVmProfile", id=profile),
    ]
    for policy in policies:
        deleted.append(await go.ask("deleteAutoScalePolicy", id=policy["id"]))
        for condition in policy["conditions"]:
            deleted.append(await go.ask("deleteCondition", id=condition["id"]))
            deleted.append(await go.ask("deleteCounter", id=condition["counterid"]))
    assert deleted == [{"success": True}] * 8
    await _is_gone(go, "listAutoScaleVmGroups", group)
    await _is_gone(go, "listZones", "7c0a5a1e-0000-4c8b-9a43-2f4b7f0d2c11")


async def _is_gone(go: CloudstackGo, command: str, id: str) -> None:
    words = f"Invalid parameter id value={id} due to incorrect long value format, or entity does not exist"
    with pytest.raises(GoError, match=words):
        await go.ask(command, id=id)


class Cloudmonkey(Wire):
    """cmk: everything by GET, without a time."""

    async def ask(self, command: str, **given: str) -> dict[str, Any]:
        parameters = {"command": command, **given, "response": "json", "apiKey": self.scene.admin.api_key}
        text = go_encoded(parameters)
        query = f"{text}&signature={quote_plus(signature(text, self.scene.admin.secret))}"
        _, document = await self.get(query)
        (inner,) = (value for name, value in document.items() if name.endswith("response"))
        if "errorcode" in inner:
            raise GoError(f"(HTTP {inner['errorcode']}, error code {inner['cserrorcode']}) {inner['errortext']}")
        return dict(inner)


def test_cloudmonkey_reads_the_list_of_commands_and_polls_with_the_same_request(tmp_path: Path) -> None:
    async def play(go: CloudstackGo) -> None:
        cmk = Cloudmonkey(go.scene)
        listed = await cmk.ask("listApis", listall="true")
        assert listed["count"] == len(listed["api"])
        for api in listed["api"]:
            assert [type(api[name]) for name in ("name", "isasync", "description")] == [str, bool, str]
            assert all(
                [type(each[name]) for name in ("name", "type", "required", "description")] == [str, str, bool, str]
                and isinstance(each.get("related", ""), str)
                for each in api["params"]
            )
            assert all("name" in each for each in api["response"])
        named = {api["name"] for api in listed["api"]}
        assert {
            "listZones",
            "listTemplates",
            "listLoadBalancerRules",
            "listUsers",
        } <= named  # cmk completes ids by them
        started = await cmk.ask("createCounter", name="a b", source="SNMP", value=OID)
        polls = [await cmk.ask("queryAsyncJobResult", jobid=started["jobid"]) for _ in range(2)]
        assert polls[0] == polls[1]
        assert isinstance(polls[0]["jobstatus"], int)
        assert isinstance(polls[0]["jobresult"], dict)

    played(tmp_path, play)
