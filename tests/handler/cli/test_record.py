from __future__ import annotations

import csv
import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.support.daemon import TRIMTAB, Daemon, a_daemon
from tests.support.waiting import until

MODEL = """\
counters: {cpu: {snmp: 1.3.6.1.4.1.2021.11.9.0, range: [0, 100]}}
conditions: {busy: {counter: cpu, above: 80}}
policies: {out: {when: [busy], add: 1}}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [sleep, "3600"], snmp: {port: 16999}}}
groups:
  web: {profile: web, min: 2, max: 4, interval: 0.5s, warm_up: 0s, drain: 0s, grace: 1s, policies: [out]}
"""


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    with a_daemon(MODEL) as daemon:
        daemon.start()
        daemon.settled(2)
        daemon.json("record", "on")
        until(lambda: bool(series(daemon)))
        daemon.json("record", "off")
        yield daemon


def series(daemon: Daemon, *options: str) -> list[dict[str, str]]:
    result = daemon.trimtab("export", "series", *options)
    assert result.code == 0, result
    return list(csv.DictReader(io.StringIO(result.out)))


def test_samples_of_a_daemon_are_kept_through_a_kill(daemon: Daemon, tmp_path: Path) -> None:
    at_first = len(series(daemon))
    daemon.json("record", "on", "--for", "1h")
    until(lambda: len(series(daemon)) >= at_first + 4)
    before = series(daemon)
    daemon.stop(signal.SIGKILL)
    after = series(daemon)

    assert after[: len(before)] == before
    assert {(row["group"], row["counter"], row["value"]) for row in after if row["counter"]} == {("web", "cpu", "")}
    assert {row["reply"] for row in after} <= {"refused", "timeout", "nobody"}

    daemon.start()
    assert daemon.json("record", "status")["on"] is True
    until(lambda: len(series(daemon)) > len(after) + 2)
    samples = int(_metric(daemon, "trimtab_recording_samples_total"))
    assert samples > 0
    assert _metric(daemon, "trimtab_recording_dropped_ticks_total") == 0
    assert _metric(daemon, "trimtab_recording") == 1

    daemon.json("record", "off")
    assert daemon.json("record", "status")["on"] is False
    done = len(series(daemon))
    out = tmp_path / "web.parquet"
    summary = daemon.json("export", "series", "--format", "parquet", "--out", str(out))
    assert (summary["rows"], summary["remarks"]) == (done, [])
    assert pq.read_metadata(out).num_rows == done
    assert series(daemon, "--group", "other") == []
    assert series(daemon, "--until", "2020-01-01") == []


def _metric(daemon: Daemon, name: str) -> float:
    text = daemon.get("/metrics").text
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} "))


def test_events_tell_sizes_acts_and_members(daemon: Daemon, tmp_path: Path) -> None:
    daemon.json("pause", "web", "--decisions")
    daemon.json("resume", "web")
    out = tmp_path / "events.csv"

    summary = daemon.json("export", "events", "--group", "web", "--out", str(out))

    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert summary["events"] == len(rows)
    assert {("note", "pause"), ("member", "in_service"), ("decision", "first_listing")} <= {
        (row["kind"], row["name"]) for row in rows
    }
    assert rows[-1]["in_service"] == "2"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("record", "on", "--for", "soon"), 2, "a duration with a unit"),
        (("export", "series", "--json"), 2, "--out"),
        (("export", "series", "--since", "yesterday"), 2, "is not an instant"),
        (("export", "series", "--out", "/nowhere/at/all.csv"), 1, "cannot be written"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(daemon: Daemon, words: tuple[str, ...], code: int, message: str) -> None:
    answer = daemon.trimtab(*words)

    assert (answer.code, message in answer.err) == (code, True), answer


def test_where_nothing_was_ever_recorded_that_is_reported(tmp_path: Path) -> None:
    done = subprocess.run(
        [TRIMTAB, "export", "series", "--state", tmp_path], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert "trimtab record on" in done.stderr


def test_a_reader_who_has_had_enough_is_no_error(daemon: Daemon) -> None:
    command = f"{TRIMTAB} export series --state {daemon.state} | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    assert done.stdout.startswith("timestamp,group,member,counter,value,")
    assert done.stderr == ""


def test_the_library_for_columns_is_loaded_only_by_commands_that_need_it() -> None:
    program = "import sys, handler.cli.main, handler.daemon.wiring; sys.exit('pyarrow' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_writing_and_reading_does_without_pandas(tmp_path: Path) -> None:
    """It is installed beside Arrow, and loaded by the more convenient ways of the latter: 60 MB, and a long hold."""
    program = (
        "import sys; from pathlib import Path; from tests.support.recording import *;"
        "r = Recorded(Path(sys.argv[1]), Recording(whole=60.0), clock=lambda: at(7200));"
        "r.write(*(((WEB,), a_scrape(at(n * 3600.0), a_layout())) for n in range(3)));"
        "assert len(r.files) == 3 and r.rows(); sys.exit('pandas' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program, tmp_path], check=False, cwd=Path(__file__).parents[3])
    assert done.returncode == 0


def test_the_api_describes_the_recording(daemon: Daemon) -> None:
    answer = daemon.get("/api/v1/recording")

    assert answer.status == 200
    assert set(json.loads(answer.text)) >= {"on", "declared", "until", "bytes", "budget", "dropped_ticks"}
    assert daemon.ask("PUT", "/api/v1/recording", {"on": True}).status in {401, 403}
    assert daemon.ask("PUT", "/api/v1/recording", {"on": True, "for_s": -1}, unix=True).status == 422
