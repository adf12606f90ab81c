"""Trimtab is killed with KILL at every instant of a scale-out and a scale-in of real processes, and started again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.kill_points import SIZES
from tests.support.ports import free_tcp_port

_LANES = 2
"""Enumerators side by side: lane k takes every second instant from k on."""

_INSTANTS_AT_MOST = 400


@pytest.fixture
def place() -> Iterator[Path]:
    """A short path (unix sockets allow no long one), in memory where possible: hundreds of daemons are started."""
    memory = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="tt", dir=memory if os.access(memory, os.W_OK) else None))
    yield place
    shutil.rmtree(place, ignore_errors=True)


def _lane(first: int, place: Path) -> list[dict[str, Any]]:
    place.mkdir()
    command = [sys.executable, "-m", "tests.support.kill_points", str(place), str(free_tcp_port())]
    lives = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as enumerator:
        assert enumerator.stdin is not None
        assert enumerator.stdout is not None
        for deadly in range(first, _INSTANTS_AT_MOST, _LANES):
            enumerator.stdin.write(f"{deadly}\n")
            lives.append(json.loads(enumerator.stdout.readline()))
            if lives[-1]["survived"]:
                break
        enumerator.stdin.close()
    return lives


def test_killed_at_any_instant_of_growing_and_shrinking_nothing_is_lost_doubled_or_wrongly_removed(place: Path) -> None:
    with ThreadPoolExecutor(_LANES) as lanes:
        ran = list(lanes.map(_lane, count(), [place / str(lane) for lane in range(_LANES)]))
    lives = sorted((life for lane in ran for life in lane), key=lambda life: life["at"])

    died = [life for life in lives if not life["survived"]]
    assert [life["at"] for life in died] == list(range(len(died))), "an instant was left out"
    assert len(died) > 40
    assert all(lane[-1]["survived"] for lane in ran), "there are instants beyond those that were tried"

    for life in lives:
        at, found = life["at"], life["found"]
        assert life["second"] == 0, f"killed at {at}: did not converge again"
        assert life["survived"] or os.WTERMSIG(life["first"]) == signal.SIGKILL
        assert found["desired"] in SIZES
        assert len(found["processes"]) == found["desired"], f"killed at {at}: {found}"
        assert found["processes"] == found["remembered"] == found["serving"] == found["registered"], f"killed at {at}"
        assert set(found["destroyed"]) <= set(found["chosen"]), f"killed at {at}: destroyed without being chosen"
        assert found["quiet"] == [4e9], f"killed at {at}: the quiet time was forgotten"
