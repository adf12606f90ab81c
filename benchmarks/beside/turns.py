"""`trimtab`, with a book of how much processor time each turn of its event loop takes: ``python -m benchmarks.beside.turns``.

A turn is all that asyncio runs between two looks at its sockets: nothing else is served meanwhile. uvloop, which the
daemon has, does not let itself be measured, so asyncio's own loop runs here: its turns take longer, never shorter. Time
counts on the thread of the loop alone, so it is neither what other threads compute nor how busy the machine is.

USR1 begins the book anew, and USR2 writes it, as milliseconds, into the file that ``TRIMTAB_TURNS`` names.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from array import array
from asyncio.base_events import BaseEventLoop
from pathlib import Path
from types import FrameType

VARIABLE = "TRIMTAB_TURNS"

_turns = array("f")


def _watched(run_once: object) -> object:
    def one(loop: BaseEventLoop) -> None:
        began = time.thread_time()
        run_once(loop)  # type: ignore[operator]
        _turns.append(1000 * (time.thread_time() - began))

    return one


def _begin(number: int, frame: FrameType | None) -> None:
    del _turns[:]


def _write(number: int, frame: FrameType | None) -> None:
    whole = Path(os.environ[VARIABLE])
    part = whole.with_suffix(".part")
    part.write_bytes(_turns.tobytes())
    part.rename(whole)


def main() -> None:
    """Run the command of the arguments."""
    import uvloop

    from handler.command import main as trimtab

    BaseEventLoop._run_once = _watched(BaseEventLoop._run_once)  # type: ignore[attr-defined]
    uvloop.run = asyncio.run
    signal.signal(signal.SIGUSR1, _begin)
    signal.signal(signal.SIGUSR2, _write)
    trimtab()


if __name__ == "__main__":
    main()
