"""What a run of the benchmarks writes: one JSON file, by which runs are compared and the page of figures is made."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.report.figures import OURS, Bound, Figure, Goal, Measured, NotMeasured

_PEERS = ("prometheus", "prometheus-snmp-exporter", "snmpd", "haproxy", "hey")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """On what was measured."""

    processor: str
    cores: int
    memory: int
    """MiB"""
    system: str
    python: str
    programs: Mapping[str, str]
    """Versions of the programs that were measured beside us, or that we were measured with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Benched:
    """One benchmark's run: ``load`` is how many processes wanted the machine, one minute's mean before and after."""

    at: str
    seconds: float
    cpu: float
    memory: float
    load: tuple[float, float]
    figures: tuple[Measured, ...]
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The last run of each benchmark on a machine."""

    machine: Machine
    benches: Mapping[str, Benched] = field(default_factory=dict)

    def with_one(self, name: str, benched: Benched) -> Results:
        """The same with one benchmark run anew."""
        return replace(self, benches=dict(sorted({**self.benches, name: benched}.items())))


def this_machine() -> Machine:
    """Look at the machine that measures."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory=memory,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        programs={program: version for program in _PEERS if (version := _version(program))},
    )


def _processor() -> str:
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor()


def _version(program: str) -> str:
    """The first thing like a version that a program says of itself; empty: it is not installed, or says none."""
    if shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
        return ""
    if program == "hey":  # says none
        return "installed"
    asked = subprocess.run([program, "-v" if program in {"haproxy", "snmpd"} else "--version"],
                           capture_output=True, text=True, check=False, timeout=10)  # fmt: skip
    found = re.search(r"\d+\.\d+[\w.]*", asked.stdout + asked.stderr)
    return found[0] if found else "installed"


# JSON


def written(results: Results) -> str:
    """Write results as JSON, one figure a line's worth of keys, readable in a difference."""
    benches = {name: _bench_out(benched) for name, benched in results.benches.items()}
    return json.dumps({"machine": asdict(results.machine), "benches": benches}, indent=1, ensure_ascii=False) + "\n"


def read(text: str) -> Results:
    """Read what `written` wrote.

    Raises:
        ValueError, KeyError, TypeError: the text is something else.
    """
    document = json.loads(text)
    benches = {name: _bench_in(benched) for name, benched in document["benches"].items()}
    return Results(machine=Machine(**document["machine"]), benches=benches)


def _bench_out(benched: Benched) -> dict[str, Any]:
    return {
        "at": benched.at, "seconds": round(benched.seconds, 1), "cpu": round(benched.cpu, 1),
        "memory": round(benched.memory, 1), "load": [round(each, 2) for each in benched.load], "error": benched.error,
        "figures": [measured_out(each) for each in benched.figures],
    }  # fmt: skip


def _bench_in(document: Mapping[str, Any]) -> Benched:
    before, after = document["load"]
    figures = tuple(measured_in(each) for each in document["figures"])
    return Benched(**{**document, "load": (before, after), "figures": figures})


def measured_out(measured: Measured) -> dict[str, Any]:
    """One figure as JSON has it; figures are rounded to five places that count."""
    if isinstance(measured, NotMeasured):
        return {"job": measured.job, "by": measured.by, "because": measured.because}
    out: dict[str, Any] = {"job": measured.job, "by": measured.by, "unit": measured.unit}
    out["samples"] = [float(f"{each:.5g}") for each in measured.samples]
    if measured.memory:
        out["memory"] = [round(each, 1) for each in measured.memory]
    if measured.goal:
        out["goal"] = {"bound": measured.goal.bound.value, "value": measured.goal.value}
    return out


def measured_in(document: Mapping[str, Any]) -> Measured:
    """Read what `measured_out` wrote."""
    if "because" in document:
        return NotMeasured(job=document["job"], because=document["because"], by=document["by"])
    goal = document.get("goal")
    return Figure(
        job=document["job"],
        by=document.get("by", OURS),
        unit=document["unit"],
        samples=tuple(document["samples"]),
        memory=tuple(document.get("memory", ())),
        goal=Goal(Bound(goal["bound"]), goal["value"]) if goal else None,
    )
