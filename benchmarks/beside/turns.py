"""`trimtab` as ``python -m benchmarks.beside.turns``: it notes the processor time of each turn of its event loop.

A turn is all that asyncio runs between two looks at its sockets: nothing else is served meanwhile. uvloop, which the
daemon has, does not let itself be measured, so asyncio's own loop runs here: its turns take longer, never shorter. Time
counts on the thread of the loop alone, so it is neither what other threads compute nor how busy the machine is.

USR1 forgets what was noted, and USR2 writes it, as milliseconds, into the file that ``TRIMTAB_TURNS`` names.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from array import array
from collections.abc import Coroutine
from pathlib import Path
from types import FrameType

VARIABLE = "TRIMTAB_TURNS"

_turns = array("f")


class _Watched(asyncio.SelectorEventLoop):
    def _run_once(self) -> None:
        began = time.thread_time()
        super()._run_once()  # type: ignore[misc]  # the one place where a turn begins and ends
        _turns.append(1000 * (time.thread_time() - began))


def _run(main: Coroutine[object, object, None]) -> None:
    with asyncio.Runner(loop_factory=_Watched) as runner:
        runner.run(main)


def _forget(number: int, frame: FrameType | None) -> None:
    del _turns[:]


def _write(number: int, frame: FrameType | None) -> None:
    whole = Path(os.environ[VARIABLE])
    part = whole.with_suffix(".part")
    part.write_bytes(_turns.tobytes())
    part.rename(whole)


def main() -> None:
    """Run the command that the arguments name."""
    import uvloop

    from handler.command import main as trimtab

    uvloop.run = _run  # type: ignore[assignment]  # all that the command uses of it
    signal.signal(signal.SIGUSR1, _forget)
    signal.signal(signal.SIGUSR2, _write)
    trimtab()


if __name__ == "__main__":
    main()
