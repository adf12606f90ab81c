"""Progress of long commands: on standard error, and only on a terminal."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

Tell = Callable[[int, int], None]
"""Takes how much is done, and the total."""

_QUICK = 1.0
"""Seconds before a command shows that it waits."""


@contextlib.contextmanager
def progress(what: str) -> Iterator[Tell]:
    """Show a bar with percentage and time left while the block runs; it moves to and fro until a total is known."""
    if not sys.stderr.isatty():
        yield lambda done, of: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("left")
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that the command waits for something, once it takes more than a second."""
    if not sys.stderr.isatty():
        yield
        return
    shown = _Late(what)
    timer = threading.Timer(_QUICK, shown.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        shown.stop()


class _Late:
    """A line that may be stopped before it starts."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()
        self._status: Status | None = None
        self._over = False

    def start(self) -> None:
        """Show the line, unless it is over already."""
        from rich.console import Console

        with self._lock:
            if not self._over:
                self._status = Console(stderr=True).status(f"{self._what} …")
                self._status.start()

    def stop(self) -> None:
        """Remove the line."""
        with self._lock:
            self._over = True
            if self._status is not None:
                self._status.stop()
