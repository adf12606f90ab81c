"""Catch what libraries write to standard error, and log it.

gufo-snmp's Rust prints its panics to descriptor 2, in as many lines as it likes, whatever the format of the log. So the
log goes to a copy of that descriptor, and descriptor 2 is a pipe that is read here. It never blocks code that writes to
it: what does not fit is lost. Children of the daemon have outputs of their own, so none of them holds the pipe.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TextIO

from config.units import Seconds

_STDERR = 2
_AT_ONCE = 65536
_GATHERED: Seconds = 0.1
"""How long to wait for the rest of a burst after its first bytes."""
_APART: Seconds = 1.0
"""Between two lines of the log, so that no flood of messages fills it."""
_LONGEST = 300
_SHOWN = 2
"""The most lines of a burst that are logged; for a panic, its place and its message."""


@contextlib.contextmanager
def caught(log: Callable[..., None]) -> Iterator[TextIO]:
    """Catch what is written to descriptor 2 while the block runs; give a stream for the daemon's own output there.

    Python's own output, such as a final traceback, goes to that stream, too.

    Args:
        log: logs an event with its fields; from another thread.
    """
    python, kept = sys.stderr, os.dup(_STDERR)
    # The log uses it after the block, too, so the descriptor is open for as long as the process lives.
    stream = os.fdopen(kept, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
    source, sink = os.pipe()
    os.set_blocking(sink, False)
    python.flush()
    os.dup2(sink, _STDERR)
    os.close(sink)
    sys.stderr = stream
    over = threading.Event()
    reader = threading.Thread(target=_follow, args=(source, log, over), name="stray-output", daemon=True)
    reader.start()
    try:
        yield stream
    finally:
        over.set()
        os.dup2(kept, _STDERR)  # the pipe has no writer any more, so its reader ends
        reader.join(_APART)
        sys.stderr = python
        stream.flush()


def _follow(source: int, log: Callable[..., None], over: threading.Event) -> None:
    with os.fdopen(source, "rb", buffering=0) as pipe:
        while words := pipe.read(_AT_ONCE):
            over.wait(_GATHERED)
            os.set_blocking(source, False)
            words += pipe.read(_AT_ONCE) or b""
            os.set_blocking(source, True)
            log("stray_output", **fields_of(words))
            over.wait(_APART - _GATHERED)


def fields_of(words: bytes) -> dict[str, object]:
    r"""Return what was written, as fields of a line of the log.

    >>> fields_of(b"\nthread '<unnamed>' panicked at src/snmp/value.rs:147:68:\nnot yet written\nstack backtrace:\n")
    {'text': "thread '<unnamed>' panicked at src/snmp/value.rs:147:68: not yet written", 'lines': 3}
    """
    lines = [line for line in words.decode(errors="replace").splitlines() if line.strip()]
    return {"text": " ".join(lines[:_SHOWN])[:_LONGEST], "lines": len(lines)}
