"""Query and list Nova's servers.

Note [Pages in motion]: while Nova schedules a server, it moves the server from one table to another. A listing may then
show it twice, or lose it at the border of two pages. So the driver requests pages as large as the cloud allows, counts
each server once, and repeats a listing of several pages until two readings agree.
"""

from __future__ import annotations

import re
import threading
import urllib.parse
from dataclasses import dataclass
from typing import Final

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.ids import UUID, same_id
from collector.clients.openstack.parsing import Page, ServiceResponse, page_of
from collector.clients.openstack.session import COMPUTE
from config.errors import DriverError, Permanent, Transient
from handler.orchestrators.openstack.parsing import OpenstackServer, is_stub, machine_of, server_in

_PAGES = 1000
_READINGS = 4
_OLDEST, _NEWEST = (2, 37), (2, 69)
"""2.37: networks none and auto. 2.69: listings include servers in cells that are down."""
GONE: Final = frozenset({404})
_DELETED = frozenset({202, 204, 404})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerListing:
    """Servers, each once, and why these may be incomplete."""

    machines: tuple[OpenstackServer, ...]
    because: str = ""


class Nova:
    """Nova of one project. Every method raises `DriverError` as `OpenstackConnection.ask` does."""

    def __init__(self, connection: OpenstackConnection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._spoken: str | None = None

    def ask(self, method: str, path: str, *, body: object = None, but: frozenset[int] = frozenset()) -> ServiceResponse:
        """Make one call, in the newest version that both sides support."""
        return self._connection.ask(COMPUTE, method, path, body=body, version=self.spoken(), but=but)

    def server(self, id: str) -> OpenstackServer | None:
        """Return one server by its id; ``None``: a definite not-found."""
        answer = self.ask("GET", f"/servers/{id}", but=GONE)
        if answer.status in GONE:
            return None
        machine = server_in(answer.body)
        if machine is None:
            raise Transient(f"{self._connection.id}: server {id}: the answer cannot be read")
        if not same_id(machine.id, id):
            raise Transient(f"{self._connection.id}: server {id}: the answer is about another one, {machine.id}")
        return None if machine.is_gone else machine

    def delete(self, id: str) -> None:
        """Delete a server. If it is gone already, that is success."""
        answer = self.ask("DELETE", f"/servers/{id}", but=GONE)
        if answer.status not in _DELETED:
            raise Transient(f"{self._connection.id}: server {id}: the answer cannot be read")

    def output(self, id: str, lines: int) -> str:
        """Return the last lines of a server's console; where the host keeps none, Nova's refusal says so."""
        answer = self.ask("POST", f"/servers/{id}/action", body={"os-getConsoleOutput": {"length": lines}})
        text = answer.body.get("output") if isinstance(answer.body, dict) else None
        if not isinstance(text, str):
            raise Transient(f"{self._connection.id}: the console output of server {id} cannot be read")
        return text

    def named(self, name: str) -> ServerListing:
        """Return the servers with this name, of any owner."""
        seen = self._whole({"name": f"^{re.escape(name)}$"})
        return ServerListing(
            machines=tuple(machine for machine in seen.machines if machine.name == name), because=seen.because
        )

    def called(self, named: str) -> ServerListing:
        """Return the server with this id, or else those with this name."""
        found = self.server(named) if UUID.fullmatch(named) else None
        return self.named(named) if found is None else ServerListing(machines=(found,))

    def everything(self) -> ServerListing:
        """Return all servers of the project; without filter or limit, so that Nova reports cells that are down."""
        return self._whole({})

    def _whole(self, query: dict[str, str]) -> ServerListing:
        """Read a listing; one of several pages until two readings agree."""
        read, pages = self._walked(query)
        for _ in range(_READINGS - 1):
            if pages == 1 or read.because:
                return read
            before = {machine.id for machine in read.machines}
            read, pages = self._walked(query)
            if before == {machine.id for machine in read.machines}:
                return read
        because = read.because or f"{self._connection.id}: the servers changed while they were listed"
        return ServerListing(machines=read.machines, because=because)

    def _walked(self, query: dict[str, str]) -> tuple[ServerListing, int]:
        pages: list[Page] = []
        marker: dict[str, str] = {}
        for _ in range(_PAGES):
            try:
                page = self._page({**query, **marker})
            except DriverError as error:
                if not pages:
                    raise
                return self._seen(pages, str(error)), len(pages)
            pages.append(page)
            if not page.marker:
                return self._seen(pages, ""), len(pages)
            if marker.get("marker") == page.marker:
                break
            marker = {"marker": page.marker}
        return self._seen(pages, f"{self._connection.id}: the listing of servers does not end"), len(pages)

    def _page(self, query: dict[str, str]) -> Page:
        asked = f"?{urllib.parse.urlencode(query)}" if query else ""
        page = page_of(self.ask("GET", f"/servers/detail{asked}").body, "servers")
        if page is None:
            raise Transient(f"{self._connection.id}: servers: the answer cannot be read")
        return page

    def _seen(self, pages: list[Page], because: str) -> ServerListing:
        entries = [entry for page in pages for entry in page.entries]
        read = [machine_of(entry) for entry in entries]
        machines = {machine.id: machine for machine in read if machine is not None and not machine.is_gone}
        stubs = sum(is_stub(entry) for entry in entries)
        if stubs and not because:
            because = f"{self._connection.id}: {stubs} servers are in a cell that is down"
        if None in read and not because:
            because = f"{self._connection.id}: the listing has servers that cannot be read"
        return ServerListing(machines=tuple(machines.values()), because=because)

    def spoken(self) -> str:
        """Return the newest version that both sides support.

        Raises:
            Transient: Nova reports none; openstacksdk does not distinguish that from silence.
            Permanent: Nova is too old.
        """
        with self._lock:
            if self._spoken is not None:
                return self._spoken
        newest = self._connection.newest(COMPUTE)
        if newest is None:
            raise Transient(f"{self._connection.id}: Nova does not report its microversions")
        if newest < _OLDEST:
            version = ".".join(map(str, newest))
            raise Permanent(f"{self._connection.id}: Nova has microversion {version}: Trimtab needs 2.37 (Newton)")
        major, minor = min(newest, _NEWEST)
        with self._lock:
            self._spoken = f"{major}.{minor}"
        return self._spoken
