"""Servers that were told to stop: each is deleted once it has, or once its grace has passed."""

from __future__ import annotations

import threading
from collections.abc import Callable

from config.errors import Permanent, Transient
from config.units import Instant, Seconds
from handler.orchestrators.openstack.nova import Nova

_LOOK_EVERY: Seconds = 1.0
_PATIENCE: Seconds = 60.0
"""How long a server that outstayed its grace is tried; after that, whoever destroys it again is told why."""


class ServerDepartures:
    """A thread watches them for as long as there are any.

    Nothing is written down: after a restart a server that is still there is destroyed again, and gets a new grace.
    """

    def __init__(self, nova: Nova, clock: Callable[[], Instant], wait: Callable[[Seconds], None]) -> None:
        self._nova, self._clock, self._wait = nova, clock, wait
        self._stopping: dict[str, Instant] = {}
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def begin(self, id: str, grace: Seconds) -> None:
        """Watch a server that was told to stop; asked again, only the shorter grace counts."""
        with self._lock:
            until = Instant(self._clock() + grace)
            self._stopping[id] = min(self._stopping.get(id, until), until)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="departures", daemon=True)
                self._watcher.start()

    def leaving(self, id: str) -> bool:
        """Whether this server was told to stop, and will be deleted."""
        with self._lock:
            return id in self._stopping

    def _watch(self) -> None:
        while True:
            with self._lock:
                stopping = dict(self._stopping)
                if not stopping:
                    self._watcher = None
                    return
            for server, until in stopping.items():
                if self._is_over(server, until):
                    with self._lock:
                        self._stopping.pop(server, None)
            self._wait(_LOOK_EVERY)

    def _is_over(self, id: str, until: Instant) -> bool:
        """Look at one server, and delete it if it has stopped or may no longer take its time."""
        now = self._clock()
        try:
            machine = self._nova.server(id)
            if machine is not None and (not machine.is_stopping or now >= until):
                self._nova.delete(id)
                return True
        except Permanent:
            return True
        except Transient:
            return now >= until + _PATIENCE
        return machine is None
