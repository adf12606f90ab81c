"""Processor seconds and memory of a job: in this process, in one of its own, or of a whole command."""

from __future__ import annotations

import gc
import os
import re
import resource
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

from benchmarks.report.figures import OURS, ROUNDS, Figure, Goal

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a job took: seconds of processor (user and system, all threads), seconds by the clock, MiB at most."""

    cpu: float
    wall: float
    memory: float


def cost_of(work: Callable[[], object]) -> Cost:
    """Do a job in this process. Its memory is that of the process, at most, while the job ran."""
    gc.collect()
    forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(cpu=time.process_time() - cpu, wall=time.perf_counter() - wall, memory=peak())


def rounds(work: Callable[[], object], count: int = ROUNDS) -> tuple[Cost, ...]:
    """Do a job several times in this process."""
    return tuple(cost_of(work) for _ in range(count))


def apart(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of a module in a process of its own, whose memory is only what the function needs."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(work, *args, **kwargs).result()


def command(argv: Sequence[str]) -> Cost:
    """Run a program to its end, its output thrown away; its own processor time and memory, as the kernel counts them.

    Raises:
        RuntimeError: it ended with an error.
    """
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(argv)} ended with {process.returncode}")
    took = time.perf_counter() - began
    return Cost(cpu=used.ru_utime + used.ru_stime, wall=took, memory=used.ru_maxrss / 1024)


def processor_figure(job: str, costs: Iterable[Cost], *, by: str = OURS, goal: Goal | None = None) -> Figure:
    """The processor seconds of some rounds, with their memory."""
    costs = tuple(costs)
    cpu, memory = tuple(each.cpu for each in costs), tuple(each.memory for each in costs)
    return Figure(job=job, unit="CPU-s", samples=cpu, memory=memory, by=by, goal=goal)


def forget_peak() -> None:
    """Let the kernel count the most resident memory of this process anew, where it can (Linux)."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """MiB that were resident in this process, at most, since `forget_peak`; elsewhere since it began."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    except OSError:
        found = None
    return (int(found[1]) if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024
