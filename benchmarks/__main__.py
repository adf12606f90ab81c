"""`make bench`: run every benchmark of this folder, or those that are named, and print and keep their figures.

Each benchmark runs in a process of its own, so that none meets the memory of another. Figures are medians of rounds
within one run; what they are compared with is measured in the same run. They are kept as JSON in ``.trimtab-bench``,
from which `make performance` makes docs/performance.md. A benchmark that fails is named, with its error, and the others
still run; the exit code is 1 then. Trust ratios and processor seconds more than seconds by the clock.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.report import results, text
from benchmarks.report.figures import Figure, Measured, once
from benchmarks.report.results import Benched, Results

FILE = Path(".trimtab-bench/figures.json")
_ALONE = "--alone"


def names() -> list[str]:
    """Every benchmark, by module name."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def measured(name: str, part: int = 1) -> Iterator[Measured]:
    """Run one benchmark, or a part of it, in this process."""
    for found in importlib.import_module(f"benchmarks.{name}").run(part):
        yield found if not isinstance(found, tuple) else once(*found)


def main() -> int:
    if sys.argv[1:2] == [_ALONE]:
        return _alone(sys.argv[2])
    chosen = sys.argv[1:] or names()
    if unknown := set(chosen) - set(names()):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(names())}")
        return 2
    kept = _kept()
    print(_described(kept))
    began, failed = time.monotonic(), []
    for number, name in enumerate(chosen, start=1):
        print(f"\n{name} ({number} of {len(chosen)})", flush=True)
        benched = _in_its_own_process(name)
        kept = kept.with_one(name, benched)
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(results.written(kept))
        failed += [name] if benched.error else []
        print(f"  ({benched.seconds:.0f} s, {benched.cpu:.1f} CPU-s, {benched.memory:,.0f} MiB at most, load "
              f"{benched.load[0]:.1f} before and {benched.load[1]:.1f} after)", flush=True)  # fmt: skip
    print(f"\n{len(chosen)} benchmarks in {time.monotonic() - began:.0f} s; figures in {FILE}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


def _kept() -> Results:
    """The figures of earlier runs, if they are of this machine and these programs."""
    machine = results.this_machine()
    try:
        earlier = results.read(FILE.read_text())
    except (OSError, ValueError, KeyError, TypeError):
        return Results(machine=machine)
    return earlier if earlier.machine == machine else Results(machine=machine)


def _described(kept: Results) -> str:
    machine = kept.machine
    programs = "".join(f", {name} {version}" for name, version in machine.programs.items())
    return (
        f"{machine.processor}, {machine.cores} cores, {machine.memory:,} MiB; {machine.system}, Python "
        f"{machine.python}{programs}; load {os.getloadavg()[0]:.1f}"
    )


def _in_its_own_process(name: str) -> Benched:
    at, began, before = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic(), os.getloadavg()[0]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", _ALONE, name], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdout is not None
    figures = list[Measured]()
    for line in process.stdout:
        if not line.startswith("{"):
            print(line.rstrip("\n"), flush=True)
            continue
        figures.append(results.measured_in(json.loads(line)))
        print(text.line(figures[-1]), flush=True)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    error = "" if process.returncode == 0 and figures else f"ended with {process.returncode}"
    return Benched(
        at=at,
        seconds=time.monotonic() - began,
        cpu=used.ru_utime + used.ru_stime,
        memory=used.ru_maxrss / 1024,
        load=(before, os.getloadavg()[0]),
        figures=tuple(figures),
        error=error,
    )


def _alone(name: str) -> int:
    """Yield figures to the process that asked, a line of JSON each."""
    try:
        for found in measured(name):
            assert not isinstance(found, Figure) or found.samples, found
            print(json.dumps(results.measured_out(found)), flush=True)
    except Exception:  # noqa: BLE001 the other benchmarks are measured all the same
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
