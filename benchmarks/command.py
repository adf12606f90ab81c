"""How quickly the command line answers."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path


def run(part: int = 1) -> Iterator[tuple[str, float, str]]:
    """Whole-process times: `trimtab --help`, and Python itself for comparison."""
    trimtab, rounds = str(Path(sys.executable).parent / "trimtab"), max(7 // part, 1)
    yield f"python -c pass, median of {rounds}", _median([sys.executable, "-c", "pass"], rounds), "s"
    yield f"trimtab --help, median of {rounds}", _median([trimtab, "--help"], rounds), "s"


def _median(command: list[str], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
