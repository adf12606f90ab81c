"""What a person sees on a real terminal while a command takes long, and what a pipe does not get."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import TRIMTAB
from tests.support.waiting import PATIENT, scaled

_MODEL = """\
counters: {cpu: {push: CPU, unit: percent, range: [0, 100]}}
conditions: {busy: {counter: cpu, above: 70}}
policies: {out: {when: [busy], add: 1, quiet_time: 5m}}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [sleep, "60"]}}
groups: {web: {profile: web, min: 1, max: 9, interval: 10s, policies: [out]}}
"""


def on_a_terminal(*command: str, open_until: str = "") -> tuple[str, str]:
    """Standard output in a file, and what a terminal showed of standard error.

    Standard input ends as soon as the terminal shows ``open_until``.
    """
    leader, follower = pty.openpty()
    shown, env, given = b"", {**os.environ, "TERM": "xterm"}, subprocess.PIPE
    with (
        tempfile.TemporaryFile() as printed,
        subprocess.Popen(command, stdin=given, stdout=printed, stderr=follower, env=env) as run,
    ):
        os.close(follower)
        assert run.stdin is not None
        if not open_until:
            run.stdin.close()
        for piece in _pieces(leader):
            shown += piece
            if open_until.encode() in shown:
                run.stdin.close()
        os.close(leader)
        assert run.wait(timeout=scaled(PATIENT)) == 0, shown.decode()
        printed.seek(0)
        return printed.read().decode(), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


def _pieces(leader: int) -> Iterator[bytes]:
    """All that is written to the terminal until no program has it any more."""
    with contextlib.suppress(OSError):  # EIO says so
        while piece := os.read(leader, 65536):
            yield piece


@pytest.fixture
def load(tmp_path: Path) -> tuple[str, str]:
    """A file, and a load of half a day: a second of replay or two."""
    model, trace = tmp_path / "model.yaml", tmp_path / "trace.csv"
    model.write_text(_MODEL)
    rows = (f"{hour * 3600},{100 + 50 * (hour % 12)}" for hour in range(12))
    trace.write_text("timestamp_s,rate\n" + "\n".join(rows) + "\n")
    return str(model), str(trace)


def test_a_long_replay_shows_percentage_and_time_left_on_a_terminal_only(load: tuple[str, str]) -> None:
    model, trace = load
    command = (str(TRIMTAB), "replay", model, "--load", trace, "--capacity", "100", "--json")

    printed, shown = on_a_terminal(*command)
    piped = subprocess.run(command, capture_output=True, text=True, timeout=scaled(PATIENT), check=True)

    assert "replaying model.yaml" in shown
    percentages = [int(found) for found in re.findall(r"(\d+)%", shown)]
    assert percentages == sorted(percentages)
    assert any(0 < each < 100 for each in percentages), shown
    assert re.search(r"\d:\d\d:\d\d left", shown)
    assert printed == piped.stdout
    assert piped.stderr == ""


_WAITS = """
import select
import sys
from handler.cli.progress import waiting
with waiting("waiting for the daemon"):
    select.select([sys.stdin], [], [], SECONDS)
"""


def test_what_is_awaited_for_long_is_named_and_what_comes_at_once_is_not() -> None:
    command = (sys.executable, "-c", _WAITS.replace("SECONDS", str(scaled(PATIENT))))

    assert "waiting for the daemon" in on_a_terminal(*command, open_until="waiting for the daemon")[1]
    assert on_a_terminal(*command)[1] == ""
