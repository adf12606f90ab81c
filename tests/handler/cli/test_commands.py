"""Every command keeps the same promises: `-h`, `--json`, the exit codes 0 to 3, and an error that says what to do."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from handler.command import app
from tests.support.daemon import TRIMTAB, CommandResult, Daemon
from tests.support.waiting import PATIENT, scaled

_DECLARED = 'clouds: {box: {process: {}}}\nprofiles: {web: {cloud: box, command: [sleep, "9"]}}\n'
_GOOD = _DECLARED + "groups: {web: {profile: web, min: 1, max: 2}}\n"
_BAD = _DECLARED + "groups: {web: {profile: web, min: 3, max: 2}}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One command. Words in capitals stand for files and names of this test's: GOOD, BAD, NONE, WORLD, MEMBER, …"""

    done: str | None
    """Arguments that exit with 0; ``None``: another test shows it, since it changes much or runs for ever."""
    refused: str
    """Arguments that exit with 1."""
    wrong: str
    """Arguments that exit with 2."""
    asks: bool = True
    """Whether it needs the daemon, and exits with 3 where none answers."""


_TABLE: dict[str, Row] = {
    "account add": Row(done=None, refused="root", wrong="books --groups many"),
    "account delete": Row(done=None, refused="none", wrong=""),
    "account list": Row(done="", refused="", wrong="more"),
    "account quota": Row(done=None, refused="root --groups 1", wrong="root --groups many"),
    "account uses": Row(done=None, refused="root profiles.web", wrong="root"),
    "account show": Row(done="root", refused="none", wrong=""),
    "advise": Row(done=None, refused="GOOD --series NONE", wrong="GOOD --limit many", asks=False),
    "apply": Row(done="GOOD --dry-run", refused="BAD", wrong=""),
    "attach": Row(done=None, refused="GROUP none --port 80", wrong="GROUP none"),
    "audit export": Row(done="", refused="--state NONE", wrong="--since yesterday", asks=False),
    "audit list": Row(done="--group GROUP --since -1d", refused="--state NONE", wrong="--limit 0", asks=False),
    "audit verify": Row(done="", refused="--state NONE", wrong="more", asks=False),
    "backup": Row(done="COPY --force", refused="NONE/copy", wrong="", asks=False),
    "balancers": Row(done="GROUP", refused="none", wrong=""),
    "check": Row(done="GOOD", refused="BAD", wrong="GOOD --strikt", asks=False),
    "cluster hand-over": Row(done=None, refused="", wrong="now"),
    "cluster status": Row(done="", refused="", wrong="more"),
    "completion": Row(done="bash", refused="", wrong="csh", asks=False),
    "converge": Row(done="GROUP --dry-run", refused="none", wrong=""),
    "counters": Row(done="cpu", refused="no-such-counter", wrong="--mibs", asks=False),
    "declare apply": Row(done="ENTRIES --dry-run", refused="BAD", wrong=""),
    "declare delete": Row(done=None, refused="groups GROUP", wrong="groups"),
    "declare diff": Row(done="ENTRIES", refused="BAD", wrong=""),
    "declare export": Row(done="", refused="", wrong="more"),
    "declare list": Row(done="groups", refused="", wrong="clouds"),
    "declare restore": Row(done="0 --dry-run", refused="9", wrong="many"),
    "declare revisions": Row(done="", refused="", wrong="--limit 0"),
    "declare show": Row(done="groups GROUP", refused="groups none", wrong="clouds box"),
    "definitions": Row(done="GROUP", refused="none", wrong=""),
    "delete": Row(done=None, refused="GROUP", wrong=""),
    "demo": Row(done=None, refused="", wrong="--port many", asks=False),
    "detach": Row(done=None, refused="GROUP none", wrong="GROUP"),
    "doctor": Row(done="GOOD", refused="BAD", wrong="GOOD --within 0", asks=False),
    "domain add": Row(done=None, refused="shops --parent none", wrong=""),
    "domain delete": Row(done=None, refused="none", wrong=""),
    "domain list": Row(done="", refused="", wrong="more"),
    "eval": Row(done="1>0", refused="", wrong="1>", asks=False),
    "export events": Row(done="--out OUT", refused="--out NONE/events", wrong="--since yesterday", asks=False),
    "export series": Row(done=None, refused="--out NONE/series", wrong="--until soon --out OUT", asks=False),
    "forecast import": Row(done=None, refused="GOOD GROUP --series NONE", wrong="GOOD", asks=False),
    "forecast learn": Row(done=None, refused="GROUP none", wrong="GROUP"),
    "forecast show": Row(done="GROUP", refused="none", wrong=""),
    "freeze": Row(done="GROUP --for 1s", refused="none --for 1h", wrong="GROUP --for ever"),
    "garbage": Row(done="", refused="none", wrong="GROUP more"),
    "history": Row(done="GROUP --decisions --since -1h", refused="none", wrong="GROUP --since -1y"),
    "hook check": Row(done=None, refused="SERVICE", wrong=""),
    "hook list": Row(done="", refused="", wrong="more"),
    "hook new": Row(done=None, refused="with-a-wrong-group --groups none", wrong="x --push web --groups web"),
    "hook revoke": Row(done=None, refused="none", wrong=""),
    "hook rotate": Row(done=None, refused="none", wrong=""),
    "hook rotate-members": Row(done=None, refused="", wrong="--finnish"),
    "import oneflow": Row(done="SERVICE", refused="NONE", wrong="SERVICE --interval soon", asks=False),
    "member adopt": Row(done=None, refused="GROUP none", wrong="GROUP"),
    "member converge": Row(done="GROUP MEMBER", refused="GROUP none", wrong="GROUP"),
    "member delete": Row(done=None, refused="GROUP none", wrong="GROUP"),
    "member evict": Row(done=None, refused="GROUP none", wrong="GROUP"),
    "member list": Row(done="GROUP", refused="none", wrong=""),
    "member log": Row(done="GROUP MEMBER --lines 5", refused="GROUP none", wrong="GROUP"),
    "member observe": Row(done="GROUP MEMBER", refused="GROUP none", wrong="GROUP"),
    "member protect": Row(done="GROUP MEMBER --off", refused="GROUP none", wrong="GROUP"),
    "member replace": Row(done=None, refused="GROUP none", wrong="GROUP"),
    "observe": Row(done="GROUP", refused="none", wrong=""),
    "pause": Row(done=None, refused="none", wrong="GROUP --all"),
    "plan": Row(done="--world WORLD", refused="--world NONE", wrong="", asks=False),
    "probe": Row(done=None, refused="none", wrong="127.0.0.1"),
    "record off": Row(done="", refused="", wrong="--for ever"),
    "record on": Row(done=None, refused="", wrong="--for ever"),
    "record status": Row(done="", refused="", wrong="more"),
    "reload": Row(done="", refused="", wrong="more"),
    "replay": Row(done=None, refused="GOOD --series NONE", wrong="GOOD", asks=False),
    "restore": Row(done=None, refused="NONE", wrong="", asks=False),
    "resume": Row(done="GROUP", refused="none", wrong=""),
    "roll": Row(done=None, refused="none", wrong="GROUP --surge many"),
    "rollback": Row(done=None, refused="none", wrong="GROUP --to 1 --off"),
    "run": Row(done=None, refused="BAD --state NEW --port 0", wrong="GOOD --port 70000", asks=False),
    "scale": Row(done="GROUP 1", refused="GROUP 99", wrong="GROUP many"),
    "seal rotate": Row(done=None, refused="", wrong="now"),
    "seal status": Row(done="", refused="", wrong="more"),
    "settings apply": Row(done=None, refused="GROUP conditions.none.above=1", wrong="GROUP above"),
    "settings back": Row(done=None, refused="GROUP", wrong=""),
    "settings canary": Row(done="GROUP", refused="GROUP --stop", wrong="GROUP above"),
    "settings show": Row(done="GROUP", refused="none", wrong=""),
    "snapshot": Row(done="GROUP", refused="none", wrong=""),
    "status": Row(done="GROUP", refused="none", wrong="--colour"),
    "store adopt": Row(done="", refused="none", wrong="--everything"),
    "store move": Row(done=None, refused="GOOD", wrong="", asks=False),
    "store status": Row(done="", refused="", wrong="more"),
    "token list": Row(done="", refused="none", wrong="--all"),
    "token new": Row(done=None, refused="none laptop", wrong="ada laptop --expires soon"),
    "token revoke": Row(done=None, refused="none laptop", wrong="ada"),
    "token rotate": Row(done=None, refused="none laptop", wrong="ada"),
    "tune": Row(done=None, refused="GOOD --series NONE", wrong="GOOD --sweep 1..2", asks=False),
    "unfreeze": Row(done=None, refused="none", wrong="GROUP --direction up"),
    "user add": Row(done=None, refused="ada --role viewer", wrong="ada --role king"),
    "user anonymous": Row(done=None, refused="none", wrong="everything"),
    "user delete": Row(done=None, refused="none", wrong=""),
    "user disable": Row(done=None, refused="none", wrong=""),
    "user init": Row(done=None, refused="ada_ --anonymous none", wrong="ada"),
    "user key list": Row(done="", refused="none", wrong="--all"),
    "user key new": Row(done=None, refused="none", wrong="ada ci --expires soon"),
    "user key revoke": Row(done=None, refused="none ci", wrong=""),
    "user key rotate": Row(done=None, refused="none ci", wrong=""),
    "user list": Row(done="", refused="", wrong="more"),
    "user password": Row(done=None, refused="none --remove", wrong="ada secret-words"),
    "user role": Row(done=None, refused="none viewer", wrong="ada king"),
    "why": Row(done="GROUP --at -1s", refused="none", wrong="GROUP --at yesterday"),
}


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    inside = getattr(command, "commands", None)
    if inside is None:
        yield " ".join(path), command
    else:
        for name, each in inside.items():
            yield from _leaves(each, (*path, name))


_COMMANDS = dict(_leaves(typer.main.get_command(app)))
_every_command = pytest.mark.parametrize("name", _COMMANDS)


def typed(*arguments: str) -> CommandResult:
    done = CliRunner().invoke(app, arguments, prog_name="trimtab")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return CommandResult(done.exit_code, done.stdout, done.stderr)


def with_state(name: str, arguments: list[str], state: Path) -> list[str]:
    """The command line, with the state directory where the command takes one."""
    takes = any("--state" in parameter.opts for parameter in _COMMANDS[name].params)
    given = "--state" in arguments
    return [*name.split(), *arguments, *(["--state", str(state)] if takes and not given else [])]


def test_every_command_has_its_row() -> None:
    """A new command needs a row in the table above."""
    assert sorted(_TABLE) == sorted(_COMMANDS)


@pytest.fixture(scope="module")
def words(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the words in capitals stand for."""
    place = tmp_path_factory.mktemp("files")
    group = "group-24"
    daemon.settled(1, group)
    files = {
        "GOOD": _GOOD,
        "BAD": _BAD,
        "ENTRIES": "policies: {}\n",
        "WORLD": '{"desired": 1, "world": {}}',
        "SERVICE": '{"name": "shop", "roles": [{"name": "web", "cardinality": 1, "vm_template": 0}]}',
    }
    for name, text in files.items():
        (place / name).write_text(text)
    made = {name: str(place / name) for name in (*files, "NONE", "COPY", "OUT", "NEW")}
    return made | {"GROUP": group, "MEMBER": daemon.serving(group)[0]}


def line_of(arguments: str, words: dict[str, str]) -> list[str]:
    return [re.sub(r"^[A-Z]+", lambda found: words[found[0]], word) for word in arguments.split()]


@_every_command
def test_help_is_there_in_both_spellings_with_whole_sentences(name: str) -> None:
    short, long = typed(*name.split(), "-h"), typed(*name.split(), "--help")

    assert short.code == long.code == 0
    assert short.out == long.out
    assert "..." not in re.sub(r"\[[^]]*\]\.\.\.|[]}]\.\.\.", "", short.out)
    first = re.split(r"\n\n", short.out)[1].strip()
    assert re.match(r"[A-Z].*\.", first, re.DOTALL), first


@_every_command
def test_every_option_and_argument_says_what_it_is(name: str) -> None:
    assert [parameter.name for parameter in _COMMANDS[name].params if not getattr(parameter, "help", "")] == []


@_every_command
def test_every_command_takes_json(name: str) -> None:
    assert any("--json" in parameter.opts for parameter in _COMMANDS[name].params)


@pytest.mark.parametrize("name", [name for name, row in _TABLE.items() if row.done is not None])
def test_what_is_done_exits_with_0_and_speaks_json(name: str, daemon: Daemon, words: dict[str, str]) -> None:
    line = with_state(name, line_of(_TABLE[name].done or "", words), daemon.state)

    text, answer = typed(*line), typed(*line, "--json")

    assert (text.code, answer.code) == (0, 0), (text, answer)
    assert (text.out + text.err).strip()
    assert [json.loads(each) for each in answer.out.splitlines()]


@pytest.mark.parametrize("name", [name for name, row in _TABLE.items() if row.refused])
def test_what_is_refused_exits_with_1_and_says_why(name: str, daemon: Daemon, words: dict[str, str]) -> None:
    line = with_state(name, line_of(_TABLE[name].refused, words), daemon.state)

    text, answer = typed(*line), typed(*line, "--json")

    assert (text.code, answer.code) == (1, 1), (text, answer)
    assert (text.out + text.err).strip()
    assert "Traceback" not in text.err
    assert "Errno" not in text.err
    assert [json.loads(each) for each in answer.out.splitlines()]


@pytest.mark.parametrize("name", _TABLE)
def test_what_cannot_be_meant_exits_with_2_and_says_what_was_expected(
    name: str, tmp_path: Path, words: dict[str, str]
) -> None:
    line = with_state(name, line_of(_TABLE[name].wrong, words), tmp_path)

    result = typed(*line)

    assert result.code == 2, result
    assert result.err.strip()
    assert result.out == ""
    assert "Traceback" not in result.err


@pytest.mark.parametrize("name", [name for name, row in _TABLE.items() if row.asks])
def test_where_no_daemon_answers_it_exits_with_3_and_says_where_it_was_looked_for(
    name: str, tmp_path: Path, words: dict[str, str]
) -> None:
    row = _TABLE[name]
    arguments = line_of(row.refused if row.done is None else row.done, words)

    result = typed(*with_state(name, arguments, tmp_path), "--json")

    assert result.code == 3, result
    assert str(tmp_path) in json.loads(result.out)["error"]
    assert "--state" in result.err


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (["delete", "", "--members"], "GROUP"),
        (["status", ""], "GROUP"),
        (["pause", ""], "GROUP"),
        (["store", "adopt", ""], "GROUP"),
        (["member", "delete", "web", ""], "NAME"),
        (["user", "delete", ""], "NAME"),
        (["token", "revoke", "ada", ""], "NAME"),
        (["hook", "revoke", ""], "NAME"),
        (["declare", "delete", "groups", ""], "ID"),
        (["settings", "show", ""], "GROUP"),
        (["tune", "file", "web", "", "--series", "s"], "GROUP"),
    ],
    ids=" ".join,
)
def test_an_empty_name_is_refused(line: list[str], place: str) -> None:
    state = [] if line[0] == "tune" else ["--state", "/nowhere"]

    result = typed(*line, *state)

    assert (result.code, "an empty word names nothing" in result.err, place in result.err) == (2, True, True), result


@pytest.mark.parametrize("act", ["pause", "resume"])
def test_one_group_and_all_groups_at_once_are_refused_by_both_names(act: str) -> None:
    result = typed(act, "web", "--all", "--state", "/nowhere")

    assert (result.code, result.err) == (2, "web is one group, and --all means all groups: leave one of the two out\n")


def test_an_empty_instant_is_none() -> None:
    assert "'' is not an instant" in typed("why", "web", "--at", "", "--state", "/nowhere").err


def test_nothing_may_still_be_given_to_an_account() -> None:
    assert typed("account", "uses", "books", "", "--state", "/nowhere").code == 3


# The program as a whole


def test_the_program_tells_its_version() -> None:
    result = typed("--version")

    assert result.code == 0
    assert re.fullmatch(r"trimtab \d+\.\d+\.\d+\n", result.out)


def test_help_lists_every_command_below_a_task_and_cuts_no_sentence() -> None:
    result = typed("-h")
    top = {name.split()[0] for name in _COMMANDS}

    assert result.code == 0
    assert {line.split()[0] for line in result.out.splitlines() if re.match(r"  [a-z]", line)} >= top
    assert "\nCommands:\n" not in result.out, "a command has no task: name it in handler/cli/main.py"
    assert "..." not in result.out.partition("\n\n")[2]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (["export", "series", "--from", "soon"], ["export", "series", "--since", "soon"]),
        (["export", "events", "--to=soon"], ["export", "events", "--until=soon"]),
        (["replay", "x", "--series", "y", "--from", "soon"], ["replay", "x", "--series", "y", "--since", "soon"]),
        (["import", "oneflow", "none", "--output", "x"], ["import", "oneflow", "none", "--out", "x"]),
    ],
    ids=" ".join,
)
def test_an_older_spelling_is_read_and_not_listed(older: list[str], newer: list[str], tmp_path: Path) -> None:
    state = [] if older[0] in {"import", "replay"} else ["--state", str(tmp_path)]

    assert typed(*older, *state) == typed(*newer, *state)
    assert "No such option" not in typed(*newer, *state).err
    assert not re.search(r"--(from|to|output)\b", typed(*older[:2], "-h").out)


def test_what_follows_two_dashes_is_no_option() -> None:
    assert "--from" in typed("eval", "--", "--from").err


# Completion


def completed(daemon: Daemon, *words: str) -> list[str]:
    """What a real bash offers after these words, the last of which is not finished."""
    script = """
        source <("$0" completion bash)
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _trimtab_completion trimtab
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    environment = {
        "PATH": f"{TRIMTAB.parent}:/usr/bin:/bin",
        "TRIMTAB_STATE": str(daemon.state),
        "HOME": "/nonexistent",
    }
    done = subprocess.run(
        ["bash", "--norc", "-c", script, str(TRIMTAB), *words],
        env=environment, capture_output=True, text=True, timeout=scaled(PATIENT), check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_bash_completes_commands_options_groups_and_members(daemon: Daemon, words: dict[str, str]) -> None:
    assert completed(daemon, "trimtab", "stat") == ["status"]
    assert completed(daemon, "trimtab", "history", "web", "--dec") == ["--decisions"]
    assert completed(daemon, "trimtab", "status", "group-2") == sorted(
        ["group-2", *(f"group-2{digit}" for digit in range(5))]
    )
    assert completed(daemon, "trimtab", "member", "observe", words["GROUP"], "group") == [words["MEMBER"]]


@pytest.mark.parametrize(
    ("shell", "ask"),
    [
        ("zsh", {"_TYPER_COMPLETE_ARGS": "trimtab status group-24"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "trimtab status group-24", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_other_shells_are_answered_too(daemon: Daemon, shell: str, ask: dict[str, str]) -> None:
    script = typed("completion", shell).out
    environment = {**ask, "_TRIMTAB_COMPLETE": f"complete_{shell}", "TRIMTAB_STATE": str(daemon.state)}
    done = subprocess.run(
        [TRIMTAB], env=environment, capture_output=True, text=True, timeout=scaled(PATIENT), check=True
    )

    assert f"_TRIMTAB_COMPLETE=complete_{shell}" in script
    assert "group-24" in done.stdout


def test_without_a_daemon_a_shell_gets_no_names_and_no_error(tmp_path: Path) -> None:
    environment = {
        "_TYPER_COMPLETE_ARGS": "trimtab status g",
        "_TRIMTAB_COMPLETE": "complete_zsh",
        "HOME": str(tmp_path),
    }
    done = subprocess.run(
        [TRIMTAB], env=environment, capture_output=True, text=True, timeout=scaled(PATIENT), check=True
    )

    assert done.stderr == ""
