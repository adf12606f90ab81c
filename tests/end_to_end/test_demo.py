"""The demo as `make run` starts it: side by side with another, and ended at any stage, with nothing left behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.daemon import typed
from tests.support.demo import listening
from tests.support.forking import forked
from tests.support.orchestrators import bearing
from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, Process, until

_UNDER_LOAD = r"\d members, load +[1-9]"


@dataclass
class Demo:
    """One demo, and what it printed."""

    place: Path
    options: tuple[str, ...]
    process: Process

    @property
    def log(self) -> Path:
        return self.place / "log"

    @property
    def state(self) -> Path:
        return self.place / "state"

    @property
    def members(self) -> list[int]:
        """Processes that bear the mark of this demo's installation: members, and what they start."""
        known = self.state / "installation"
        return bearing(f"TRIMTAB_INSTALLATION={known.read_text().strip()}") if known.exists() else []

    def says(self, pattern: str) -> None:
        """Wait until it has printed this."""
        until(lambda: self.has_shown(pattern), every=0.05, process=self.process, log=self.log)

    def has_shown(self, pattern: str) -> bool:
        return re.search(pattern, self.log.read_text()) is not None

    @property
    def lines(self) -> int:
        """How often it has told of the fleet."""
        return len(re.findall(r"\d members, load", self.log.read_text()))

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Its exit code after this signal, and all that it printed."""
        self.process.send_signal(number)
        return self.process.wait(PATIENT), self.log.read_text()

    def leaves_nothing(self) -> bool:
        """Whether neither a member, nor a listener, nor a load of it is left."""
        return not self.members and not _with_word(str(self.place))


def _with_word(word: str) -> list[int]:
    """Processes that have this in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and word.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


@contextlib.contextmanager
def a_demo(place: Path, *options: str, load: int | None = None) -> Iterator[Demo]:
    place.mkdir()
    chosen = ("--port", "0", "--load-port", str(load or free_tcp_port()), *options)
    with (place / "log").open("wb") as log:
        process = forked(("demo", "--state", place / "state", *chosen), os.environ, log)
    demo = Demo(place, chosen, process)
    try:
        yield demo
    finally:
        demo.process.kill()
        demo.process.wait()
        for pid in {*demo.members, *_with_word(str(place))}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_two_demos_run_side_by_side_and_ctrl_c_after_a_killed_member_ends_with_0(tmp_path: Path) -> None:
    with a_demo(tmp_path / "one") as one, a_demo(tmp_path / "other") as other:
        for demo in (one, other):
            demo.says(_UNDER_LOAD)
        victim = _leader(one)
        os.kill(victim, signal.SIGKILL)
        until(lambda: "forget" in _history(one), every=0.2)
        lines = one.lines
        until(lambda: one.lines > lines + 1, process=one.process, log=one.log)  # it reads the history before each line
        code, output = one.end()

        assert code == 0, output
        assert re.search(r"web-\w+-\d+ was lost and replaced: ended by signal 9", output)
        assert output.rstrip().endswith("ended; nothing is left running")
        until(one.leaves_nothing)
        assert len(other.members) >= 2
        assert other.end()[0] == 0
        until(other.leaves_nothing)


def _leader(demo: Demo) -> int:
    name = typed("status", "web", "--json", "--state", str(demo.state)).json["members"][0]["name"]
    return next(pid for pid in demo.members if f"TRIMTAB_MEMBER={name}" in _environment(pid))


def _environment(pid: int) -> str:
    return Path(f"/proc/{pid}/environ").read_text(errors="replace")


def _history(demo: Demo) -> str:
    return typed("history", "web", "--state", str(demo.state)).out


def test_a_demo_whose_daemon_was_killed_is_taken_over_by_the_next_one(tmp_path: Path) -> None:
    with a_demo(tmp_path / "place") as first:
        first.says(_UNDER_LOAD)
        first.process.kill()
        first.process.wait()
        before = set(first.members)
        with first.log.open("wb") as log:
            first.process = forked(("demo", "--state", first.state, *first.options), os.environ, log)
        first.says(_UNDER_LOAD)

        assert before <= set(first.members)
        code, output = first.end()
        assert (code, " 0 failed" in output.rpartition("the demo is over")[2]) == (0, True), output
        until(first.leaves_nothing)


_STAGES: dict[str, Callable[[Demo], bool]] = {
    "its state directory is made": lambda demo: (demo.state / "lock").exists(),
    "its daemon starts": lambda demo: (demo.state / "trimtab.sqlite").exists(),
    "its console is up": lambda demo: demo.has_shown("console and API"),
    "its first member starts": lambda demo: bool(demo.members),
}


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        *(pytest.param(stage, signal.SIGINT, id=f"INT, {name}") for name, stage in _STAGES.items()),
        pytest.param(_STAGES["its daemon starts"], signal.SIGTERM, id="TERM"),
        pytest.param(_STAGES["its first member starts"], signal.SIGHUP, id="HUP"),
    ],
)
def test_a_demo_that_is_ended_leaves_nothing(
    tmp_path: Path, stage: Callable[[Demo], bool], number: signal.Signals
) -> None:
    with a_demo(tmp_path / "place") as demo:
        until(lambda: stage(demo), every=0.005, process=demo.process, log=demo.log)
        code, output = demo.end(number)

        assert code == 0, output
        until(demo.leaves_nothing)


def test_a_load_port_that_is_taken_is_reported_at_once_and_nothing_is_started(tmp_path: Path) -> None:
    own, (_, port) = listening()
    with own, a_demo(tmp_path / "place", load=port) as demo:
        code, output = demo.process.wait(PATIENT), demo.log.read_text()

        assert code == 1
        assert f"127.0.0.1:{port}" in output
        assert "--load-port (make run LOAD_PORT=…)" in output
        assert demo.leaves_nothing()


def test_a_console_port_that_is_taken_is_reported_at_once_and_nothing_is_started(tmp_path: Path) -> None:
    own, (_, port) = listening()
    with own, a_demo(tmp_path / "place", "--port", str(port)) as demo:
        code, output = demo.process.wait(PATIENT), demo.log.read_text()

        assert code == 1
        assert f"127.0.0.1:{port}" in output
        assert "--port (make run PORT=…)" in output
        assert not demo.state.exists()
