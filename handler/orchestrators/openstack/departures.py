"""Stopping servers: each is deleted once it has stopped, or once its grace is over."""

from __future__ import annotations

import threading
from collections.abc import Callable

from config.errors import Permanent, Transient
from config.units import Instant, Seconds
from handler.orchestrators.openstack.nova import Nova

_LOOK_EVERY: Seconds = 1.0
_PATIENCE: Seconds = 60.0
"""How long deletion is retried after the grace; after that, the next destroy raises the reason."""


class ServerDepartures:
    """Watches stopping servers in a thread, as long as there are any.

    Nothing is stored: after a restart, a server that still exists is destroyed again, with a new grace.
    """

    def __init__(self, nova: Nova, clock: Callable[[], Instant], wait: Callable[[Seconds], None]) -> None:
        self._nova, self._clock, self._wait = nova, clock, wait
        self._stopping: dict[str, Instant] = {}
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def begin(self, id: str, grace: Seconds) -> None:
        """Watch a stopping server; of repeated calls, the shortest grace counts."""
        with self._lock:
            until = Instant(self._clock() + grace)
            self._stopping[id] = min(self._stopping.get(id, until), until)
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="departures", daemon=True)
                self._watcher.start()

    def leaving(self, id: str) -> bool:
        """Return whether this server is stopping and will be deleted."""
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
        """Query one server, and delete it if it has stopped or its grace is over."""
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
