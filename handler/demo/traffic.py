"""The load as a process of its own. A daemon that was killed is followed by one that reads on in the same report.

The report is a file of JSON lines. Whoever writes it holds a lock on it (flock, inherited with its standard output),
so that a lock which cannot be had says: a load is under way, and the process that the report names is it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from config.units import Seconds

_LOOK_EVERY: Seconds = 0.2
_END_WITHIN: Seconds = 5.0


class Traffic:
    """One day of load at a time, of this process or of the one before it."""

    def __init__(self, report: Path) -> None:
        self._report = report
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def under_way(self) -> bool:
        """Whether somebody sends requests and reports here."""
        try:
            with self._report.open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    async def day(self, *options: str) -> AsyncIterator[dict[str, Any]]:
        """Start a load with these options unless one is under way; every report, until its end.

        What was reported before somebody listened is given first.
        """
        self._start(options)
        with self._report.open() as file:
            while True:
                ended = not self.under_way
                for line in _whole_lines(file):
                    yield json.loads(line)
                if ended:
                    return
                await asyncio.sleep(_LOOK_EVERY)

    async def stop(self) -> None:
        """End the load that is under way, if any."""
        deadline = asyncio.get_running_loop().time() + _END_WITHIN
        while self.under_way and asyncio.get_running_loop().time() < deadline:
            first = self._report.read_text().partition("\n")
            if first[1]:  # else it has only just begun, and has not said who it is
                with contextlib.suppress(ProcessLookupError):
                    os.kill(json.loads(first[0])["pid"], signal.SIGTERM)
            await asyncio.sleep(_LOOK_EVERY / 4)
        self._reap()

    def _reap(self) -> None:
        """A child that has let go of the lock is at its very end."""
        if self._process is not None and not self.under_way:
            self._process.wait(_END_WITHIN)
            self._process = None

    def _start(self, options: Sequence[str]) -> None:
        self._reap()
        with self._report.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            file.truncate(0)
            command = [sys.executable, "-m", "handler.demo.load", *options, "--json"]
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL, start_new_session=True
            )


def _whole_lines(file: TextIO) -> list[str]:
    """What has come since, up to the last end of a line."""
    lines: list[str] = []
    while True:
        place = file.tell()
        line = file.readline()
        if not line.endswith("\n"):
            file.seek(place)
            return lines
        lines.append(line)
