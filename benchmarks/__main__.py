"""`make bench`: run the benchmarks that a goal names, all of them, or one, and print and keep their figures.

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
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from benchmarks.report import results, text
from benchmarks.report.figures import Figure, Measured, once
from benchmarks.report.listing import module_of, names, with_goals
from benchmarks.report.results import Benched, Results

FILE = Path(".trimtab-bench/figures.json")
_ALL = "all"
_ALONE = "--alone"
_BY_PROCESSOR = (
    "replay", "daemon", "decide", "check", "plan", "growth", "forecast", "store", "converge", "databases", "aggregate",
)  # fmt: skip
"""Benchmarks that take one core, and whose goals are processor seconds, memory or bytes of their own processes.

Two of them run at the same time, each kept to a core of its own; the longest come first. All others run alone.
"""


def measured(name: str, part: int = 1) -> Iterator[Measured]:
    """Run one benchmark, or a part of it, in this process."""
    for found in importlib.import_module(module_of(name)).run(part):
        yield found if not isinstance(found, tuple) else once(*found)


def main() -> int:
    if sys.argv[1:2] == [_ALONE]:
        return _alone(sys.argv[2], [int(core) for core in sys.argv[3:]])
    chosen = names() if sys.argv[1:] == [_ALL] else sys.argv[1:] or with_goals()
    if unknown := set(chosen) - set(names()):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(names())}, and {_ALL} for each")
        return 2
    kept = _kept()
    print(_described(kept))
    began, failed = time.monotonic(), []
    for name, benched in _benched(chosen):
        kept = kept.with_one(name, benched)
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(results.written(kept))
        failed += [name] if benched.error else []
    print(f"\n{len(chosen)} benchmarks in {time.monotonic() - began:.0f} s; figures in {FILE}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


def paired(chosen: Collection[str], cores: int) -> list[str]:
    """Return the benchmarks that run two at a time, in their order; none where only one of them was chosen.

    >>> paired(["check", "rules", "replay"], cores=2)
    ['replay', 'check']
    """
    found = [name for name in _BY_PROCESSOR if name in chosen]
    return found if len(found) > 1 and cores > 1 else []


def _benched(chosen: Sequence[str]) -> Iterator[tuple[str, Benched]]:
    """Run benchmarks, and yield each as it ends."""
    cores = _cores()
    together = paired(chosen, len(cores))
    for name in chosen:
        if name not in together:
            yield name, _in_its_own_process(name)
    if not together:
        return
    print(f"\ntwo at a time, each on a core of its own: {', '.join(together)}", flush=True)
    free = SimpleQueue[int]()
    for core in cores[:2]:
        free.put(core)
    with ThreadPoolExecutor(2) as pool:
        running = {pool.submit(_on_a_free_core, name, free): name for name in together}
        for done in as_completed(running):
            yield running[done], done.result()


def _on_a_free_core(name: str, free: SimpleQueue[int]) -> Benched:
    core = free.get()
    try:
        return _in_its_own_process(name, core)
    finally:
        free.put(core)


def _cores() -> list[int]:
    """The cores that this process may use; none where a process cannot be kept to one (Linux can)."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


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


def _in_its_own_process(name: str, core: int | None = None) -> Benched:
    """Run one benchmark; on one core where it has company, and then its lines are printed together at its end."""
    at, began, before = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic(), os.getloadavg()[0]
    lines = list[str]()
    show = partial(print, flush=True) if core is None else lines.append
    show(f"\n{name}")
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", _ALONE, name, *([] if core is None else [str(core)])],
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert process.stdout is not None
    figures = list[Measured]()
    for line in process.stdout:
        if not line.startswith("{"):
            show(line.rstrip("\n"))
            continue
        figures.append(results.measured_in(json.loads(line)))
        show(text.line(figures[-1]))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    error = "" if process.returncode == 0 and figures else f"ended with {process.returncode}"
    benched = Benched(
        at=at,
        seconds=time.monotonic() - began,
        cpu=used.ru_utime + used.ru_stime,
        memory=used.ru_maxrss / 1024,
        load=(before, os.getloadavg()[0]),
        figures=tuple(figures),
        error=error,
    )
    show(text.summary(benched))
    if lines:
        print("\n".join(lines), flush=True)
    return benched


def _alone(name: str, cores: Sequence[int]) -> int:
    """Yield figures to the process that asked, a line of JSON each; on these cores alone, if any are given."""
    if cores:
        os.sched_setaffinity(0, cores)
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
