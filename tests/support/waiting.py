"""Waiting on real processes: on a real condition, with a deadline."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path


def until(
    holds: Callable[[], bool],
    *,
    within: float = 30.0,
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
        process.wait(timeout=2.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=5.0)
