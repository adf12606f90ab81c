"""How quickly the command line answers."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path


def run() -> Iterator[tuple[str, float, str]]:
    """Whole-process times: `trimtab --help`, and Python itself for comparison."""
    trimtab = str(Path(sys.executable).parent / "trimtab")
    yield "python -c pass, median of 7", _median([sys.executable, "-c", "pass"]), "s"
    yield "trimtab --help, median of 7", _median([trimtab, "--help"]), "s"


def _median(command: list[str]) -> float:
    times = []
    for _ in range(7):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return statistics.median(times)
