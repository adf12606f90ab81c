from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from handler.command import app
from tests.support.daemon import TRIMTAB, CommandResult, Daemon, a_daemon, trimtab, typed
from tests.support.waiting import until

_BAD = """\
clouds: {local: {process: {}}}
profiles: {web: {cloud: locale, command: [sleep, "60"]}}
groups: {web: {profile: web, min: 3, max: 2}}
"""
_WARNED = """\
counters:
  spare: {haproxy: scur}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [sleep, "60"]}}
groups: {web: {profile: web, min: 1, max: 2}}
"""


def test_help_imports_hardly_more_than_what_draws_it() -> None:
    """In time of the processor, beside a process that only imports the library: how fast the machine is cancels out."""

    def took(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    pairs = [(took(str(TRIMTAB), "--help"), took(sys.executable, "-c", "import typer, rich.console")) for _ in range(3)]
    ratios = [helped / imported for helped, imported in pairs]
    assert statistics.median(ratios) < 3.0, pairs  # about 1.5; a daemon's modules make it 10


def test_help_names_every_command_of_the_contract() -> None:
    result = typed("--help").out
    words = result.split()
    for command in (
        "run", "check", "reload", "status", "why", "history", "scale", "pause", "resume", "converge", "observe",
        "delete", "member", "garbage",
    ):  # fmt: skip
        assert command in words
    assert "replace" in typed("member", "--help").out


# check


def test_check_prints_every_problem_with_its_place_and_exits_1(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text(_BAD)
    result = typed("check", str(file))
    assert result.code == 1
    assert [line.split(": ")[0] for line in result.out.splitlines()] == [f"{file}:2", f"{file}:3"]
    problems = typed("check", str(file), "--json")
    assert problems.code == 1
    assert [(problem["line"], sorted(problem)) for problem in problems.json] == [
        (2, ["column", "file", "line", "message", "severity"]),
        (3, ["column", "file", "line", "message", "severity"]),
    ]


def test_check_of_a_good_file_exits_0(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMUNITY", "public")
    result = typed("check", str(daemon.file))
    assert result.code == 0
    assert "no problems" in result.out
    assert typed("check", str(daemon.file), "--json").json == []


def test_a_missing_secret_is_a_warning_and_does_not_refuse_the_file(daemon: Daemon) -> None:
    result = typed("check", str(daemon.file), "--strict")
    assert (result.code, result.out.splitlines()[0]) == (
        0,
        (
            f"{daemon.file}:5: warning: the environment variable COMMUNITY holds no secret: set it before starting "
            "trimtab (as seen here)"
        ),
    )


def test_check_warns_and_exits_1_for_warnings_only_when_strict(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text(_WARNED)
    result = typed("check", str(file))
    assert result.code == 0
    first, last = result.out.splitlines()
    assert first.startswith(f"{file}:2: warning: counters.spare: no condition reads it")
    assert last == f"{file}: no problems, 1 warning; groups: web"
    strict = typed("check", str(file), "--strict", "--json")
    assert strict.code == 1
    assert [(row["line"], row["severity"]) for row in strict.json] == [(2, "warning")]


# Without a daemon


@pytest.mark.parametrize(
    "command",
    [
        ["status"], ["status", "web"], ["why", "web"], ["history", "web"], ["scale", "web", "2"], ["pause", "web"],
        ["pause", "--all", "--because", "quota"], ["resume", "--all", "--direction", "in"],
        ["resume", "web"], ["converge", "web"], ["observe", "web"], ["delete", "web"], ["reload"], ["snapshot", "web"],
        ["member", "list", "web"], ["member", "replace", "web", "web-abcdef-1"],
        ["member", "delete", "web", "web-abcdef-1"], ["garbage"], ["garbage", "--abandon", "web-abcdef-1"],
        ["member", "protect", "web", "web-abcdef-1"],
        ["attach", "web", "edge", "--port", "80"], ["detach", "web", "edge"], ["balancers", "web"],
        ["definitions", "web"], ["rollback", "web"], ["rollback", "web", "--off"],
        ["roll", "web"], ["roll", "web", "--stop"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_every_command_exits_3_where_no_daemon_answers(tmp_path: Path, command: list[str]) -> None:
    result = typed(*command, "--state", str(tmp_path), "--json")
    assert result.code == 3
    assert "no daemon answers" in result.json["error"]
    assert "--state" in result.err


@pytest.mark.parametrize(
    "command",
    [
        ["scale", "web"], ["scale", "web", "many"], ["scale", "web", "-1"], ["statsu"], ["status", "--colour"],
        ["pause"], ["pause", "web", "--all"], ["resume"], ["pause", "web", "--because", "quota"],
        ["history", "web", "--limit", "0"], ["why", "web", "--at", "yesterday"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_invalid_command_line_exits_2(tmp_path: Path, command: list[str]) -> None:
    result = typed(*command, *([] if command == ["statsu"] else ["--state", str(tmp_path)]))
    assert result.code == 2
    assert "Traceback" not in result.err


# With a daemon


def test_a_shell_sees_the_exit_codes_too(daemon: Daemon, tmp_path: Path) -> None:
    state = ["--state", str(daemon.state)]
    assert trimtab("status", *state).code == 0
    assert trimtab("status", "group-99", *state).code == 1
    assert trimtab("status", "--colour", *state).code == 2
    assert trimtab("status", "--state", str(tmp_path)).code == 3


def both(daemon: Daemon, *arguments: str) -> tuple[CommandResult, Any]:
    """The command for people and for programs; both succeed."""
    text, answer = daemon.trimtab(*arguments), daemon.trimtab(*arguments, "--json")
    assert (text.code, answer.code) == (0, 0), (text, answer)
    assert text.out.strip()
    return text, answer.json


@pytest.mark.parametrize(
    "command",
    [
        ["status", "group-99"], ["why", "group-99"], ["history", "group-99"], ["scale", "group-99", "1"],
        ["pause", "group-99"], ["resume", "group-99"], ["converge", "group-99"], ["observe", "group-99"],
        ["delete", "group-99"], ["member", "list", "group-99"], ["member", "protect", "group-99", "x"],
        ["member", "replace", "group-1", "group-1-abcdef-1"], ["delete", "group-1"],
        ["member", "delete", "group-1", "group-1-abcdef-1"], ["member", "adopt", "group-1", "database"],
        ["member", "evict", "group-1", "group-1-abcdef-1"], ["member", "evict", "group-1", "x", "--replace"],
        ["status", "a/b"], ["snapshot", "group-99"], ["garbage", "--abandon", "group-1-abcdef-1"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_refused_command_exits_1_and_gives_the_reason(daemon: Daemon, command: list[str]) -> None:
    result = daemon.trimtab(*command, "--json")
    assert result.code == 1
    assert result.json["error"]
    assert "Traceback" not in result.err


def test_status_shows_all_groups_in_a_line_each_and_one_with_its_members(daemon: Daemon, group: str) -> None:
    text, groups = both(daemon, "status")
    assert group in text.out
    assert {"group", "condition", "desired", "members", "reason"} <= groups[0].keys()
    text, one = both(daemon, "status", group)
    assert [member["name"] in text.out for member in one["members"]] == [True]
    assert one["members"][0]["address"] in text.out


def test_scale_prints_the_old_and_the_new_size_or_exits_1(daemon: Daemon, group: str) -> None:
    assert daemon.trimtab("scale", group, "2").out.startswith(f"{group}: 1 → 2")
    assert daemon.json("scale", group, "2")["reason"] == "no_change"  # what is asked for is so: nothing is refused
    refused = daemon.trimtab("scale", group, "9")
    assert refused.code == 1
    assert "2 → 2" in refused.out
    assert daemon.trimtab("scale", group, "9", "--json").json["reason"] == "above_max"
    assert daemon.json("scale", group, "4", "--force")["reason"] == "forced"
    daemon.settled(4, group)
    _, history = both(daemon, "history", group, "--limit", "200")
    assert {"forced", "above_max", "create"} <= {event["name"] for event in history}


def test_why_explains_now_and_then(daemon: Daemon, group: str) -> None:
    until(lambda: daemon.json("why", group)["explanation"]["policies"])
    text, why = both(daemon, "why", group)
    assert why["words"]
    assert "not" in text.out
    at = why["explanation"]["at"]
    _, then = both(daemon, "why", group, "--at", str(at + 0.001))
    assert then["span"]["ticks"] >= 1
    assert len(then["span"]["ranges"]) >= len(then["span"]["words"])
    iso = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at + 1))
    assert both(daemon, "why", group, "--at", iso)[1]["group"] == group


def test_the_instant_of_every_row_of_history_finds_its_decision(daemon: Daemon, group: str) -> None:
    """With exactly the text that is printed, whatever was decided before and after it."""
    for size in ("2", "9", "3", "2"):
        daemon.trimtab("scale", group, size)
        daemon.json("converge", group)
    daemon.settled(2, group)
    history = daemon.json("history", group, "--limit", "200")
    rows = daemon.trimtab("history", group, "--limit", "200").out.splitlines()[1:]
    decisions = [(row[:23], event) for row, event in zip(rows, history, strict=True) if event["kind"] == "decision"]
    assert {"scaled_out", "scaled_in", "above_max"} <= {event["name"] for _, event in decisions}
    for printed, event in decisions:
        text, found = both(daemon, "why", group, "--at", printed)
        if event["at"] == found["explanation"]["at"]:
            assert found["explanation"]["desired_to"] == event["desired_to"], event
            assert f"{group} at {printed[11:]}" in text.out
        else:  # it was refused between two ticks, and has no evaluation of its own
            assert event in found["events"], event
            assert f"{printed} UTC {event['name']} by {event['by']}" in text.out
        second = daemon.json("why", group, "--at", printed[:19])
        near = [second["explanation"]["at"], *second["others"], *(other["at"] for other in second["events"])]
        assert event["at"] in near


def test_pause_and_resume(daemon: Daemon, group: str) -> None:
    assert daemon.json("pause", group)["pause"] == "all"
    assert daemon.trimtab("pause", group, "--decisions").out == f"{group}: paused\n"
    assert daemon.json("status", group)["pause"] == "decisions"
    assert daemon.json("resume", group)["pause"] == "no"
    assert daemon.trimtab("pause", group, "--direction", "out").out == f"{group}: scale-out paused\n"
    assert "scale-outs are paused" in daemon.trimtab("status", group).out
    assert daemon.json("status", group)["pause"] == "out"
    assert daemon.trimtab("resume", group, "--direction", "out").out == f"{group}: scale-out resumed\n"
    assert daemon.json("status", group)["pause"] == "no"


def test_converge_observe_and_the_members(daemon: Daemon, group: str) -> None:
    text, plan = both(daemon, "converge", group, "--dry-run")
    assert text.out == "converged: nothing to do\n"
    assert plan["steps"] == []
    both(daemon, "converge", group)
    text, world = both(daemon, "observe", group)
    assert "the listing is complete" in text.out
    name = world["members"][0]["name"]
    text, members = both(daemon, "member", "list", group)
    assert name in text.out
    assert [member["name"] for member in members] == [name]
    assert daemon.json("member", "protect", group, name)["protected"] is True
    until(lambda: daemon.json("member", "list", group)[0]["protected"])
    assert daemon.json("member", "protect", group, name, "--off")["protected"] is False
    assert daemon.trimtab("member", "replace", group, name).code == 0
    until(lambda: daemon.serving(group) == [name[:-1] + "2"])


def test_a_snapshot_plans_to_what_a_dry_run_says(daemon: Daemon, group: str, tmp_path: Path) -> None:
    def is_the_same(*, result_text: str) -> None:
        result = daemon.trimtab("snapshot", group)
        assert result.code == 0, result
        file = tmp_path / "world.json"
        file.write_text(result.out)
        assert typed("plan", "--world", str(file), "--json").json == daemon.json("converge", group, "--dry-run")
        assert typed("plan", "--world", str(file)).out == result_text

    is_the_same(result_text="converged: nothing to do\n")
    daemon.json("pause", group)
    daemon.json("scale", group, "3", "--force")
    is_the_same(result_text="waiting: a resume\n")
    daemon.json("resume", group)


def test_a_world_that_is_wrong_is_refused_with_its_places(tmp_path: Path) -> None:
    file = tmp_path / "world.json"
    file.write_text('{"desired": 1,\n "world": {"members": [{"name": "a"}]}}')
    result = typed("plan", "--world", str(file), "--json")
    assert (result.code, result.json) == (
        1,
        {"error": f"{file}:2: world.members[1].name: needs a record, a server, or both"},
    )
    assert typed("plan", "--world", str(file)).err == f"{result.json['error']}\n"
    assert typed("plan", "--world", str(tmp_path)).code == 1


def test_a_world_may_come_from_a_pipe() -> None:
    done = CliRunner().invoke(app, ["plan", "--world", "-"], input='{"desired": 2, "world": {}}')
    assert (done.exit_code, done.stdout) == (0, "create\ncreate\n")


def test_reload_of_the_same_file_changes_nothing(daemon: Daemon) -> None:
    text, reloaded = both(daemon, "reload")
    assert text.out == "nothing changed\n"
    assert reloaded == {"problems": [], "added": [], "changed": [], "orphaned": [], "edits": [], "revision": None}


def test_text_from_elsewhere_cannot_steer_the_terminal_or_break_a_table(daemon: Daemon, group: str) -> None:
    by = "[/red]\x1b[2J:smile:"
    body = {"id": "\x1b[31m", "policy": "out", "by": by}
    assert daemon.ask("POST", f"/api/v1/groups/{group}/alarms", body, unix=True).status == 202
    result = daemon.trimtab("history", group)
    assert result.code == 0
    assert "[/red]" in result.out
    assert ":smile:" in result.out
    for text in (result.out, daemon.trimtab("why", group).out, daemon.trimtab("status", group).out):
        assert "\x1b" not in text


@pytest.mark.parametrize(
    ("user", "recorded"),
    [({"USER": "łucja\n", "SUDO_USER": ""}, "?ucja?"), ({"USER": "", "SUDO_USER": "grace"}, "grace")],
    ids=["letters that no header carries", "through sudo"],
)
def test_the_account_that_asks_is_recorded(
    daemon: Daemon, group: str, user: dict[str, str], recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in user.items():
        monkeypatch.setenv(name, value)
    assert daemon.trimtab("pause", group).code == 0
    assert recorded in {event["by"] for event in daemon.json("history", group)}


def test_an_answer_that_is_not_json_is_reported_in_one_line(tmp_path: Path, broken: Callable[[Path], None]) -> None:
    broken(tmp_path / "trimtab.sock")
    result = typed("status", "--state", str(tmp_path), "--json")
    assert result.code == 1
    assert "see its log" in json.loads(result.out)["error"]


@pytest.fixture
def broken() -> Callable[[Path], None]:
    """A daemon that answers every request with half a sentence."""
    import socket
    import threading

    def serve(path: Path) -> None:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen()

        def answer() -> None:
            with listener, listener.accept()[0] as connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 500 Oh\r\nContent-Length: 8\r\nConnection: close\r\n\r\nInternal")

        threading.Thread(target=answer, daemon=True).start()

    return serve


def test_a_fleet_in_order_has_no_garbage(daemon: Daemon) -> None:
    text, found = both(daemon, "garbage")
    assert text.out.strip() == "no garbage"
    assert found == {"garbage": [], "unseen": []}
    assert daemon.json("garbage", "group-1")["garbage"] == []
    assert daemon.trimtab("garbage", "group-99").code == 1


def test_history_shows_only_decisions_and_only_a_time_where_that_is_asked_for(daemon: Daemon, group: str) -> None:
    daemon.json("scale", group, "2")
    daemon.settled(2, group)
    everything = daemon.json("history", group, "--limit", "200")
    decisions = daemon.json("history", group, "--decisions", "--since", "-1h")
    last = decisions[0]["at"]

    assert {event["kind"] for event in everything} > {"decision"}
    assert decisions == [event for event in everything if event["kind"] == "decision"]
    assert daemon.json("history", group, "--since", str(last)) == [event for event in everything if event["at"] >= last]
    assert daemon.json("history", group, "--until", str(last)) == [event for event in everything if event["at"] < last]


def test_scale_says_which_quiet_time_it_begins(tmp_path: Path) -> None:
    declared = """\
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [sleep, "3600"]}}
groups: {web: {profile: web, min: 0, max: 3, interval: 1s, quiet_time: 7m, grace: 1s}}
"""
    with a_daemon(declared) as daemon:
        daemon.start().settled(0)
        out = daemon.trimtab("scale", "web", "1").out.splitlines()
        same, less = daemon.json("scale", "web", "1"), daemon.json("scale", "web", "0")

    assert out[1] == "quiet time of 7m begins: until it ends, no policy scales in or out"
    assert (same["quiet"], less["quiet"]) == (None, {"seconds": 420.0, "direction": "in"})
