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


def on_a_terminal(*command: str) -> tuple[str, str]:
    """Standard output in a file, and what a terminal showed of standard error."""
    leader, follower = pty.openpty()
    with tempfile.TemporaryFile() as printed:
        run = subprocess.Popen(command, stdout=printed, stderr=follower, env={**os.environ, "TERM": "xterm"})
        os.close(follower)
        shown = b"".join(_pieces(leader))
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


_SLOW = """
import time
from handler.cli.progress import waiting
with waiting("waiting for the daemon"):
    time.sleep(SECONDS)
"""


def test_what_is_awaited_for_long_is_named_and_what_comes_at_once_is_not() -> None:
    def shown(seconds: str) -> str:
        return on_a_terminal(sys.executable, "-c", _SLOW.replace("SECONDS", seconds))[1]

    assert "waiting for the daemon" in shown("1.5")
    assert shown("0") == ""
