"""What a process costs its machine: memory and processor time, of this one or another."""

from __future__ import annotations

import os
import re
from pathlib import Path


def resident(pid: int | str = "self") -> float:
    """Resident memory of a process, in MiB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None, f"process {pid} has ended"
    return int(found[1]) / 1024


def processor(pid: int) -> float:
    """Seconds of processor time that another process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
