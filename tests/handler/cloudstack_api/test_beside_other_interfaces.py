"""Clients of CloudStack's query API beside those of other interfaces, which declare, change and delete the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from config.document import entities
from config.model.sections import Section
from config.units import ROOT_DOMAIN, AccountId, GroupId
from handler.cloudstack_api import changes, events
from handler.identity.accounts import AccountQuota
from handler.identity.actors import local
from handler.operations.declaration_operations import ApplyDeclarations, Declare, DeleteDeclared, Redeclare
from handler.operations.declaration_proposals import entries
from handler.operations.registry import perform
from handler.operations.size_operations import ScaleGroup
from tests.support.cloudstack_api import OTHER_RULE, TEXT, ZONE, ApiFault, ApiScene, a_bed, serving

ADA = local("ada")
OID = "1.3.6.1.4.1.2021.11.9.0"


def played(folder: Path, play: Callable[[ApiScene], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with serving(a_bed(folder)) as scene:
            await play(scene)

    asyncio.run(run())


async def elsewhere(scene: ApiScene, operation: Any) -> Any:
    """Perform an operation as the command line does."""
    return await perform(scene.up.operations, operation, ADA)


def id_of(scene: ApiScene, section: Section, name: str = "") -> str:
    """The id of what was declared last in a section over any API, or of the entity with a name."""
    known = scene.up.engine.declared().entities.values()
    own = [each for each in known if each.section is section and name in {"", each.name}]
    return max(own, key=lambda each: each.revision).id


async def remade(scene: ApiScene) -> str:
    """A counter that a client made, and that was then deleted and made again elsewhere; the client's id."""
    made = await scene.admin.done("createCounter", name="cpu", source="SNMP", value=OID)
    await elsewhere(scene, DeleteDeclared(section=Section.COUNTERS, id=id_of(scene, Section.COUNTERS)))
    await elsewhere(scene, Declare(section=Section.COUNTERS, name="cpu", declared={"push": "CPU"}))
    return str(made["id"])


async def is_another_one(scene: ApiScene, before: str) -> None:
    (now,) = await scene.admin.listed("listCounters", name="cpu")
    assert now["id"] != before
    assert (now["source"], now["value"]) == ("PUSH", "CPU")
    with pytest.raises(ApiFault, match="or entity does not exist"):
        await scene.admin.listed("listCounters", id=before)


def test_what_is_deleted_elsewhere_and_made_again_is_another_entity(tmp_path: Path) -> None:
    async def play(scene: ApiScene) -> None:
        await is_another_one(scene, await remade(scene))
        await scene.admin.done("deleteCounter", id=(await scene.admin.listed("listCounters", name="cpu"))[0]["id"])
        again = await scene.admin.done("createCounter", name="cpu", source="SNMP", value=OID)
        assert [each["id"] for each in await scene.admin.listed("listCounters", name="cpu")] == [again["id"]]

    played(tmp_path, play)


def test_what_is_made_again_elsewhere_is_another_entity_after_a_restart_too(tmp_path: Path) -> None:
    bed = a_bed(tmp_path)

    async def first() -> str:
        async with serving(bed) as scene:
            return await remade(scene)

    async def second(before: str) -> None:
        async with serving(bed) as scene:
            await is_another_one(scene, before)

    asyncio.run(second(asyncio.run(first())))


def test_what_a_client_made_and_another_one_changed_is_shown_as_it_is_now(tmp_path: Path) -> None:
    async def play(scene: ApiScene) -> None:
        snmp = await scene.admin.done("createCounter", name="cpu", source="SNMP", value=OID)
        cloud = await scene.admin.done("createCounter", name="used", source="CPU", value="VM.CPU.average.percentage")
        profile = await scene.admin.done(
            "createAutoScaleVmProfile", zoneid=ZONE, serviceofferingid="small", templateid="web",
            counterparam="snmpcommunity=public&snmpport=1161",
        )  # fmt: skip
        section = Section.COUNTERS
        await elsewhere(
            scene, Redeclare(section=section, id=id_of(scene, section, "cpu"), declared={"snmp": f"{OID}.1"})
        )
        used = {"cloudstack": "cpuused", "range": [0, 90]}
        await elsewhere(scene, Redeclare(section=section, id=id_of(scene, section, "used"), declared=used))
        made = id_of(scene, Section.PROFILES)
        body = dict(entries(scene.up.engine.declared(), Section.PROFILES)[made])
        await elsewhere(scene, Redeclare(section=Section.PROFILES, id=made, declared={**body, "snmp": {"port": 1162}}))

        counters = {each["id"]: each["value"] for each in await scene.admin.listed("listCounters", pagesize=-1)}
        assert (counters[snmp["id"]], counters[cloud["id"]]) == (f"{OID}.1", "VM.CPU.average.percentage")
        (found,) = await scene.admin.listed("listAutoScaleVmProfiles", id=profile["id"])
        assert found["counterparam"] == {"snmpcommunity": "public", "snmpport": "1162"}

    played(tmp_path, play)


def test_a_command_that_waits_for_its_turn_knows_what_was_declared_meanwhile(tmp_path: Path) -> None:
    async def play(scene: ApiScene) -> None:
        async with scene.commands._turn:
            waits = asyncio.create_task(scene.admin.done("createCounter", name="cpu", source="SNMP", value=OID))
            await elsewhere(scene, Declare(section=Section.COUNTERS, name="orders", declared={"push": "ORDERS"}))
        assert (await waits)["name"] == "cpu"

    played(tmp_path, play)


def test_a_list_under_way_shows_what_is_deleted_meanwhile(tmp_path: Path) -> None:
    async def play(scene: ApiScene) -> None:
        group = await scene.group()
        web = scene.up.engine.runtimes[GroupId(id_of(scene, Section.GROUPS))]
        await scene.up.until(lambda: web.state.desired is not None)
        await elsewhere(scene, ScaleGroup(group=web.id, size=2))
        jobs: Any = scene.commands._jobs
        own = jobs.own

        async def meanwhile(*asked: Any) -> Any:
            jobs.own = own
            await scene.admin.done("deleteAutoScaleVmGroup", id=group["id"], cleanup=True)
            return await own(*asked)

        jobs.own = meanwhile
        shown = await scene.admin.listed("listEvents", type="AUTOSCALEVMGROUP.SCALEUP")
        assert {each["resourceid"] for each in shown} == {group["id"]}

    played(tmp_path, play)


@pytest.mark.parametrize("at_once", [2, 1], ids=["named at once", "more groups than can be named at once"])
def test_changes_of_size_in_other_accounts_hide_none_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(events, "_MOST", 1)
    monkeypatch.setattr(events, "_NAMED", at_once)

    async def play(scene: ApiScene) -> None:
        accounts = scene.up.operations.users.known.accounts
        shop = await accounts.add(AccountId("shop"), ROOT_DOMAIN, AccountQuota(), ("profiles.file-made",))
        sam = await scene.user("sam", account=shop.id)
        group = {"profile": "file-made", "min": 0, "max": 3, "policies": []}
        for name in ("own", "second"):
            await elsewhere(scene, Declare(section=Section.GROUPS, name=name, declared=group, account=shop.id))
        own = [each for each in scene.up.engine.runtimes.values() if each.account == shop.id]
        others = [each for each in scene.up.engine.runtimes.values() if each not in own]
        for each in (*own, *others):
            await scene.up.until(lambda each=each: each.state.desired is not None)
            await elsewhere(scene, ScaleGroup(group=each.id, size=(each.state.desired or 0) + 1))
        assert others
        shown = await sam.listed("listEvents", type="AUTOSCALEVMGROUP.SCALEUP")
        assert [(each["account"], each["resourcename"]) for each in shown] == [("shop", "second")]

    played(tmp_path, play)


def test_a_list_beside_the_making_of_an_entity_shows_the_id_that_its_maker_gets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(scene: ApiScene) -> None:
        lists: list[asyncio.Task[Any]] = []

        async def declared(*asked: Any) -> Any:
            done = await perform(*asked)
            if isinstance(asked[1], Declare):
                lists.append(asyncio.create_task(scene.admin.listed("listCounters", name="cpu")))
                await asyncio.wait(lists, timeout=0.3)
            return done

        monkeypatch.setattr(changes, "perform", declared)
        made = await scene.admin.done("createCounter", name="cpu", source="SNMP", value=OID)
        assert [each["id"] for each in await lists[0]] == [made["id"]]

    played(tmp_path, play)


def test_a_group_of_another_interface_keeps_what_a_change_of_its_bounds_does_not_name(tmp_path: Path) -> None:
    async def play(scene: ApiScene) -> None:
        body = {
            "profile": "file-made", "balancers": [{"use": "edge", "port": 8080}], "min": 1, "max": 2,
            "interval": "7500ms", "policies": ["more"],
        }  # fmt: skip
        await elsewhere(scene, Declare(section=Section.GROUPS, name="web", declared=body))
        (group,) = await scene.admin.listed("listAutoScaleVmGroups", name="web")
        await scene.admin.done("disableAutoScaleVmGroup", id=group["id"])
        await scene.admin.done("updateAutoScaleVmGroup", id=group["id"], maxmembers=3)
        now = entries(scene.up.engine.declared(), Section.GROUPS)[id_of(scene, Section.GROUPS)]
        assert now == {**body, "max": 3}

    played(tmp_path, play)


def test_a_counter_is_the_one_that_a_client_names_also_where_another_bears_its_id_as_a_name(tmp_path: Path) -> None:
    async def play(scene: ApiScene) -> None:
        accounts = scene.up.operations.users.known.accounts
        shop = await accounts.add(AccountId("shop"), ROOT_DOMAIN, AccountQuota(), ("counters.load",))
        sam = await scene.user("sam", account=shop.id)
        own = Declare(section=Section.COUNTERS, name="load", declared={"push": "OTHER"}, account=shop.id)
        await elsewhere(scene, own)
        counters = {each["value"]: each["id"] for each in await sam.listed("listCounters", listall=True)}
        wanted = {"relationaloperator": "GT", "threshold": 1}
        made = await sam.done("createCondition", counterid=counters["OTHER"], **wanted)
        assert made["counterid"] == counters["OTHER"]

        with pytest.raises(ApiFault, match="431: load is the display name of an entity of the account shop, too"):
            await sam.done("createCondition", counterid=counters["LOAD"], **wanted)

    played(tmp_path, play)


def test_a_list_reads_each_document_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(scene: ApiScene) -> None:
        counters = {f"c{number}": {"push": f"C{number}"} for number in range(40)}
        conditions = {f"d{number}": {"counter": f"c{number}", "above": 1} for number in range(40)}
        sections: Any = {Section.COUNTERS: counters, Section.CONDITIONS: conditions}
        await elsewhere(scene, ApplyDeclarations(sections=sections))
        await scene.admin.listed("listCounters")
        read: list[str] = []

        def loads(text: str) -> Any:
            read.append(text)
            return json.loads(text)

        monkeypatch.setattr(entities, "json", SimpleNamespace(loads=loads, dumps=json.dumps))
        await scene.admin.listed("listConditions")
        assert len(read) == 40

    played(tmp_path, play)


@pytest.mark.parametrize("owner", ["file", "api"])
def test_a_rule_whose_name_another_group_bears_gets_its_group_all_the_same(tmp_path: Path, owner: str) -> None:
    text = TEXT.replace("name: shop", "name: file-made") if owner == "file" else TEXT

    async def play() -> None:
        async with serving(a_bed(tmp_path, text)) as scene:
            body = {"profile": "file-made", "min": 0, "max": 1}
            await elsewhere(scene, Declare(section=Section.GROUPS, name="shop", declared=body))
            name = "file-made" if owner == "file" else "shop"

            made = await scene.group(lbruleid=OTHER_RULE)

            assert (made["name"], made["lbruleid"]) == (name, OTHER_RULE)
            assert id_of(scene, Section.GROUPS).startswith(name)

    asyncio.run(play())
