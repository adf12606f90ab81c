"""An event loop whose time stands still while anything moves, and jumps to the next timer when nothing does.

So patience costs nothing, however long it is in production, and an honest answer is never late because the machine is
busy: what a source's answer is stamped with is the delay that the script gave it, exactly. Sockets are real, and are
served in the same loop; what threads do for the loop is waited for.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")
_MOMENT = 0.01
"""Real seconds without any event after which time goes on: what is sent within one process has arrived by then."""
_STUCK = 20.0
"""Real seconds without any event, and without a timer, after which a test is not waited for."""


class _Selector(selectors.DefaultSelector):
    """Waits a moment instead of a timeout, and says how long was skipped."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0
        self.working = 0
        """Jobs that threads do for the loop; time waits for them."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            events = super().select(_STUCK)
            if not events:
                raise AssertionError("all tasks wait, and for no timer")
            return events
        if timeout <= 0:
            return super().select(0)
        events = super().select(_STUCK if self.working else min(timeout, _MOMENT))
        if not events:
            self.skipped += timeout
        return events


class StillLoop(asyncio.SelectorEventLoop):
    """Begins at second 1,000."""

    def __init__(self) -> None:
        self._still = _Selector()
        super().__init__(self._still)

    def time(self) -> float:
        return 1000.0 + self._still.skipped

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        done = super().run_in_executor(executor, func, *args)
        self.wait_for_another()
        done.add_done_callback(lambda _: self.wait_for_one_less())
        return done

    def wait_for_another(self) -> None:
        """Count one more worker outside the loop: time stands still while it works."""
        self._still.working += 1

    def wait_for_one_less(self) -> None:
        """Count one worker less: it is done, or waits itself."""
        self._still.working -= 1

    def pass_by(self, seconds: float) -> None:
        """Let time go on at once; timers that were due in between are due then."""
        self._still.skipped += seconds


def play(scene: Coroutine[Any, Any, _T]) -> _T:
    """Run a scene in a loop of its own."""
    with asyncio.Runner(loop_factory=StillLoop) as runner:
        return runner.run(scene)


def pass_by(seconds: float) -> None:
    """Let time go on in the running loop."""
    running().pass_by(seconds)


def running() -> StillLoop:
    """The running loop."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, StillLoop)
    return loop
