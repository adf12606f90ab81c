"""Waiting on real processes: on a real condition, with a deadline."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

PATIENT = 180.0
"""Seconds that a test waits at most for what must happen. On a quiet machine it happens at once; a busy one takes its
time, and that is no defect of what is tested. Only what must *not* happen in time has a short deadline of its own."""


class Process(Protocol):
    """A process that we started: what `subprocess.Popen` and `tests.support.forking.Forked` have in common."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, number: int, /) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


_PART_OF_THE_WAIT = 0.05
"""What lasts is looked at less often: looking takes the processor from what is waited for."""


def scaled(seconds: float) -> float:
    """A deadline on a quiet machine, as long as it must be on this one now: by the processes that share a processor."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def until(
    holds: Callable[[], bool],
    *,
    within: float = PATIENT,
    every: float = 0.01,
    process: Process | None = None,
    log: Path | None = None,
) -> None:
    """Wait until the condition holds; fail with the log when the deadline passes or the process ends before.

    Args:
        holds: what is waited for.
        within: seconds that it may take on a quiet machine; a busy one has more.
        every: seconds between two looks at the beginning; later they are rarer.
        process: what must run meanwhile.
        log: what is shown of it if the wait fails.
    """
    began = time.monotonic()
    while not holds():
        waited = time.monotonic() - began
        ended = process is not None and process.poll() is not None
        if ended or (waited > within and waited > scaled(within)):
            output = log.read_text() if log is not None else ""
            raise AssertionError(f"{'the process ended' if ended else f'not within {waited:.0f} s'}: {output}")
        time.sleep(max(every, _PART_OF_THE_WAIT * waited))


@contextlib.contextmanager
def stopped(process: Process) -> Iterator[None]:
    """Stop a process that we started when the block ends, however it ends."""
    try:
        yield
    finally:
        stop(process)


def stop(process: Process) -> None:
    """Ask it to end, then end it."""
    process.terminate()
    try:
        process.wait(timeout=scaled(PATIENT))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=PATIENT)
