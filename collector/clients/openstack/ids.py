"""Look up OpenStack's named objects, by name or by id."""

from __future__ import annotations

import re
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.parsing import page_of, text
from collector.clients.openstack.session import BLOCK_STORAGE, COMPUTE, IMAGE, LOAD_BALANCER, NETWORK
from config.errors import Permanent, Transient
from config.units import Instant, Seconds

UUID = re.compile(r"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")
_KEPT: Seconds = 60.0
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenstackKind:
    """A kind of named object: how it is listed, and its name in messages."""

    word: str
    service: str
    path: str
    key: str
    narrowed: bool = True
    """The listing can be filtered by name. It may show more all the same: only the exact name counts."""


IMAGE_KIND: Final = OpenstackKind(word="image", service=IMAGE, path="/images?status=active", key="images")
FLAVOR: Final = OpenstackKind(word="flavor", service=COMPUTE, path="/flavors", key="flavors", narrowed=False)
NETWORK_KIND: Final = OpenstackKind(
    word="network", service=NETWORK, path="/networks?fields=id&fields=name", key="networks"
)
SECURITY_GROUP: Final = OpenstackKind(
    word="security group", service=NETWORK, path="/security-groups?fields=id&fields=name", key="security_groups"
)
SERVER_GROUP: Final = OpenstackKind(
    word="server group", service=COMPUTE, path="/os-server-groups", key="server_groups", narrowed=False
)
VOLUME_TYPE: Final = OpenstackKind(
    word="volume type", service=BLOCK_STORAGE, path="/types", key="volume_types", narrowed=False
)
LOAD_BALANCER_KIND: Final = OpenstackKind(
    word="load balancer", service=LOAD_BALANCER, path="/lbaas/loadbalancers", key="loadbalancers"
)
POOL: Final = OpenstackKind(word="pool", service=LOAD_BALANCER, path="/lbaas/pools", key="pools")


def same_id(one: str, other: str) -> bool:
    """Return whether two ids are the same: an UUID may be written without hyphens, and in either case.

    >>> same_id("5b3f0000-0000-4000-8000-00000000000a", "5B3F000000004000800000000000000A"), same_id("1", "2")
    (True, False)
    """
    return one == other or one.replace("-", "").lower() == other.replace("-", "").lower()


class OpenstackIds:
    """Looks ids up by name, and remembers them for a minute: an image may be replaced under its name."""

    def __init__(self, connection: OpenstackConnection, clock: Callable[[], Instant]) -> None:
        self._connection, self._clock = connection, clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[Instant, str]] = {}

    def of(self, kind: OpenstackKind, written: str) -> str:
        """Return the id of an object that the file gives by name or by id.

        Raises:
            Permanent: no object or several have the name.
            Transient: the service did not answer.
        """
        if UUID.fullmatch(written):
            return written
        question, now = (kind.word, written), self._clock()
        with self._lock:
            until, known = self._known.get(question, (now, ""))
        if now < until <= now + _KEPT:
            return known
        found = self._asked(kind, written)
        with self._lock:
            self._known[question] = (Instant(now + _KEPT), found)
        return found

    def forget(self) -> None:
        """Forget all ids: an object behind a known name is gone."""
        with self._lock:
            self._known.clear()

    def _asked(self, kind: OpenstackKind, written: str) -> str:
        sign = "&" if "?" in kind.path else "?"
        query = f"{sign}{urllib.parse.urlencode({'name': written})}" if kind.narrowed else ""
        about = f"{self._connection.id}: {kind.word}s"
        page = page_of(self._connection.ask(kind.service, "GET", kind.path + query).body, kind.key)
        if page is None:
            raise Transient(f"{about}: the answer cannot be read")
        read = page.entries
        bearing = sorted({text(entry, "id") for entry in read if text(entry, "name") == written} - {""})
        if not bearing and written in {text(entry, "id") for entry in read}:
            return written  # a flavor's id may be any text
        if not bearing:
            raise Permanent(f"{self._connection.id}: no {kind.word} that the project can see is called {written!a}")
        if len(bearing) > 1:
            shown = ", ".join(bearing[:_SHOWN]) + (", …" if len(bearing) > _SHOWN else "")
            what = f"{len(bearing)} {kind.word}s are called {written!a}"
            raise Permanent(f"{self._connection.id}: {what}: write the id of one of them: {shown}")
        return bearing[0]
