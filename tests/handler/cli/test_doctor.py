from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from handler.cli import client
from handler.cli.main import app
from tests.support.cloudstack_wire import KEY, SECRET, CloudstackWire

MODEL = """
clouds:
  prod: {cloudstack: {endpoint: "%s", api_key: {env: DOCTOR_KEY}, secret: {env: DOCTOR_SECRET}}}
profiles: {web: {cloud: prod, zone: par1, template: %s, offering: small}}
groups: {web: {profile: web, min: 0, max: 5}}
"""


def doctor(tmp_path: Path, *more: object, template: str = "web") -> Result:
    with CloudstackWire().serving() as endpoint:
        file = tmp_path / "model.yaml"
        file.write_text(MODEL % (endpoint, template))
        words = ("doctor", file, "--state", tmp_path / "none", *more)
        return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCTOR_KEY", KEY)
    monkeypatch.setenv("DOCTOR_SECRET", SECRET)


def test_a_file_whose_clouds_are_in_order_ends_well(tmp_path: Path) -> None:
    answer = doctor(tmp_path)

    assert answer.exit_code == 0, answer.output
    assert "ok       cloud prod, access: answers and allows listing machines: 0 members of ours" in answer.output
    assert answer.output.splitlines()[-1] == "7 checks, no problems"
    assert not (tmp_path / "none").exists()


def test_a_problem_comes_last_with_its_fix_and_its_groups(tmp_path: Path) -> None:
    answer = doctor(tmp_path, template="nix")

    assert answer.exit_code == 1
    assert answer.output.splitlines()[-3:] == [
        "problem  profile web, template: prod: no template that the account can see in the zone is called 'nix'",
        "          fix: put the template back, or name another in the profile (groups web)",
        "7 checks, 1 problem",
    ]


def test_as_json_every_check_is_an_object(tmp_path: Path) -> None:
    answer = doctor(tmp_path, "--json", template="nix")
    found = json.loads(answer.output)

    assert answer.exit_code == 1
    assert found[-1] == {
        "about": "profile",
        "name": "web",
        "check": "template",
        "groups": ["web"],
        "verdict": "problem",
        "words": "prod: no template that the account can see in the zone is called 'nix'",
        "mend": "put the template back, or name another in the profile",
    }


def test_a_cloud_that_does_not_answer_is_reported_once_and_not_for_each_check(tmp_path: Path) -> None:
    doctor(tmp_path)  # its cloud is gone when this returns
    answer = CliRunner().invoke(app, ["doctor", str(tmp_path / "model.yaml"), "--state", str(tmp_path), "--json"])
    found = json.loads(answer.output)

    assert answer.exit_code == 1
    assert [each["verdict"] for each in found] == ["unknown"] * 6 + ["problem"]
    assert (found[-1]["name"], found[-1]["check"], found[-1]["groups"]) == ("prod", "access", ["web"])


def test_a_secret_that_is_not_set_is_reported_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCTOR_SECRET")
    answer = doctor(tmp_path)

    assert (answer.exit_code, "DOCTOR_SECRET" in answer.output) == (1, True)
    assert KEY not in answer.output


def test_a_wrong_secret_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCTOR_SECRET", "wrong-one")
    answer = doctor(tmp_path)

    assert (answer.exit_code, "check the credentials" in answer.output) == (1, True)
    assert answer.output.splitlines()[-1] == "7 checks, 1 problem"
    assert "wrong-one" not in answer.output


def test_clouds_of_a_refused_file_are_not_asked(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text("groups: {web: {}}\n")
    answer = CliRunner().invoke(app, ["doctor", str(file)])

    assert (answer.exit_code, f"{file}:1:" in answer.output) == (1, True)


def test_a_claim_that_the_daemon_cannot_write_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = {"unwritten": {"prod": "the claim of this daemon could not be written on web-k3f9ab-1: not allowed"}}
    monkeypatch.setattr(client, "ask", lambda *_: (200, stored))
    answer = doctor(tmp_path)

    assert answer.exit_code == 1
    assert answer.output.splitlines()[-3] == f"problem  cloud prod, claim: {stored['unwritten']['prod']}"
