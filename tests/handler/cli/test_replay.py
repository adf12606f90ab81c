from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from handler.command import app
from tests.support.replay import MODEL, flat, written

PAGE = Path("docs/replay.md").read_text()


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.yaml").write_text(MODEL)
    Path("load.csv").write_text("timestamp_s,rate\n0,100\n600,190\n3600,10\n7200,10\n")
    written(Path("series.csv"), [*flat(50, 2), *flat(90, 5, since=2)])


def replayed(*words: str) -> Result:
    return CliRunner().invoke(app, ["replay", "model.yaml", *words])


def test_json_has_one_decision_a_line_with_exactly_these_keys() -> None:
    done = replayed("--series", "series.csv", "--json")

    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        (
            '{"at": 1767225600.0, "group": "web", "policy": null, "outcome": "none", "reason": "first_listing", '
            '"desired_from": null, "desired_to": 2}'
        ),
        (
            '{"at": 1767225720.0, "group": "web", "policy": "out", "outcome": "out", "reason": "scaled_out", '
            '"desired_from": 2, "desired_to": 3}'
        ),
    ]
    assert "web: from 2026-01-01 00:02:00 to the end the size here is 3 and the recorded one 2" in done.stderr


def test_people_get_a_table_that_says_the_same_once() -> None:
    written(Path("series.csv"), flat(5, 5))

    shown = [line.split() for line in replayed("--series", "series.csv").stdout.splitlines()]

    assert shown[2] == ["2026-01-01", "00:01:00", "web", "in", "refused", "at_min", "2", "3"]
    assert shown[3][:3] == ["web:", "5", "ticks,"]


def test_a_load_is_replayed_without_a_recording() -> None:
    lines = [
        json.loads(line) for line in replayed("--load", "load.csv", "--capacity", "100", "--json").stdout.splitlines()
    ]

    assert [(line["at"], line["desired_to"]) for line in lines if line["outcome"] in {"out", "in"}] == [
        (660, 3),
        (3660, 2),
    ]


def test_two_files_are_compared() -> None:
    Path("other.yaml").write_text(MODEL.replace("above: 80", "above: 45"))

    done = replayed("--load", "load.csv", "--capacity", "100", "--against", "other.yaml", "--json")

    (figures,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert figures["file"]["actions"] == 2
    assert figures["against"]["actions"] > 2
    assert figures["against"]["size_hours"] > figures["file"]["size_hours"]


def test_a_load_shows_how_good_the_sizes_are() -> None:
    load = ("--load", "load.csv", "--capacity", "100", "--slo", "80")

    *decisions, score = [json.loads(line) for line in replayed(*load, "--json").stdout.splitlines()]
    (compared,) = [
        json.loads(line) for line in replayed(*load, "--against", "model.yaml", "--json").stdout.splitlines()
    ]

    assert all("outcome" in decision for decision in decisions)
    assert score["group"] == "web"
    assert score["score"]["cost"] > 1.0
    assert score["score"]["over_minutes"] == 2.0
    assert compared["file"]["score"] == compared["against"]["score"] == score["score"]
    assert f"cost {score['score']['cost']:.3f} of the optimum" in replayed(*load).stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--series", "series.csv", "--slo", "80"), 2, "--slo, --drain, --delay and several times of --boot go with"),
        (("--series", "series.csv", "--boot", "60s,90s"), 2, "several times of --boot go with --load"),
        (("--load", "load.csv", "--capacity", "100", "--slo", "101"), 2, "a rate above 0 and at most --capacity"),
        ((), 2, "either --series FILE, or --load TRACE"),
        (("--series", "series.csv", "--load", "load.csv"), 2, "either --series FILE, or --load TRACE"),
        (("--load", "load.csv"), 2, "--load needs --capacity N"),
        (("--load", "load.csv", "--capacity", "nan"), 2, "--load needs --capacity N"),
        (("--load", "load.csv", "--capacity", "1", "--boot", "60"), 2, "is not a duration with a unit"),
        (("--load", "load.csv", "--capacity", "1", "--feed", "cpu=half"), 2, "expected COUNTER=utilisation or"),
        (("--load", "load.csv", "--capacity", "1", "--model", "shared-load"), 2, "a model of its own"),
        (("--series", "prometheus:http://127.0.0.1:9"), 2, "needs --since T and --until T"),
        (("--series", "series.csv", "--since", "noon"), 2, "'noon' is not an instant"),
        (("--series", "none.csv"), 1, "none.csv cannot be read"),
        (("--series", "series.csv", "--group", "shop"), 1, "there is no group shop; there are web"),
    ],
)
def test_what_cannot_be_done_is_reported(words: tuple[str, ...], code: int, message: str) -> None:
    done = replayed(*words)

    assert done.exit_code == code
    assert message in done.stderr


def test_the_worked_example_of_the_page_is_true() -> None:
    for name, text in re.findall(r"`(\S+\.(?:yaml|csv))`:\n\n```\w*\n(.*?)```", PAGE, re.DOTALL):
        Path(name).write_text(text)
    shown = re.findall(r"```console\n\$ trimtab (replay [^\n]*)\n(.*?)```", PAGE, re.DOTALL)

    assert len(shown) >= 2
    for command, output in shown:
        done = CliRunner().invoke(app, shlex.split(command))
        printed = [" ".join(line.split()) for line in (done.stdout + done.stderr).splitlines()]
        assert printed == [" ".join(line.split()) for line in output.splitlines()]
