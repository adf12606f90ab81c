"""Services of OneFlow, by name or by id."""

from __future__ import annotations

import threading
from collections.abc import Callable

from collector.clients.opennebula.messages import NotThere
from config.errors import Permanent, Transient
from config.units import CloudId, Instant, Seconds
from handler.orchestrators.oneflow.client import FlowWire
from handler.orchestrators.oneflow.parsing import Service, named, service_of
from handler.orchestrators.opennebula.parsing import id_of

_KEPT: Seconds = 60.0
_LATELY: Seconds = 30.0
_SHOWN = 5


class OneflowServices:
    """Reads services. Remembers the id of a name for a minute, and a service for callers of `lately`."""

    def __init__(self, cloud: CloudId, wire: FlowWire, clock: Callable[[], Instant]) -> None:
        self._cloud, self._wire, self._clock = cloud, wire, clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Instant, int]] = {}
        self._read: dict[int, tuple[Instant, Service]] = {}

    def find(self, written: str) -> Service:
        """Read one service, as it is now.

        Raises:
            Permanent: no service or several have the name, or none has the id.
            Transient: OneFlow did not answer, or the answer cannot be read.
        """
        own_id = id_of(written)
        own_id = self._named(written) if own_id is None else own_id
        try:
            service = service_of(self._wire.ask("GET", f"/service/{own_id}"))
        except NotThere:
            with self._lock:
                self._known.pop(written, None)
            raise
        if service is None or service.id != own_id:
            raise Transient(f"{self._cloud}: OneFlow: service {own_id}: the answer cannot be read")
        with self._lock:
            self._read[own_id] = (self._clock(), service)
        return service

    def lately(self, written: str) -> Service:
        """Return a service as last read, if that was within half a minute; else as `find`."""
        own_id = id_of(written)
        own_id = self._named(written) if own_id is None else own_id
        with self._lock:
            at, service = self._read.get(own_id, (Instant(0.0), None))
        if service is not None and at <= self._clock() <= at + _LATELY:
            return service
        return self.find(written)

    def _named(self, written: str) -> int:
        now = self._clock()
        with self._lock:
            until, known = self._known.get(written, (now, 0))
        if now < until <= now + _KEPT:
            return known
        ids = named(self._wire.ask("GET", "/service"), written)
        if ids is None:
            raise Transient(f"{self._cloud}: OneFlow: the answer cannot be read")
        if not ids:
            raise Permanent(f"{self._cloud}: no service that the user can see is called {written!a}")
        if len(ids) > 1:
            shown = ", ".join(map(str, ids[:_SHOWN])) + (", …" if len(ids) > _SHOWN else "")
            raise Permanent(f"{self._cloud}: {len(ids)} services are called {written!a}: write the id of one: {shown}")
        with self._lock:
            self._known[written] = (Instant(now + _KEPT), ids[0])
        return ids[0]
