"""Clients that we did not write work over HTTP: `cs` through the whole life of a group, and Apache Libcloud."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cs
import pytest
import requests
from libcloud.compute.drivers.cloudstack import CloudStackNodeDriver

from handler.cloudstack_api.commands import COMMANDS
from handler.daemon.serving import bind_tcp, bind_unix, serving
from handler.orchestrators.simulated import machines
from tests.support.cloudmonkey import Cloudmonkey
from tests.support.cloudstack_api import RULE, TEXT, ZONE, ApiScene, a_bed
from tests.support.cloudstack_api import serving as staged
from tests.support.engines import EngineBed, hurry
from tests.support.real_clouds import CMK
from tests.support.snmp import a_source
from tests.support.snmpd import Snmpd, running_snmpd
from tests.support.waiting import PATIENT

LOAD = "1.3.6.1.4.1.8072.9999.1.0"
ADDRESSES = ("127.3.0.1", "127.3.0.2", "127.3.0.3")


@dataclass
class Served:
    """A daemon that listens, and its first user's key pair."""

    scene: ApiScene
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/client/api"

    def cs(self, **more: Any) -> Any:
        admin = self.scene.admin
        return cs.CloudStack(
            endpoint=self.url, key=admin.api_key, secret=admin.secret, poll_interval=0.05, job_timeout=30, **more
        )

    def libcloud(self) -> CloudStackNodeDriver:
        admin = self.scene.admin
        return CloudStackNodeDriver(
            key=admin.api_key, secret=admin.secret, secure=False, host="127.0.0.1", port=self.port, path="/client/api"
        )


@contextlib.asynccontextmanager
async def listening(folder: Path, text: str = TEXT) -> AsyncIterator[Served]:
    bed = a_bed(folder, text)
    async with staged(bed) as scene:
        tcp, unix = bind_tcp("127.0.0.1", 0), bind_unix(folder / "trimtab.sock")
        async with serving(scene.up.operations, scene.up.engine, unix, tcp, "token"):
            yield Served(scene, tcp.getsockname()[1])


def played(folder: Path, scene: Callable[[Served], None], text: str = TEXT) -> None:
    """Run a client's part in a thread, since the clients block."""

    async def play() -> None:
        async with listening(folder, text) as served:
            await asyncio.to_thread(scene, served)

    asyncio.run(play())


def until(holds: Callable[[], object]) -> None:
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() - begun < PATIENT
        time.sleep(0.1)


@pytest.mark.real("snmpd")
def test_cs_leads_a_group_from_its_first_counter_to_its_deletion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _led(tmp_path, monkeypatch, lambda served: served.cs())


@pytest.mark.bed("cmk")
@pytest.mark.real("snmpd")
def test_cloudmonkey_learns_the_commands_and_leads_a_group_from_its_first_counter_to_its_deletion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def client(served: Served) -> Cloudmonkey:
        admin = served.scene.admin
        return Cloudmonkey(program=CMK, home=tmp_path, url=served.url, api_key=admin.api_key, secret=admin.secret)

    def synced(served: Served) -> Cloudmonkey:
        assert f"Discovered {len(COMMANDS)} APIs" in client(served).run("sync")
        return client(served)

    _led(tmp_path, monkeypatch, synced)


def _led(folder: Path, monkeypatch: pytest.MonkeyPatch, client: Callable[[Served], Any]) -> None:
    """Play the life of a group with a client, over members whose load a real agent tells."""
    hurry(monkeypatch)
    base = int.from_bytes(bytes((127, 3, 0, 0)), "big")
    monkeypatch.setattr(machines, "_ADDRESSES", base)

    async def play(agent: Snmpd) -> None:
        bed = a_bed(folder)
        bed.readings = a_source()  # type: ignore[assignment]  # a source as good as the other
        async with staged(bed) as scene:
            tcp, unix = bind_tcp("127.0.0.1", 0), bind_unix(folder / "trimtab.sock")
            async with serving(scene.up.operations, scene.up.engine, unix, tcp, "token"):
                served = Served(scene, tcp.getsockname()[1])
                await asyncio.to_thread(lambda: _life(client(served), agent, partial(_pass, bed)))

    with running_snmpd(folder, addresses=ADDRESSES, lines=[f"override {LOAD} integer 90"]) as agent:
        asyncio.run(play(agent))


def _pass(bed: EngineBed) -> None:
    """Let the minute pass in which a new member's values do not count."""
    bed.later += 61.0


def _life(client: Any, agent: Snmpd, warmed_up: Callable[[], None]) -> None:
    made = {"fetch_result": True}
    busy = client.createCounter(name="busy", source="SNMP", value=LOAD, **made)["counter"]
    idle = client.createCounter(name="idle", source="snmp", value=LOAD, provider="None", **made)["counter"]
    policies = {}
    for action, counter, operator, threshold in (("scaleup", busy, "GT", 80), ("scaledown", idle, "LT", 20)):
        condition = client.createCondition(
            counterid=counter["id"], relationaloperator=operator, threshold=threshold, **made
        )["condition"]
        policies[action] = client.createAutoScalePolicy(
            action=action, duration=1, quiettime=0, conditionids=[condition["id"]], **made
        )["autoscalepolicy"]
    profile = client.createAutoScaleVmProfile(
        zoneid=ZONE,
        serviceofferingid="small",
        templateid="web~1 é",
        counterparam=[{"name": "snmpport", "value": agent.port}, {"name": "snmpcommunity", "value": "public"}],
        otherdeployparams=[{"name": "networkids", "value": "tier"}],
        expungevmgraceperiod=0,
        **made,
    )["autoscalevmprofile"]
    group = client.createAutoScaleVmGroup(
        lbruleid=RULE,
        minmembers=1,
        maxmembers=2,
        interval=1,
        vmprofileid=profile["id"],
        scaleuppolicyids=[policies["scaleup"]["id"]],
        scaledownpolicyids=[policies["scaledown"]["id"]],
        **made,
    )["autoscalevmgroup"]

    def running() -> int:
        members = client.listVirtualMachines(autoscalevmgroupid=group["id"]).get("virtualmachine", ())
        return sum(member["state"] == "Running" for member in members)

    until(lambda: running() == 1)
    warmed_up()
    until(lambda: running() == 2)
    until(lambda: client.listEvents(type="AUTOSCALEVMGROUP.SCALEUP", fetch_list=True))

    client.disableAutoScaleVmGroup(id=group["id"], **made)
    changed = client.updateAutoScaleVmGroup(id=group["id"], maxmembers=3, **made)["autoscalevmgroup"]
    assert (changed["maxmembers"], changed["state"]) == (3, "DISABLED")
    with pytest.raises(cs.CloudStackApiException) as caught:
        client.deleteAutoScaleVmGroup(id=group["id"], **made)
    assert caught.value.error["errorcode"] == 431
    assert client.enableAutoScaleVmGroup(id=group["id"], **made)["autoscalevmgroup"]["state"] == "ENABLED"

    assert client.deleteAutoScaleVmGroup(id=group["id"], cleanup=True, **made) == {"success": True}
    client.deleteAutoScaleVmProfile(id=profile["id"], **made)
    for policy in policies.values():
        client.deleteAutoScalePolicy(id=policy["id"], **made)
    for condition in client.listConditions(fetch_list=True, pagesize=1, page=1):
        if condition["countername"] != "load":
            client.deleteCondition(id=condition["id"], **made)
    for counter in (busy, idle):
        client.deleteCounter(id=counter["id"], **made)
    with pytest.raises(cs.CloudStackApiException, match=f"Invalid parameter id value={group['id']} due to"):
        client.listAutoScaleVmGroups(id=group["id"])


def test_libcloud_and_cs_by_post_sign_and_wait_for_jobs(tmp_path: Path) -> None:
    def scene(served: Served) -> None:
        driver = served.libcloud()
        client = served.cs(method="post")
        (condition,) = driver._sync_request("listConditions")["condition"]
        policy = client.createAutoScalePolicy(
            action="scaleup", duration=60, conditionids=condition["id"], fetch_result=True
        )["autoscalepolicy"]

        changed = driver._async_request("updateAutoScalePolicy", params={"id": policy["id"], "name": "a*b~[c] é"})

        assert changed["autoscalepolicy"]["name"] == "a*b~[c] é"
        assert driver._async_request("deleteAutoScalePolicy", params={"id": policy["id"]}) == {"success": True}

    played(tmp_path, scene)


def test_requests_that_are_not_signed_are_answered_as_cloudstack_answers_them(tmp_path: Path) -> None:
    def scene(served: Served) -> None:
        for parameters in (
            {},
            {"command": "listCounters"},
            {"command": "listCounters", "apiKey": "x", "signature": "y"},
        ):
            found = requests.get(served.url, params={**parameters, "response": "json"}, timeout=10)
            (inner,) = found.json().values()
            assert (found.status_code, inner["errorcode"]) == (401, 401)
            assert found.headers["X-Description"] == "unable to verify user credentials and/or request signature"
        xml = requests.get(served.url, params={"command": "listCounters"}, timeout=10)
        assert xml.headers["Content-Type"].startswith("text/xml")
        assert "<errorcode>401</errorcode>" in xml.text
        assert requests.put(served.url, timeout=10).status_code in {401, 405}
        assert requests.post(served.url, json={}, timeout=10).status_code == 415
        too_many = "&".join(f"a{number}=1" for number in range(600))
        assert requests.get(f"{served.url}?{too_many}", timeout=10).status_code == 430

    played(tmp_path, scene)


def test_where_the_file_does_not_declare_it_there_is_no_such_path(tmp_path: Path) -> None:
    def scene(served: Served) -> None:
        assert requests.get(served.url, timeout=10).status_code == 404

    played(tmp_path, scene, TEXT[: TEXT.index("cloudstack_api:")])
