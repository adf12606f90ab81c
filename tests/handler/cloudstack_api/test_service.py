"""Callers, jobs and ids of CloudStack's query API, through restarts and under any parameters."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.model.sections import Section
from config.units import ROOT_DOMAIN, AccountId, DomainId
from handler.cloudstack_api import jobs, service
from handler.cloudstack_api.commands import COMMANDS
from handler.cloudstack_api.service import _ACTS, _LISTS
from handler.identity.accounts import AccountQuota
from handler.identity.actors import local
from handler.identity.rights import UserRole
from handler.ingest.request_rates import Rate
from handler.operations.declaration_operations import Declare
from handler.operations.registry import perform
from tests.support.cloudstack_api import (
    RULE,
    TEXT,
    ZONE,
    ApiFault,
    ApiScene,
    Caller,
    a_bed,
    serving,
    signed,
)

OTHERWISE = {"queryasyncjobresult", "listasyncjobs", "listapis", "listevents", "listcapabilities"}


def test_every_command_of_the_table_is_carried_out() -> None:
    assert {*_ACTS, *_LISTS, *OTHERWISE} == set(COMMANDS)
    assert all(COMMANDS[name].is_job for name in _ACTS)


def test_ids_and_jobs_survive_a_restart(tmp_path: Path) -> None:
    bed = a_bed(tmp_path)

    async def first() -> tuple[str, str]:
        async with serving(bed) as scene:
            (group,) = await scene.admin.listed("listAutoScaleVmGroups")
            started = await scene.admin.call("disableAutoScaleVmGroup", id=group["id"])
            return group["id"], started["jobid"]

    async def second(group: str, job: str) -> None:
        async with serving(bed) as scene:
            (found,) = await scene.admin.listed("listAutoScaleVmGroups", id=group)
            assert (found["id"], found["state"]) == (group, "DISABLED")
            ended = await scene.admin.call("queryAsyncJobResult", jobid=job)
            assert (ended["jobstatus"], ended["jobresultcode"]) == (1, 0)
            assert ended["jobresult"]["autoscalevmgroup"]["id"] == group

    asyncio.run(second(*asyncio.run(first())))


def test_the_pages_of_a_long_list_are_the_whole_list(tmp_path: Path) -> None:
    more = "".join(f"c{number}: {{push: C{number}}}, " for number in range(60))
    bed = a_bed(tmp_path, TEXT.replace("counters: {", f"counters: {{{more}", 1))

    async def play() -> None:
        async with serving(bed) as scene:
            whole = await scene.admin.call("listCounters", pagesize=-1)
            pages = [await scene.admin.call("listCounters", page=page, pagesize=40) for page in (1, 2)]
            assert (whole["count"], len(whole["counter"]), {page["count"] for page in pages}) == (61, 61, {61})
            assert [each for page in pages for each in page["counter"]] == whole["counter"]

    asyncio.run(play())


def test_a_key_says_what_its_user_may_do(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(a_bed(tmp_path)) as scene:
            tuner, viewer = await scene.user("tim"), await scene.user("vera", UserRole.VIEWER)
            counter = await _refused(tuner, "createCounter", name="x", source="SNMP", value="1.3")
            assert counter.code == 401
            assert "createCounter" not in {each["name"] for each in await tuner.listed("listApis")}
            assert (await tuner.listed("listCounters"))[0]["name"] == "load"
            (group,) = await viewer.listed("listAutoScaleVmGroups")
            assert (await _refused(viewer, "disableAutoScaleVmGroup", id=group["id"])).code == 401
            job = (await scene.admin.call("disableAutoScaleVmGroup", id=group["id"]))["jobid"]
            await scene.up.operations.users.known.give_role("vera", UserRole.VIEWER, ())
            assert (await _refused(viewer, "queryAsyncJobResult", jobid=job)).code == 531
            assert await viewer.listed("listAutoScaleVmGroups") == []

    asyncio.run(play())


def test_a_key_that_asks_too_often_is_refused_and_no_other_key_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "API_TOKEN", Rate(per_second=0.001, burst=3.0))

    async def play() -> None:
        async with serving(a_bed(tmp_path)) as scene:
            tim = await scene.user("tim")
            for _ in range(3):
                await tim.call("listCounters")
            assert (await _refused(tim, "listCounters")).code == 429
            await scene.admin.call("listCounters")

    asyncio.run(play())


def test_a_key_that_is_revoked_or_whose_user_is_disabled_is_not_verified(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(a_bed(tmp_path)) as scene:
            tim = await scene.user("tim")
            await tim.call("listCounters")
            await scene.up.operations.users.known.disable("tim", disabled=True)
            disabled = await _refused(tim, "listCounters")
            await scene.up.operations.users.known.disable("tim", disabled=False)
            await scene.up.engine.credentials.key_pairs.revoke("tim", "api")
            revoked = await _refused(tim, "listCounters")
            unknown = await _refused(Caller(scene.commands, "none", "x"), "listCounters")
            forged = await _refused(Caller(scene.commands, scene.admin.api_key, "x"), "listCounters")
            assert len({str(each) for each in (disabled, revoked, unknown, forged)}) == 1
            assert forged.code == 401

    asyncio.run(play())


def test_a_caller_looks_up_what_it_may_name_and_its_own_accounts_users_alone(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(a_bed(tmp_path)) as scene:
            known = scene.up.operations.users.known
            await known.accounts.add_domain(DomainId("retail"), ROOT_DOMAIN)
            shop = await known.accounts.add(AccountId("shop"), DomainId("retail"), AccountQuota())
            sam = await scene.user("sam", account=shop.id)
            await scene.admin.done("createAutoScaleVmProfile", zoneid=ZONE, serviceofferingid="o-9", templateid="t-9")

            assert [each["id"] for each in await scene.admin.listed("listTemplates", id="t-9")] == ["t-9"]
            assert [each["name"] for each in await scene.admin.listed("listServiceOfferings", zoneid=ZONE)] == ["o-9"]
            everyone = await scene.admin.listed("listUsers", listall=True)
            assert {each["username"] for each in everyone} == {"ada", "sam"}
            assert (await _refused(sam, "listTemplates", id="t-9")).code == 431
            assert [(each["username"], each["accounttype"]) for each in await sam.listed("listUsers")] == [("sam", 0)]
            assert [each["name"] for each in await sam.listed("listAccounts", listall=True)] == ["shop"]
            assert [each["path"] for each in await sam.listed("listDomains")] == ["ROOT", "ROOT/retail"]
            assert [each["id"] for each in await sam.listed("listZones")] == [ZONE]
            assert {each["publicport"] for each in await sam.listed("listLoadBalancerRules", id=RULE)} == {"443"}

    asyncio.run(play())


def test_jobs_events_and_members_are_those_of_the_callers_account_unless_all_are_asked_for(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(a_bed(tmp_path)) as scene:
            accounts = scene.up.operations.users.known.accounts
            shop = await accounts.add(AccountId("shop"), ROOT_DOMAIN, AccountQuota())
            sam = await scene.user("sam", account=shop.id)
            await scene.group()
            (counter,) = await sam.listed("listCounters", name="load", source="PUSH")
            condition = {"counterid": counter["id"], "relationaloperator": "GT", "threshold": 1}
            assert (
                "adds counters.load to the account's uses" in (await _refused(sam, "createCondition", **condition)).text
            )
            await accounts.set_uses(shop.id, ("counters.load",))
            await sam.done("createCondition", **condition)
            groups = scene.up.engine.runtimes.values()
            await scene.up.until(lambda: any(each.seen and each.seen.world.members for each in groups))

            for command in ("listAsyncJobs", "listEvents"):
                own, everything = await scene.admin.listed(command), await scene.admin.listed(command, listall=True)
                assert {each["account"] for each in own} == {"root"}
                assert {each["account"] for each in everything} == {"root", "shop"}
                assert {each["account"] for each in await sam.listed(command, listall=True)} == {"shop"}
            assert await scene.admin.listed("listAsyncJobs", startdate="2999-01-01") == []
            assert (await _refused(sam, "listAsyncJobs", startdate="soon")).code == 431
            assert await scene.admin.listed("listVirtualMachines") != []
            assert await sam.listed("listVirtualMachines", listall=True) == []

    asyncio.run(play())


def test_who_may_not_declare_an_entity_may_not_name_it_or_write_details_of_it(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(a_bed(tmp_path)) as scene:
            group = await scene.group(name="web")
            of: dict[str, object] = {"resourceid": group["id"], "resourcetype": "AutoScaleVmGroup"}
            await scene.admin.done("addResourceDetail", **of, **{"details[0].key": "tier", "details[0].value": "gold"})
            vera = await scene.user("vera", UserRole.VIEWER)
            for command, given in (
                ("updateAutoScaleVmGroup", {"id": group["id"], "name": "mine"}),
                ("addResourceDetail", {**of, "details[0].key": "tier", "details[0].value": "lead"}),
                ("removeResourceDetail", of),
            ):
                assert (await _refused(vera, command, **given)).code == 401
            assert [each["name"] for each in await vera.listed("listAutoScaleVmGroups", id=group["id"])] == ["web"]
            assert [each["value"] for each in await vera.listed("listResourceDetails", **of)] == ["gold"]
            rows = [row.fields for row in scene.up.store.audit_after(0, 1000)]
            noted = [(row["who"], row["result"]) for row in rows if row["act"] == "note_for_cloudstack"]
            assert noted == [("ada", "asked"), ("ada", "done"), *[("vera", "forbidden")] * 3]

    asyncio.run(play())


def test_an_admin_changes_the_profile_of_another_account_in_its_place(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(a_bed(tmp_path)) as scene:
            accounts = scene.up.operations.users.known.accounts
            shop = await accounts.add(AccountId("shop"), ROOT_DOMAIN, AccountQuota(), ("clouds.prod",))
            sam = await scene.user("sam", account=shop.id)
            made = await sam.done("createAutoScaleVmProfile", zoneid=ZONE, serviceofferingid="small", templateid="t-1")

            await scene.admin.done("updateAutoScaleVmProfile", id=made["id"], templateid="t-2", expungevmgraceperiod=30)

            (found,) = await sam.listed("listAutoScaleVmProfiles")
            assert (found["id"], found["templateid"], found["expungevmgraceperiod"]) == (made["id"], "t-2", 30)
            profiles = [key for key in scene.up.engine.declared().entities if key[0] == "profiles"]
            assert len(profiles) == 1

    asyncio.run(play())


def test_a_counter_of_another_account_takes_no_name_away(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(a_bed(tmp_path)) as scene:
            accounts = scene.up.operations.users.known.accounts
            shop = await accounts.add(AccountId("shop"), ROOT_DOMAIN, AccountQuota())
            by = local("ada")
            own = Declare(section=Section.COUNTERS, name="cpu", declared={"push": "CPU"}, account=shop.id)
            await perform(scene.up.operations, own, by)

            made = await scene.admin.done("createCounter", name="cpu", source="SNMP", value="1.3.6.1.4.1.2021.11.9.0")

            assert made["name"] == "cpu"

    asyncio.run(play())


def test_a_day_alone_is_whole_as_the_end_of_a_time(tmp_path: Path) -> None:
    async def play() -> None:
        async with serving(a_bed(tmp_path)) as scene:
            await scene.admin.done("createCounter", name="cpu", source="SNMP", value="1.3.6.1.4.1.2021.11.9.0")
            (event,) = await scene.admin.listed("listEvents", type="COUNTER.CREATE")
            day = event["created"][:10]
            assert await scene.admin.listed("listEvents", type="COUNTER.CREATE", startdate=day, enddate=day) == [event]

    asyncio.run(play())


def test_jobs_of_other_accounts_hide_none_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_MOST", 2)

    async def play() -> None:
        async with serving(a_bed(tmp_path)) as scene:
            accounts = scene.up.operations.users.known.accounts
            shop = await accounts.add(AccountId("shop"), ROOT_DOMAIN, AccountQuota(), ("clouds.prod",))
            sam = await scene.user("sam", account=shop.id)
            await sam.done("createAutoScaleVmProfile", zoneid=ZONE, serviceofferingid="small", templateid="t-1")
            await scene.policies()

            for command in ("listAsyncJobs", "listEvents"):
                for more in ({}, {"listall": True}):
                    assert [each["account"] for each in await sam.listed(command, **more)] == ["shop"]
            assert len(await scene.admin.listed("listAsyncJobs", listall=True)) == 2

    asyncio.run(play())


async def _refused(caller: Caller, command: str, **given: object) -> ApiFault:
    with pytest.raises(ApiFault) as caught:
        await caller.done(command, **given)
    return caught.value


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[asyncio.Runner, ApiScene]]:
    with asyncio.Runner() as runner:
        life = serving(a_bed(tmp_path_factory.mktemp("soup")))
        scene = runner.run(life.__aenter__())
        try:
            yield runner, scene
        finally:
            runner.run(life.__aexit__(None, None, None))


VALUES = st.one_of(
    st.sampled_from([ZONE, RULE, "1", "0", "-1", "true", "scaleup", "GT", "SNMP", "a,b", "", "AutoScaleVmProfile"]),
    st.integers().map(str),
    st.text(max_size=20),
)


@st.composite
def soups(draw: st.DrawFn) -> dict[str, str]:
    """A command and values for some of its parameters, and for others."""
    name = draw(st.sampled_from(sorted(COMMANDS)))
    known = [each.name for each in COMMANDS[name].parameters] or ["x"]
    own = draw(st.dictionaries(st.sampled_from(known), VALUES, max_size=8))
    other = draw(
        st.dictionaries(st.from_regex(r"[a-z]{1,12}(\[[0-9]\]\.[a-z]{1,5})?", fullmatch=True), VALUES, max_size=2)
    )
    return {**other, **own, "command": name}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(soups())
def test_any_parameters_have_an_answer_of_cloudstacks_form_and_no_failure(
    stage: tuple[asyncio.Runner, ApiScene], soup: dict[str, str]
) -> None:
    runner, scene = stage
    api = scene.commands.api
    assert api is not None
    sent = {
        name: value for name, value in soup.items() if name.lower() not in {"signature", "apikey", "signatureversion"}
    }
    found: Any = runner.run(
        scene.commands.answer(api, signed(sent, scene.admin.api_key, scene.admin.secret), "127.0.0.1")
    )

    assert found.status in {200, 401, 430, 431, 531, 536}, (found.status, found.body)
