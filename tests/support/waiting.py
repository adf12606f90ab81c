"""Waiting on real processes: on a real condition, with a deadline."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PATIENT = 180.0
"""Seconds that a test waits at most for what must happen. On a quiet machine it happens at once; a busy one takes its
time, and that is no defect of what is tested. Only what must *not* happen in time has a short deadline of its own."""


def until(
    holds: Callable[[], bool],
    *,
    within: float = PATIENT,
    every: float = 0.01,
    process: subprocess.Popen[bytes] | None = None,
    log: Path | None = None,
) -> None:
    """Wait until the condition holds; fail with the log when the deadline passes or the process ends before."""
    deadline = time.monotonic() + within
    while not holds():
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > deadline:
            said = log.read_text() if log is not None else ""
            raise AssertionError(f"{'the process ended' if ended else f'not within {within} s'}: {said}")
        time.sleep(every)


@contextlib.contextmanager
def stopped(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Stop a process that we started when the block ends, however it ends."""
    try:
        yield
    finally:
        stop(process)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, then end it."""
    process.terminate()
    try:
        process.wait(timeout=PATIENT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=PATIENT)
