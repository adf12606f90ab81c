"""Ending sessions: every process gets a signal to stop, and is killed when its grace is over."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from config.units import Instant, Seconds
from handler.orchestrators.process import children, procfs

_LOOK_EVERY: Seconds = 0.25


class ProcessDepartures:
    """Sessions that this object is stopping. A thread watches them as long as there are any.

    Nothing is stored: after a restart, a member that still runs is destroyed again, with a new grace.
    """

    def __init__(self, clock: Callable[[], Instant]) -> None:
        self._clock = clock
        self._kill_at: dict[procfs.Process, Instant] = {}
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def begin(self, leader: procfs.Process, grace: Seconds) -> None:
        """Signal a session to stop, once; of repeated calls, the shortest grace counts.

        Raises:
            PermissionError: a process of it belongs to another user; all others were signalled.
        """
        leader = _identity(leader)
        with self._lock:
            earlier = self._kill_at.get(leader)
            limit = self._clock() + grace
            self._kill_at[leader] = Instant(limit if earlier is None else min(earlier, limit))
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="departures", daemon=True)
                self._watcher.start()
        if earlier is None:
            _send(procfs.session(leader, procfs.census()), signal.SIGTERM)

    def leaving(self, leader: procfs.Process) -> bool:
        """Return whether this session is stopping."""
        with self._lock:
            return _identity(leader) in self._kill_at

    def _watch(self) -> None:
        pause = threading.Event()
        while True:
            children.reap()
            with self._lock:
                leaders = tuple(self._kill_at)
                if not leaders:
                    self._watcher = None
                    return
            self._attend(leaders)
            pause.wait(_LOOK_EVERY)

    def _attend(self, leaders: tuple[procfs.Process, ...]) -> None:
        with suppress(OSError):  # not visible now
            counted = procfs.census()
            for leader in leaders:
                with suppress(OSError):  # a process of another user keeps no other session from its end
                    self._press(leader, counted)

    def _press(self, leader: procfs.Process, counted: Mapping[int, tuple[int, ...]]) -> None:
        """Kill processes past their grace; forget a session without processes."""
        left = procfs.session(leader, counted)
        with self._lock:
            if not left:
                self._kill_at.pop(leader, None)
                return
            kill = self._clock() >= self._kill_at.get(leader, Instant(float("inf")))
        if kill:
            _send(left, signal.SIGKILL)


def _send(processes: Iterable[procfs.Process], number: signal.Signals) -> None:
    """Signal each of them, and then raise the last failure, if there was one."""
    refused: OSError | None = None
    for process in processes:
        try:
            procfs.send(process, number)
        except OSError as failure:
            refused = failure
    if refused is not None:
        raise refused


def _identity(leader: procfs.Process) -> procfs.Process:
    return procfs.Process(pid=leader.pid, session=leader.pid, started=leader.started, state="")
