"""The load, as a process of its own that reports in JSON lines. It goes on while the demo is down."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TextIO

from config.units import Seconds
from handler.demo.ending import Outliving

_LOOK_EVERY: Seconds = 0.2


class DemoTraffic:
    """One day of load at a time, of this demo or of one that was killed."""

    def __init__(self, report: Path) -> None:
        self._program = Outliving(report)

    @property
    def under_way(self) -> bool:
        """Whether a load runs that reports here."""
        return self._program.under_way

    async def day(self, *options: str) -> AsyncIterator[dict[str, Any]]:
        """Start a load with these options unless one runs; yield every report, until its end.

        Earlier reports come first.
        """
        self._program.start([sys.executable, "-m", "handler.demo.load", *options, "--json"])
        with self._program.output.open() as file:
            while True:
                ended = not self.under_way
                for line in _whole_lines(file):
                    if line.startswith("{"):  # else it is an error message
                        yield json.loads(line)
                if ended:
                    return
                await asyncio.sleep(_LOOK_EVERY)

    async def stop(self) -> None:
        """End the running load, if any."""
        await self._program.stop()


def _whole_lines(file: TextIO) -> list[str]:
    """Return the new complete lines."""
    lines: list[str] = []
    while True:
        place = file.tell()
        line = file.readline()
        if not line.endswith("\n"):
            file.seek(place)
            return lines
        lines.append(line)
