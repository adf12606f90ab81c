from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from config.errors import Refused
from config.model.access import SecretRef
from config.units import GroupId, PolicyId
from handler import logs
from handler.ingest.alerts.tokens import NewWebhook
from handler.operations.lookup import NoSuch
from tests.support.alerting import Outside, play

WEB, OUT = GroupId("web"), PolicyId("out")
EXECUTES = NewWebhook(name="otter", groups=(WEB,), effects=(), policy=OUT)
OBSERVES = NewWebhook(name="one", groups=(WEB, GroupId("api")), effects=(), observes=True)


async def execute(outside: Outside, sent: bytes = b"", **headers: str) -> tuple[int, dict[str, Any]]:
    given = {"Content-Type": "", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return await outside.send(sent, path=f"/hooks/execute/{outside.token}", headers=given)


def test_an_empty_post_executes_the_policy_and_says_what_became_of_it(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        status, answer = await execute(outside)
        assert (status, answer["reason"], answer["repeated"]) == (202, "advised", False)
        assert answer["clamps"] == []
        history = await outside.daemon.operations.history(WEB, before=None, limit=10)
        assert "alarm otter" in [event.by for event in history]
        assert outside.counted("execute", "accepted") == 1

    play(tmp_path, scene, wanted=EXECUTES)


def test_the_same_id_executes_once_also_after_a_restart(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        first = await execute(outside, Idempotency_Key="k")
        assert first[1]["repeated"] is False
        status, again = await execute(outside, Idempotency_Key="k")
        assert (status, again["repeated"], again["request"]) == (202, True, first[1]["request"])
        assert (await execute(outside))[1]["repeated"] is False

    play(tmp_path, scene, wanted=EXECUTES)

    async def later(outside: Outside) -> None:
        assert (await execute(outside, Idempotency_Key="k"))[1]["repeated"] is True

    play(tmp_path, later)


def test_aodhs_notification_executes_at_the_alarm_and_not_at_its_end(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        aodh = {"alarm_name": "busy", "alarm_id": "a", "previous": "ok", "current": "alarm"}
        given = {"Content_Type": "application/json", "x-openstack-request-id": "req-1"}
        assert (await execute(outside, json.dumps(aodh).encode(), **given))[0] == 202
        assert (await execute(outside, json.dumps(aodh).encode(), **given))[1]["repeated"] is True
        status, answer = await execute(outside, json.dumps({**aodh, "current": "ok"}).encode(), **given)
        assert (status, answer) == (200, {"executed": False, "state": "ok"})

    play(tmp_path, scene, wanted=EXECUTES)


def test_a_refused_execution_is_403_with_the_reason(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        await outside.daemon.operations.pauses.pause(WEB, decisions_only=True, by="test")
        status, answer = await execute(outside)
        assert (status, answer["reason"]) == (403, "paused")
        assert outside.counted("execute", "refused") == 1

    play(tmp_path, scene, wanted=EXECUTES)


def test_a_policy_that_is_no_longer_declared_is_refused_and_the_history_says_so(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        file = tmp_path / "model.yaml"
        without = file.read_text().replace("mode: advise, policies: [out]", "mode: advise")
        file.write_text("".join(line for line in without.splitlines(keepends=True) if "fire: out" not in line))
        assert not (await outside.daemon.operations.reload()).problems
        status, answer = await execute(outside)
        assert status == 403
        assert "has no policy out" in answer["error"]
        await execute(outside)
        history = await outside.daemon.operations.history(WEB, before=None, limit=50)
        assert sum("has no policy out" in event.message for event in history) == 1

    play(tmp_path, scene, wanted=EXECUTES)


def test_a_token_is_good_for_its_own_address_alone(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        for method, path, status in (
            ("POST", "/hooks/execute/wrong", 404),
            ("POST", "/hooks/execute", 404),
            ("POST", f"/hooks/observe/{outside.token}", 404),
            ("POST", f"/hooks/alerts/{outside.token}", 404),
            ("POST", "/hooks/signal/otter?AWSAccessKeyId=hook-1&Signature=x", 404),
            ("POST", "/hooks/signal/otter", 404),
            ("GET", f"/hooks/execute/{outside.token}", 405),
            ("POST", f"/hooks/execute/{outside.token}?count=3", 400),
        ):
            assert (await outside.send({}, method=method, path=path))[0] == status, path

    play(tmp_path, scene, wanted=EXECUTES)


def test_the_token_may_come_as_a_bearer_token(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        bearer = {"Authorization": f"Bearer {outside.token}"}
        assert (await outside.send({}, path="/hooks/execute", headers=bearer))[0] == 202

    play(tmp_path, scene, wanted=EXECUTES)


def test_a_signed_url_executes_for_its_host_and_nothing_else_of_it_may_change(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("open sesame")
    secret.chmod(0o600)
    signed = NewWebhook(name="heat", groups=(WEB,), effects=(), policy=OUT, hmac_secret=SecretRef(file=str(secret)))

    async def scene(outside: Outside) -> None:
        url = outside.daemon.operations.webhooks.signed_url("heat", f"127.0.0.1:{outside.daemon.port}")
        assert (await outside.send(b"", path=url, headers={"Content-Type": ""}))[0] == 202
        for wrong in (url.replace("signal/heat", "signal/other"), f"{url}x", f"{url}&count=3"):
            assert (await outside.send(b"", path=wrong))[0] == 404
        other = outside.daemon.operations.webhooks.signed_url("heat", "10.0.0.1:8460")
        assert (await outside.send(b"", path=other))[0] == 404
        assert (await execute(outside))[0] == 401, "its token alone is not enough: the body is to be signed"

    play(tmp_path, scene, wanted=signed)


def test_no_token_is_logged_answered_counted_or_kept(tmp_path: Path) -> None:
    written = io.StringIO()

    async def scene(outside: Outside) -> None:
        logs.configure(stream=written)
        paths = [f"/hooks/execute/{outside.token}{more}" for more in ("", "?count=1", "x", "/%00", "?a=%")]
        answers = [await outside.send({}, path=path) for path in paths]
        assert outside.token not in json.dumps(answers)
        assert outside.token not in outside.daemon.operations.metrics().decode()
        kept = b"".join(path.read_bytes() for path in (tmp_path / "state").glob("trimtab.sqlite*"))
        assert outside.token.encode() not in kept

    play(tmp_path, scene, wanted=EXECUTES)
    assert "event=hook_refused hook=otter result=unreadable" in written.getvalue()
    assert (tmp_path / "hook-token").read_text() not in written.getvalue()


# Events of a cloud


def test_an_event_has_the_group_of_its_machine_looked_at_once_in_ten_seconds(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        path = f"/hooks/observe/{outside.token}"
        vm = b"<VM><ID>7</ID><NAME>another-machine</NAME></VM>"
        assert await outside.send(vm, path=path, headers={"Content-Type": "text/xml"}) == (202, {"now": [], "soon": []})
        assert (await outside.send({"group": "web"}, path=path))[1] == {"now": ["web"], "soon": []}
        assert (await outside.send({"group": "web"}, path=path))[1] == {"now": [], "soon": ["web"]}
        assert (await outside.send(b"", path=path))[1] == {"now": ["api"], "soon": ["web"]}
        assert (await outside.send(b"?", path=path))[0] == 400
        assert outside.counted("observe", "accepted") == 4

    play(tmp_path, scene, wanted=OBSERVES)


def test_an_event_changes_no_size(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        before = outside.daemon.engine.runtimes[WEB].state
        await outside.send({"group": "web"}, path=f"/hooks/observe/{outside.token}")
        assert outside.daemon.engine.runtimes[WEB].state == before

    play(tmp_path, scene, wanted=OBSERVES)


# Making them


_UNFIT = (
    (NewWebhook(name="a", groups=(WEB,), effects=(), policy=PolicyId("none")), "no policy none"),
    (NewWebhook(name="a", groups=(), effects=(), policy=OUT), "name the group"),
    (NewWebhook(name="a", groups=(WEB, GroupId("api")), effects=(), policy=OUT), "name the group"),
    (NewWebhook(name="a", groups=(WEB,), policy=OUT), "takes no alerts"),
    (NewWebhook(name="a", groups=(WEB,), effects=(), policy=OUT, observes=True), "for one thing"),
    (NewWebhook(name="a", groups=(), effects=(), observes=True), "name the group"),
)


def test_a_webhook_names_its_group_and_policy_and_is_for_one_thing(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        for wanted, words in _UNFIT:
            with pytest.raises((NoSuch, Refused), match=words):
                await outside.daemon.operations.webhooks.make(wanted)

    play(tmp_path, scene, wanted=EXECUTES)
