"""A program that survives the kill of its demo, and that the next demo finds again.

It holds a lock (flock, inherited with its standard output) on its output file, so a lock that is taken shows that it
runs; its pid is in a file beside.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from config.units import Seconds

_LOOK_EVERY: Seconds = 0.05
_END_WITHIN: Seconds = 5.0


class Outliving:
    """One program at a time, started by this process or by an earlier one."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self._pid = output.with_suffix(".pid")
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def under_way(self) -> bool:
        """Tell whether it runs."""
        try:
            with self.output.open() as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    def start(self, command: Sequence[str]) -> None:
        """Start it, with an empty output, unless it runs already."""
        self._reap()
        with self.output.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            file.truncate(0)
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
            )
            self._pid.write_text(f"{self._process.pid}\n")

    async def stop(self) -> None:
        """End it if it runs, whichever process started it."""
        deadline = asyncio.get_running_loop().time() + _END_WITHIN
        while self.under_way and asyncio.get_running_loop().time() < deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(self._pid.read_text()), signal.SIGTERM)
            await asyncio.sleep(_LOOK_EVERY)
        self._reap()

    def _reap(self) -> None:
        """Reap the child, which is ending once it has released the lock."""
        if self._process is not None and not self.under_way:
            self._process.wait(_END_WITHIN)
            self._process = None
