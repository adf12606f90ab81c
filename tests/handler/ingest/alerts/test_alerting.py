from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.errors import Refused
from config.model.access import SecretRef
from config.model.effects import EffectKind
from config.units import AlertId, GroupId
from handler import logs
from handler.ingest.alerts.alerting import Alerting, Bounds
from handler.ingest.alerts.receiver import WebhookRequest
from handler.ingest.alerts.signatures import SIGNATURE
from handler.ingest.alerts.tokens import NewWebhook
from tests.support.alerting import Outside, play
from tests.support.hooks import alertmanager, an_alert, body, grafana
from trigger.verdicts import Direction

WEB = GroupId("web")


def alert(name: str, status: str = "firing", **rest: Any) -> dict[str, Any]:
    labels = {"alertname": name, "service": "web", **rest.pop("labels", {})}
    return an_alert(status, labels=labels, **rest)


def notice(name: str, status: str = "firing", **rest: Any) -> dict[str, Any]:
    return alertmanager(alert(name, status, **rest))


def effects(answer: dict[str, Any]) -> list[tuple[str, str | None, str, str | None]]:
    return [(each["alert"], each["group"], each["effect"], each["reason"]) for each in answer["effects"]]


# What alerts do


def test_a_firing_alert_carries_out_its_policy_once_however_often_it_is_sent(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        status, answer = await outside.send(notice("WebSlow"))
        assert status == 202
        assert effects(answer) == [("slow", "web", "fire:out", "advised")]
        status, again = await outside.send(notice("WebSlow"))
        assert status == 202
        assert effects(again) == effects(answer)
        assert again["effects"][0]["repeated"]
        assert again["effects"][0]["id"] == answer["effects"][0]["id"]
        history = await outside.daemon.operations.history(WEB, before=None, limit=10)
        assert [event.by for event in history if event.by.startswith("alarm")] == ["alarm slow"]

    play(tmp_path, scene)

    async def later(outside: Outside) -> None:
        _, again = await outside.send(notice("WebSlow"))
        assert again["effects"][0]["repeated"]
        _, other = await outside.send(notice("WebSlow", startsAt="2026-01-01T15:00:00Z"))
        assert "repeated" not in other["effects"][0]

    play(tmp_path, later)


def test_two_tellings_of_one_alert_at_the_same_moment_fire_once(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        async with outside.daemon.engine.queue.shut():
            both = [asyncio.create_task(outside.send(notice("WebSlow"), method=method)) for method in ("POST", "PUT")]
            await asyncio.sleep(0.05)
        assert [(await one)[0] for one in both] == [202, 202]
        history = await outside.daemon.operations.history(WEB, before=None, limit=10)
        assert [event.by for event in history if event.by.startswith("alarm")] == ["alarm slow"]

    play(tmp_path, scene)


def test_what_lasts_survives_a_restart_and_ends_when_it_is_resolved(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        status, answer = await outside.send(alertmanager(alert("Loaded"), alert("Failing")))
        assert status == 202
        assert {each[:3] for each in effects(answer)} == {
            ("loaded", "web", "floor"), ("loaded", "api", "floor"), ("failing", "web", "shield"),
        }  # fmt: skip
        assert outside.signals() == [("failing", "shield"), ("loaded", "floor")]

    play(tmp_path, scene)

    async def later(outside: Outside) -> None:
        assert outside.signals() == [("failing", "shield"), ("loaded", "floor")]
        assert (await outside.send(notice("Failing", "resolved")))[0] == 202
        assert outside.signals() == [("loaded", "floor")]
        assert outside.signals("api") == [("loaded", "floor")]

    play(tmp_path, later)


def test_a_repetition_renews_what_lasts(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        await outside.send(notice("Failing"))
        (before,) = outside.daemon.engine.runtimes[WEB].state.signals
        await outside.send(notice("Failing"))
        (after,) = outside.daemon.engine.runtimes[WEB].state.signals
        assert after.until > before.until

    play(tmp_path, scene)


def test_a_firing_that_comes_after_its_end_begins_nothing(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        assert (await outside.send(notice("Failing", "resolved")))[0] == 202
        status, answer = await outside.send(alertmanager(alert("Failing"), alert("WebSlow")))
        assert status == 202
        assert effects(answer)[0] == ("failing", "web", "nothing", "over")
        assert outside.signals() == []

    play(tmp_path, scene)


def test_a_value_is_on_the_board_while_its_alert_fires(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        board, clock = outside.daemon.engine.parts.inbox.board, outside.daemon.engine.parts.clock
        await outside.send(notice("Deep", annotations={"depth": "120.5"}))
        assert board.value(WEB, AlertId("deep"), clock()) == 120.5
        status, answer = await outside.send(notice("Deep", annotations={"depth": "lots"}))
        assert (status, effects(answer)) == (202, [("deep", "web", "nothing", "no_number")])
        await outside.send(notice("Deep", "resolved"))
        assert board.value(WEB, AlertId("deep"), clock()) is None

    play(tmp_path, scene)


def test_missing_data_blind_a_group_and_fire_nothing(tmp_path: Path) -> None:
    labels = {"alertname": "DatasourceNoData", "rulename": "WebSlow", "datasource_uid": "P1", "ref_id": "A"}

    async def scene(outside: Outside) -> None:
        status, answer = await outside.send(grafana(an_alert(labels=labels)))
        assert status == 202
        assert [(each["group"], each["effect"]) for each in answer["effects"]] == [("web", "blind"), ("api", "blind")]
        assert outside.signals() == [("slow", "blind")]
        await outside.send(grafana(an_alert("resolved", labels=labels)))
        assert outside.signals() == []

    play(tmp_path, scene)


def test_alerts_that_mean_nothing_here_are_refused_with_what_was_understood(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        status, answer = await outside.send(notice("Else"))
        assert status == 400
        assert '"Else"' in answer["error"]
        assert "slow: alertname" in answer["error"]
        status, answer = await outside.send(notice("WebSlow", labels={"service": "db"}))
        assert status == 400
        assert '"service" names none of its groups' in answer["error"]
        status, answer = await outside.send(alertmanager(alert("Else"), alert("Failing"), truncatedAlerts=3))
        assert status == 202
        assert (answer["unmatched"], answer["truncated"]) == (1, 3)
        assert outside.counted("alertmanager", "unmatched") == 2
        assert outside.counted("alertmanager", "accepted") == 1

    play(tmp_path, scene)


# Who may


def test_a_webhook_does_only_what_it_may(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        status, answer = await outside.send(notice("WebSlow"))
        assert status == 403
        assert "slow" in answer["error"]
        status, answer = await outside.send(notice("Loaded"))
        assert status == 202
        assert {each[1:] for each in effects(answer)} == {
            ("web", "floor", answer["effects"][0]["reason"]), ("api", "nothing", "not_permitted"),
        }  # fmt: skip

    wanted = NewWebhook(name="floors", groups=(WEB,), effects=(EffectKind.FLOOR,), directions=(Direction.OUT,))
    play(tmp_path, scene, wanted=wanted)


@pytest.mark.parametrize("token", ["", "wrong", "../api", "%00", "x" * 4000, "hooks/alerts"])
def test_an_unknown_token_is_not_found_and_not_repeated(tmp_path: Path, token: str) -> None:
    async def scene(outside: Outside) -> None:
        stream = io.StringIO()
        logs.configure(stream=stream)
        status, answer = await outside.send(notice("WebSlow"), token=token)
        assert status == 404
        assert not token or token not in json.dumps(answer)
        assert stream.getvalue() == ""
        assert outside.counted("unknown", "unknown_token") == 1

    play(tmp_path, scene)


def test_the_token_may_come_as_a_bearer_token(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        bearer = {"Authorization": f"Bearer {outside.token}"}
        assert (await outside.send(notice("Failing"), path="/hooks/alerts", headers=bearer))[0] == 202
        daemon = {"Authorization": f"Bearer {outside.daemon.directory.token()}"}
        assert (await outside.send(notice("Failing"), path="/hooks/alerts", headers=daemon))[0] == 404

    play(tmp_path, scene)


def test_a_webhook_opens_nothing_else(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        bearer = {"Authorization": f"Bearer {outside.token}"}
        status, _ = await outside.send({"decisions_only": False}, path="/api/v1/groups/web/pause", headers=bearer)
        assert status == 401
        assert (await outside.send(notice("Failing"), method="DELETE"))[0] == 405

    play(tmp_path, scene)


def test_tokens_rotate_and_end(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        operations, first = outside.daemon.operations, outside.token

        async def opens(*tokens: str) -> list[int]:
            return [(await outside.send(notice("Failing"), token=token))[0] for token in tokens]

        second = await operations.webhooks.rotate("prometheus")
        assert await opens(first, second) == [202, 202]
        await operations.webhooks.finish("prometheus")
        assert await opens(first, second) == [404, 202]
        third = await operations.webhooks.rotate("prometheus")
        fourth = await operations.webhooks.rotate("prometheus")
        assert await opens(second, third, fourth) == [404, 202, 202]
        await operations.webhooks.revoke("prometheus")
        assert await opens(third, fourth) == [404, 404]
        with pytest.raises(Refused, match="revoked"):
            await operations.webhooks.rotate("prometheus")
        with pytest.raises(Refused, match="not used twice"):
            await operations.webhooks.make(NewWebhook(name="prometheus"))

    play(tmp_path, scene)


def test_no_token_is_in_the_store_the_log_or_the_list(tmp_path: Path) -> None:
    stream = io.StringIO()

    async def scene(outside: Outside) -> None:
        logs.configure(stream=stream)
        other = await outside.daemon.operations.webhooks.rotate("prometheus")
        await outside.send(notice("Failing"))
        status, listed, _ = await outside.exchange(b"", method="GET", path="/api/v1/hooks")  # type: ignore[misc]
        assert status == 200
        kept = b"".join(path.read_bytes() for path in (tmp_path / "state").glob("trimtab.sqlite*"))
        for token in (outside.token, other):
            assert token not in json.dumps(listed)
            assert token.encode() not in kept
            assert token not in stream.getvalue()

    play(tmp_path, scene)
    assert 'event=alerts hook=prometheus deliveries=1 alerts=1 effects="failing=shield" groups=1' in stream.getvalue()


@pytest.mark.parametrize("name", ["", "A", "a b", "../a"])
def test_a_webhook_needs_a_plain_name(tmp_path: Path, name: str) -> None:
    async def scene(outside: Outside) -> None:
        with pytest.raises(Refused, match="is no name"):
            await outside.daemon.operations.webhooks.make(NewWebhook(name=name))

    play(tmp_path, scene)


def test_no_webhook_has_the_name_at_which_payloads_are_checked(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        with pytest.raises(Refused, match="choose another name"):
            await outside.daemon.operations.webhooks.make(NewWebhook(name="check"))

    play(tmp_path, scene)


# Signatures


def test_a_signed_webhook_takes_only_what_is_signed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("between us\n")
    secret.chmod(0o600)

    async def scene(outside: Outside) -> None:
        raw = body(grafana(alert("Failing")))
        signature = hmac.new(b"between us", raw, hashlib.sha256).hexdigest()
        assert (await outside.send(raw))[0] == 401
        assert (await outside.send(raw, headers={SIGNATURE: "0" * 64}))[0] == 401
        assert (await outside.send(raw + b" ", headers={SIGNATURE: signature}))[0] == 401
        assert outside.signals() == []
        assert (await outside.send(raw, headers={SIGNATURE: signature}))[0] == 202
        assert (await outside.send(b"garbage", headers={}))[0] == 401
        assert outside.counted("unknown", "forged") == 4

    play(tmp_path, scene, wanted=NewWebhook(name="grafana", hmac_secret=SecretRef(file=str(secret))))
    secret.unlink()

    async def later(outside: Outside) -> None:
        assert (await outside.send(grafana(alert("Failing"))))[0] == 503

    play(tmp_path, later)


# Floods, and what is no payload


def test_an_alert_that_does_not_fit_the_queue_is_answered_with_retry_after(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        engine = outside.daemon.engine
        narrow = Alerting(
            hooks=engine.ingest.hooks,
            dispatcher=engine.ingest.dispatcher,
            catalogue=engine.catalogue,
            now=lambda: engine.parts.clock().wall,
            count=engine.reports.metrics.webhook_answered,
            bounds=Bounds(deliveries=3, size=100_000),
        )
        request = WebhookRequest(token=outside.token, headers={}, body=body(notice("Failing")))
        waiting = [asyncio.create_task(narrow.take(request)) for _ in range(3)]
        await asyncio.sleep(0)
        refused = await narrow.take(request)
        assert (refused.status, refused.headers) == (503, ((b"retry-after", b"5"),))
        narrow.start()
        assert [(await one).status for one in waiting] == [202, 202, 202]
        assert (await narrow.take(request)).status == 202
        large = WebhookRequest(token=outside.token, headers={}, body=body(notice("Failing")) + b" " * 100_000)
        assert (await narrow.take(large)).status == 503
        await narrow.stop()

    play(tmp_path, scene)


def test_a_flood_is_decided_together_and_every_telling_is_answered(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        alerting, commits = outside.daemon.engine.ingest.alerting, outside.daemon.engine.parts.store._writer  # type: ignore[attr-defined]
        before = commits.commits
        requests = [
            WebhookRequest(token=outside.token, headers={}, body=body(notice(name, fingerprint=f"{number:x}")))
            for number in range(300)
            for name in ("WebSlow", "Failing")
        ]
        replies = await asyncio.gather(*(alerting.take(request) for request in requests))
        assert {reply.status for reply in replies} == {202}
        assert commits.commits - before < 60
        assert len(outside.signals()) <= 51

    play(tmp_path, scene)


def test_a_store_that_cannot_write_has_the_sender_come_back_and_nothing_is_done(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        await asyncio.to_thread(outside.daemon.engine.parts.store.close)
        logs.configure(stream=io.StringIO())
        status, answer, head = await outside.exchange(notice("Failing"))
        assert (status, "retry-after: 5" in head) == (503, True)
        assert "recorded" in answer["error"]
        assert outside.signals() == []

    play(tmp_path, scene)


def test_too_large_a_body_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        large = notice("Failing", annotations={"text": "x" * 200_000})
        assert (await outside.send(large))[0] == 202
        assert (await outside.send(notice("Failing", annotations={"text": "x" * 300_000})))[0] == 413
        assert (await outside.send(alertmanager(*[alert("Failing")] * 1_001)))[0] == 413

    play(tmp_path, scene)


_PIECES = st.sampled_from(
    [b"{", b"}", b"[", b"]", b'"alerts":', b'"version":"4",', b'"orgId":1,', b"null", b"\xff", b","]
)


@settings(max_examples=5)
@given(st.lists(st.binary(max_size=50) | st.lists(_PIECES, max_size=12).map(b"".join), min_size=50, max_size=100))
def test_no_bytes_whatever_make_it_stumble(raws: list[bytes]) -> None:
    async def scene(outside: Outside) -> None:
        for raw in raws:
            reply = await outside.daemon.engine.ingest.alerting.take(
                WebhookRequest(token=outside.token, headers={}, body=raw)
            )
            assert 400 <= reply.status < 500
            assert (await outside.send(raw))[0] == reply.status

    logs.configure(stream=io.StringIO())
    with tempfile.TemporaryDirectory(prefix="ttb") as place:
        play(Path(place), scene)
