"""What a process costs its machine: memory and processor time, of this one or another."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path


def resident(pid: int | str = "self") -> float:
    """Resident memory of a process, in MiB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None, f"process {pid} has ended"
    return int(found[1]) / 1024


def processor(pid: int) -> float:
    """Seconds of processor time that another process has had."""
    return sum(_spans(pid)[:2])


def processor_of_all(pids: Iterable[int]) -> float:
    """Seconds of processor time that these processes have had, and the children of theirs that have ended."""
    found = 0.0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError):
            found += sum(_spans(pid))
    return found


def _spans(pid: int) -> tuple[float, ...]:
    """Seconds of user and system time, of the process and of its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return tuple(int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in fields[11:15])
