"""Pushed values over a real socket: who may say what, what is answered, and what becomes of it."""

from __future__ import annotations

import asyncio
import io
import re
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, push_to_gateway
from prometheus_client.exposition import basic_auth_handler, pushadd_to_gateway

from config.errors import Refused
from config.units import GroupId, MemberName, Monotonic
from handler import logs
from handler.ingest.alerts.tokens import NewWebhook
from handler.ingest.pushes import pushing
from handler.ingest.pushes.pushing import PushRate
from handler.ingest.request_rates import Rate
from tests.support.engines import EngineBed
from tests.support.pushing import MODEL, ONE, TWO, Senders, play

FORM = "application/x-www-form-urlencoded"


# Members


def test_a_member_speaks_for_itself_with_the_token_of_its_environment(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        answer = await senders.send({"values": {"JOBS": 7, "DONE": 100}}, senders.token(ONE))
        assert (answer.status, answer.document) == (200, {"taken": 2})
        assert (senders.held(ONE), senders.held(TWO), senders.held(None)) == ({"JOBS": 7.0, "DONE": 100.0}, {}, {})
        assert senders.counted("json", "accepted") == 1
        assert b"trimtab_pushed_values 2.0" in senders.up.operations.metrics()

    play(tmp_path, scene)


def test_a_member_pushes_for_itself_only_and_not_for_the_group(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        token = senders.token(ONE)
        for body in ({"member": TWO, "values": {"JOBS": 7}}, {"group": "api", "values": {"JOBS": 7}},
                     {"values": {"ORDERS": 7}}):  # fmt: skip
            assert (await senders.send(body, token)).status == 403
        assert senders.up.engine.parts.inbox.pushes.count == 0
        assert senders.counted("json", "not_permitted") == 3

    play(tmp_path, scene)


def test_once_a_member_has_left_its_token_is_worth_nothing_and_its_values_are_forgotten(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        token = senders.token(ONE)
        assert (await senders.send({"values": {"JOBS": 1}}, token)).status == 200
        await senders.up.operations.members.replace(GroupId("web"), ONE, by="ada")
        await senders.up.until(lambda: ONE not in senders.up.bed.machines and senders.up.settled())
        await senders.up.until(lambda: senders.held(ONE) == {})
        answer = await senders.send({"values": {"JOBS": 1}}, token)
        assert (answer.status, answer.document) == (403, {"error": f"{ONE} is no member of group web any more"})

    play(tmp_path, scene)


def test_a_member_that_is_not_listed_yet_has_to_push_again_later(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        answer = await senders.send({"values": {"JOBS": 1}}, senders.token(MemberName("web-k3f9ab-77")))
        assert (answer.status, answer.headers["retry-after"]) == (503, "2")

    play(tmp_path, scene)


def test_old_tokens_work_until_the_rotation_of_the_key_is_finished(
    tmp_path: Path,
) -> None:
    async def scene(senders: Senders) -> None:
        old = senders.token(ONE)
        await senders.up.operations.webhooks.rotate_member_tokens()
        new = senders.token(ONE)
        assert new != old
        for token in (old, new):
            assert (await senders.send({"values": {"JOBS": 1}}, token)).status == 200
        await senders.up.operations.webhooks.finish_member_tokens()
        assert (await senders.send({"values": {"JOBS": 1}}, old)).status == 401
        assert (await senders.send({"values": {"JOBS": 1}}, new)).status == 200

    play(tmp_path, scene)


# Applications


def test_a_groups_token_speaks_for_the_group_and_its_members_at_once(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        body = [
            {"values": {"ORDERS": 12}},
            {"member": ONE, "values": {"JOBS": 1}},
            {"member": TWO, "values": {"JOBS": 2}},
        ]
        assert (await senders.send(body, await senders.group_token(), method="PUT")).document == {"taken": 3}
        assert (senders.held(None), senders.held(ONE), senders.held(TWO)) == (
            {"ORDERS": 12.0},
            {"JOBS": 1.0},
            {"JOBS": 2.0},
        )

    play(tmp_path, scene)


def test_of_a_request_all_is_taken_or_nothing(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        body = [{"values": {"ORDERS": 12}}, {"member": ONE, "values": {"JOBS": 1, "JOBZ": 1}}]
        answer = await senders.send(body, await senders.group_token())
        assert answer.status == 400
        assert (
            answer.document["error"]
            == 'no counter of group web reads "JOBZ"; its counters read "DONE", "JOBS", "ORDERS"'
        )
        assert senders.up.engine.parts.inbox.pushes.count == 0

    play(tmp_path, scene)


def test_a_value_that_is_taken_back_is_absent(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        token = await senders.group_token()
        await senders.send({"values": {"ORDERS": 12}}, token)
        assert (await senders.send({"values": {"ORDERS": None}}, token)).status == 200
        assert senders.held(None) == {}

    play(tmp_path, scene)


def test_two_tokens_live_while_a_groups_is_rotated(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        async def pushes(token: str) -> int:
            return (await senders.send({"values": {"ORDERS": 1}}, token)).status

        first = await senders.group_token()
        second = await senders.up.operations.webhooks.rotate("shop")
        assert [await pushes(first), await pushes(second)] == [200, 200]
        await senders.up.operations.webhooks.finish("shop")
        assert [await pushes(first), await pushes(second)] == [401, 200]
        await senders.up.operations.webhooks.revoke("shop")
        assert [await pushes(first), await pushes(second)] == [401, 401]

    play(tmp_path, scene)


def test_tokens_for_alerts_bring_no_values_and_tokens_for_values_no_alerts(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        alerts, values = (
            await senders.up.operations.webhooks.make(NewWebhook(name="prometheus")),
            await senders.group_token(),
        )
        assert (await senders.send({"values": {"ORDERS": 1}}, alerts)).status == 401
        assert (await senders.send({"values": {"ORDERS": 1}}, "the-daemons-own")).status == 401
        assert (await senders.send({}, values, path="/hooks/alerts")).status == 404

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (NewWebhook(name="shop", pushes=True, effects=()), "name the groups whose values"),
        (NewWebhook(name="shop", pushes=True, groups=(GroupId("web"),)), "takes no alerts"),
        (NewWebhook(name="shop", pushes=True, groups=(GroupId("db"),), effects=()), "there is no group db"),
    ],
    ids=["of-no-group", "with-effects", "of-a-group-that-is-not-there"],
)
def test_a_token_for_values_is_bound_to_groups_and_to_nothing_else(
    tmp_path: Path, wanted: NewWebhook, message: str
) -> None:
    async def scene(senders: Senders) -> None:
        with pytest.raises(Refused, match=message):
            await senders.up.operations.webhooks.make(wanted)

    play(tmp_path, scene)


# The shapes


def test_clients_of_onegate_push_as_they_are(tmp_path: Path) -> None:
    """The requests are as the real client sent them, but for token and id."""

    async def scene(senders: Senders) -> None:
        cloud_id = next(m.server.id for m in senders.up.runtime.seen.world.members if m.name == ONE)  # type: ignore[union-attr]
        head = {"X-Onegate-Token": senders.token(ONE), "X-Onegate-Vmid": cloud_id, "Authorization": "Basic Og=="}

        async def put(path: str, body: bytes, **other: str) -> tuple[int, str]:
            answer = await senders.send(body, path=path, method="PUT", kind=FORM, headers={**head, **other})
            return answer.status, answer.body

        assert await put("/vm", b"data=JOBS%3D42%0ADONE%3D7+&type=1") == (200, "")
        assert senders.held(ONE) == {"JOBS": 42.0, "DONE": 7.0}
        assert await put("/vm", b"data=DONE&type=2") == (200, "")
        assert await put("/onegate/vm", b"JOBS = 43") == (200, "")
        assert await put("/onegate/vm", b"READY=YES") == (200, "")
        assert await put(f"/vms/{cloud_id}", b"data=JOBS%3D44&type=1") == (200, "")
        assert senders.held(ONE) == {"JOBS": 44.0}
        assert await put("/vm", b"JOBS=1", **{"X-Onegate-Vmid": "999"}) == (
            403, f'this token may push for {ONE} only, not for "999"')  # fmt: skip
        assert (await put("/vm", b"JOBS=1", **{"X-Onegate-Token": "AAAA"}))[0] == 401
        assert await put("/vm", b"JOBS=many") == (400, 'expected a number for "JOBS", found "many"')

    play(tmp_path, scene)


def test_the_client_library_of_prometheus_pushes_as_to_a_gateway(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        token, group_token = senders.token(ONE), await senders.group_token()

        def authorised(password: str):  # type: ignore[no-untyped-def]
            return lambda **options: basic_auth_handler(**options, username="any", password=password)

        registry, orders = CollectorRegistry(), CollectorRegistry()
        Gauge("JOBS", "Waiting.", registry=registry).set(3)
        Gauge("ORDERS", "Waiting.", registry=orders).set(5)
        Gauge("x", "No counter's.", registry=(other := CollectorRegistry())).set(1)
        gateway = f"http://127.0.0.1:{senders.port}/push"
        await asyncio.to_thread(push_to_gateway, gateway, "batch/7", registry, handler=authorised(token))
        await asyncio.to_thread(
            pushadd_to_gateway, gateway, "j", registry, {"member": TWO}, handler=authorised(group_token)
        )
        await asyncio.to_thread(
            push_to_gateway, gateway, "j", orders, {"group": "web"}, handler=authorised(group_token)
        )
        assert (senders.held(ONE), senders.held(TWO), senders.held(None)) == (
            {"JOBS": 3.0},
            {"JOBS": 3.0},
            {"ORDERS": 5.0},
        )
        with pytest.raises(OSError, match="400"):
            await asyncio.to_thread(push_to_gateway, gateway, "j", other, handler=authorised(token))

    play(tmp_path, scene)


def test_a_rising_counter_of_the_client_library_comes_with_its_birthday_and_is_understood(tmp_path: Path) -> None:
    text = MODEL.replace("push: DONE", "push: done_total")

    async def scene(senders: Senders) -> None:
        registry = CollectorRegistry()
        Counter("done", "Jobs.", registry=registry).inc(9)
        body = b"# TYPE done_total counter\ndone_total 9.0\n# TYPE done_created gauge\ndone_created 1.7e+09\n"
        answer = await senders.send(body, senders.token(ONE), kind="text/plain; version=0.0.4")
        assert (answer.document, senders.held(ONE)) == ({"taken": 1}, {"done_total": 9.0})

    play(tmp_path, scene, text=text)


def test_openmetrics_may_say_when_it_was_measured(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        now, token = senders.up.operations.now(), await senders.group_token()

        async def status_at(at: float) -> int:
            body = f"ORDERS 1 {at:.3f}\n# EOF\n".encode()
            return (await senders.send(body, token, kind="application/openmetrics-text")).status

        assert [await status_at(now), await status_at(now - 3600), await status_at(now + 3600)] == [200, 400, 400]
        assert senders.counted("openmetrics", "stale") == 2

    play(tmp_path, scene)


# The gate, and bounds


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Content-Type": "multipart/form-data"}, 415),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": ""}, 401),
        ({"Content-Length": "300000"}, 413),
    ],
    ids=["another-host", "another-type", "a-wrong-token", "no-token", "too-long"],
)
def test_what_the_gate_does_not_let_in(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    async def scene(senders: Senders) -> None:
        body = b'{"values": {"JOBS": 1}}'.ljust(300_000 if status == 413 else 0)
        assert (await senders.send(body, senders.token(ONE), headers=headers)).status == status
        assert senders.up.engine.parts.inbox.pushes.count == 0

    play(tmp_path, scene)


def test_a_sender_above_its_rate_has_to_try_again_later_and_others_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushing, "_MEMBER", Rate(per_second=0.001, burst=3.0))

    async def scene(senders: Senders) -> None:
        sent = [await senders.send({"values": {"JOBS": 1}}, senders.token(ONE)) for _ in range(5)]
        assert [answer.status for answer in sent] == [200, 200, 200, 503, 503]
        assert (await senders.send({"values": {"JOBS": 1}}, senders.token(TWO))).status == 200
        assert senders.counted("json", "overloaded") == 2

    play(tmp_path, scene)


def test_the_log_has_each_kind_of_refusal_once_and_no_token(tmp_path: Path) -> None:
    stream = io.StringIO()

    async def scene(senders: Senders) -> None:
        token = await senders.group_token()
        logs.configure(stream=stream)
        for body in ({"values": {"X": 1}}, {"values": {"ORDERS": 1}}, {"values": {"X": 1}}, [{}]):
            await senders.send(body, token)
            await senders.send(body, token + "x")
        await senders.send({"values": {"X": 1}}, senders.token(ONE))
        logs.configure(stream=io.StringIO())
        logged = [
            line.partition("event=push_refused ")[2] for line in stream.getvalue().splitlines() if "push_" in line
        ]
        assert [line.partition(" said=")[0] for line in logged] == [
            'by="hook shop" result=unknown_name',
            'by="hook shop" result=unreadable',
            f'by="member {ONE}" result=unknown_name',
        ]
        assert token not in stream.getvalue()
        assert senders.token(ONE) not in stream.getvalue()

    play(tmp_path, scene)


# What becomes of it


def test_nothing_survives_a_restart(tmp_path: Path) -> None:
    async def before(senders: Senders) -> None:
        await senders.send({"values": {"JOBS": 1}}, senders.token(ONE))
        assert senders.held(ONE) == {"JOBS": 1.0}

    async def after(senders: Senders) -> None:
        assert senders.held(ONE) == {}
        assert (await senders.send({"values": {"JOBS": 1}}, senders.token(ONE))).status == 200

    bed = EngineBed(tmp_path, MODEL)
    play(tmp_path, before, bed=bed)
    play(tmp_path, after, bed=bed)


def test_a_name_that_a_reload_takes_out_of_use_is_forgotten_and_refused(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        token = senders.token(ONE)
        await senders.send({"values": {"JOBS": 1, "DONE": 2}}, token)
        senders.up.bed.declare(MODEL.replace("policies: [out, more, most]", "policies: [out]"))
        assert (await senders.up.operations.reload()).problems == ()
        await senders.up.passed()
        assert senders.held(ONE) == {"JOBS": 1.0}
        assert (await senders.send({"values": {"DONE": 2}}, token)).status == 400

    play(tmp_path, scene)


def test_what_is_pushed_is_what_conditions_see(tmp_path: Path) -> None:
    async def scene(senders: Senders) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{senders.port}/push",
            data=b"JOBS=99",
            headers={"Authorization": f"Bearer {senders.token(TWO)}"},
        )
        await asyncio.to_thread(urllib.request.urlopen, request)
        await senders.up.until(lambda: senders.up.serving() == 3)
        why = await senders.up.operations.why(GroupId("web"), None)
        assert re.search(r"value=99\.0", repr(why))

    play(tmp_path, scene)


RATE = Rate(per_second=2.0, burst=3.0)


def admitted(bucket: PushRate, *times: float, who: str = "a") -> list[bool]:
    return [bucket.admits(who, RATE, Monotonic(time)) for time in times]


def test_so_many_at_once_and_then_so_many_in_the_long_run() -> None:
    assert admitted(PushRate(), 0, 0, 0, 0, 0.25, 0.5, 0.6, 1.0) == [True, True, True, False, False, True, False, True]


def test_a_quiet_sender_may_make_as_many_requests_as_at_first() -> None:
    assert admitted(PushRate(), 0, 0, 0, 0, 100, 100, 100, 100) == [True, True, True, False, True, True, True, False]


def test_one_does_not_use_up_what_another_may() -> None:
    bucket = PushRate()
    assert (admitted(bucket, 0, 0, 0, 0), admitted(bucket, 0, who="b")) == ([True, True, True, False], [True])


def test_the_buckets_of_quiet_callers_are_forgotten(monkeypatch) -> None:
    monkeypatch.setattr(pushing, "_KEPT", 10)
    bucket = PushRate()
    for number in range(1000):
        bucket.admits(f"m{number}", RATE, Monotonic(number / 10))
    assert len(bucket._left) <= 16


@given(st.lists(st.floats(0, 100)))
def test_no_sender_ever_exceeds_its_rate(times: list[float]) -> None:
    times = sorted(times)
    let = [time for time, ok in zip(times, admitted(PushRate(), *times), strict=True) if ok]
    for first, begin in enumerate(let):
        for last in range(first, len(let)):
            assert last - first + 1 <= RATE.burst + RATE.per_second * (let[last] - begin) + 1e-6
