"""Whether the daemon is ready: its loops run, groups are decided on time, and its store answers.

A group at rest writes nothing and reads nothing, so it does not notice that its store is away. The store is therefore
asked for one row every other second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from config.errors import StoreError
from config.units import Moment, Monotonic, Seconds
from handler import logs
from handler.ports.store import Store
from handler.runtime.group_runtime import GroupRuntime

_PATIENT: Seconds = 5.0
"""For how long an answer of the store is waited for, until it counts as away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonHealth:
    """Liveness and readiness."""

    ready: bool
    checks: Mapping[str, str]
    """Check → ``ok`` or what is wrong."""


class StoreWatch:
    """Asks the store again and again, and says when it is away and when it is back."""

    def __init__(self, store: Store, clock: Callable[[], Moment]) -> None:
        self._store, self._clock = store, clock
        self._asked: Monotonic | None = None
        self._problem = ""

    async def look(self) -> None:
        """Ask it once."""
        self._asked, before = self._clock().steady, self._problem
        try:
            await asyncio.to_thread(self._store.clock)
            self._problem = ""
        except StoreError as error:
            self._problem = str(error)
        finally:
            self._asked = None
        if self._problem and not before:
            logs.warn("store_away", error=self._problem)
        if before and not self._problem:
            logs.say("store_is_back")

    @property
    def problem(self) -> str:
        """Why it cannot be read; empty: it answered last time."""
        waited = 0.0 if self._asked is None else self._clock().steady - self._asked
        if waited > _PATIENT:
            return self._problem or f"the store has not answered for {waited:.0f} s"
        return self._problem


def health_of(
    runtimes: Iterable[GroupRuntime], loops: Iterable[asyncio.Task[None]], now: Moment, *, taken: bool, store: str
) -> DaemonHealth:
    """Ready when every loop runs, every group is decided on time, and the store answers.

    Args:
        runtimes: all groups.
        loops: the tasks that end only when the daemon does.
        now: this instant.
        taken: a declaration is in force.
        store: why the store cannot be read; empty: it can.
    """
    known = list(runtimes)
    dead = [task.get_name() for task in loops if task.done()]
    late = sorted(runtime.id for runtime in known if runtime.is_overdue(now.wall))
    unrecorded = next((runtime.unrecorded for runtime in known if runtime.unrecorded is not None), "")
    checks = {
        "catalogue": "ok" if taken else "not read yet",
        "loops": f"ended: {', '.join(dead)}" if dead else "ok",
        "decisions": f"late: {', '.join(late[:5])}" if late else "ok",
        "store": store or unrecorded or "ok",
    }
    return DaemonHealth(ready=all(check == "ok" for check in checks.values()), checks=checks)
