from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from config.units import GroupId
from handler.cli.main import app
from tests.support.alerting import MODEL, Outside, play
from tests.support.hooks import alertmanager, an_alert

WEB = GroupId("web")
SLOW = alertmanager(an_alert(labels={"alertname": "WebSlow", "service": "web"}))


def trimtab(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.output


class Terminal:
    """The command line beside a daemon."""

    def __init__(self, outside: Outside) -> None:
        self.state = str(outside.daemon.directory.path)

    async def __call__(self, *words: str) -> tuple[int, str]:
        return await asyncio.to_thread(trimtab, "hook", *words, "--state", self.state)

    async def json(self, *words: str) -> Any:
        code, output = await self(*words, "--json")
        assert code == 0, output
        return json.loads(output)


def saved(place: Path, payload: object) -> str:
    file = place / "payload.json"
    file.write_text(json.dumps(payload))
    return str(file)


def test_a_webhook_is_made_used_rotated_and_revoked_by_command(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        hook = Terminal(outside)
        code, output = await hook(
            "new", "grafana", "--groups", "web", "--effects", "fire,shield", "--directions", "out"
        )
        assert code == 0
        path = output.splitlines()[1]
        assert (await outside.send(SLOW, path=path))[0] == 202
        code, output = await hook("list")
        assert "fire, shield" in output
        assert path.rpartition("/")[2] not in output
        listed = {each["name"]: each for each in await hook.json("list")}
        assert listed["grafana"]["effects"] == ["fire", "shield"]
        assert listed["grafana"]["directions"] == ["out"]
        assert listed["grafana"]["last_used_at"] is not None
        new = (await hook.json("rotate", "grafana"))["path"]
        assert [(await outside.send(SLOW, path=each))[0] for each in (path, new)] == [202, 202]
        assert (await hook("rotate", "grafana", "--finish"))[1] == "grafana: the old token has ended\n"
        assert [(await outside.send(SLOW, path=each))[0] for each in (path, new)] == [404, 202]
        assert (await hook("revoke", "grafana"))[1] == "grafana: revoked\n"
        assert (await outside.send(SLOW, path=new))[0] == 404

    play(tmp_path, scene)


def test_webhooks_that_execute_a_policy_or_take_events_are_made_by_command(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("open sesame")
    secret.chmod(0o600)

    async def scene(outside: Outside) -> None:
        hook = Terminal(outside)
        made = await hook.json("new", "otter", "--execute", "web/out")
        assert made["path"] == f"/hooks/execute/{made['token']}"
        assert (await outside.send({}, path=made["path"]))[0] == 202
        host = f"127.0.0.1:{outside.daemon.port}"
        signed = ("--execute", "web/out", "--sign-for", host, "--hmac-file", str(secret))
        code, output = await hook("new", "heat", *signed)
        assert code == 0
        assert (await outside.send({}, path=output.splitlines()[2]))[0] == 202
        made = await hook.json("new", "one", "--observe", "web,api")
        assert (await outside.send(b"", path=made["path"]))[0] == 202
        _, listed = await hook("list")
        assert "executes out" in listed
        assert "has groups looked at" in listed
        for words, message in (
            (("--execute", "web/none"), "group web has no policy none"),
            (("--execute", "web/out", "--observe", "web"), "for one thing"),
            (("--execute", "web/out", "--groups", "web"), "name the groups"),
            (("--execute", "web/out", "--sign-for", host), "needs a secret"),
        ):
            code, output = await hook("new", "other", *words)
            assert code != 0
            assert message in output

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("new", "No"), "is no name"),
        (("new", "x", "--groups", "wbe"), "there is no group wbe"),
        (("new", "x", "--effects", ""), "may do nothing"),
        (("new", "x", "--hmac-env", "TRIMTAB_NO_SUCH_SECRET"), "TRIMTAB_NO_SUCH_SECRET"),
        (("new", "x", "--hmac-env", "A", "--hmac-file", "/b"), "not as both"),
        (("rotate", "promethus"), "did you mean prometheus?"),
        (("revoke", "x"), "there is no webhook x"),
    ],
)
def test_what_cannot_be_done_is_reported_in_words(tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    async def scene(outside: Outside) -> None:
        code, output = await Terminal(outside)(*words)
        assert code == 1
        assert says in output

    play(tmp_path, scene)


def test_a_saved_payload_is_tried_out_and_nothing_is_changed(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        hook = Terminal(outside)
        failing = an_alert(labels={"alertname": "Failing"})
        file = saved(tmp_path, alertmanager(SLOW["alerts"][0], failing, an_alert(labels={"alertname": "Else"})))
        before = await outside.daemon.operations.history(WEB, before=None, limit=5)
        code, output = await hook("check", file)
        assert code == 0
        effects, foreign = output.splitlines()[:2], output.splitlines()[2]
        assert [effect.partition(" (")[0] for effect in effects] == ["slow → web: fire:out", "failing → web: shield"]
        assert foreign == "1 alert(s) match no declaration"
        assert outside.signals() == []
        assert await outside.daemon.operations.history(WEB, before=None, limit=5) == before
        await outside.send(SLOW)
        assert (await hook("check", file))[1].splitlines()[0].endswith(", again")

    play(tmp_path, scene)


def test_a_payload_that_would_be_refused_fails_the_check_with_the_same_words(tmp_path: Path) -> None:
    async def scene(outside: Outside) -> None:
        hook = Terminal(outside)
        code, output = await hook("check", saved(tmp_path, {"text": "hello"}))
        assert code == 1
        assert "understood a JSON object" in output
        await hook("new", "floors", "--effects", "floor")
        code, output = await hook("check", saved(tmp_path, SLOW), "--hook", "floors")
        assert code == 1
        assert "may not do that" in output

    play(tmp_path, scene)


def test_without_a_daemon_a_payload_is_checked_against_a_file(tmp_path: Path) -> None:
    model = tmp_path / "model.yaml"
    model.write_text(MODEL.format(mode="act"))
    assert trimtab("hook", "check", saved(tmp_path, SLOW), "--file", str(model)) == (0, "slow → web: fire:out\n")
    code, output = trimtab("hook", "check", saved(tmp_path, alertmanager()), "--file", str(model), "--json")
    assert code == 1
    assert json.loads(output.splitlines()[0])["status"] == 400
    assert trimtab("hook", "check", str(tmp_path / "none.json"), "--file", str(model))[0] == 1
    assert trimtab("hook", "list", "--state", str(tmp_path / "nobody"))[0] == 3
