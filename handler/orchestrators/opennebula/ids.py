"""Look up OpenNebula's named objects, by name or by id."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from collector.clients.opennebula.client import OpennebulaClient
from collector.clients.opennebula.messages import text, whole
from config.errors import Permanent, Transient
from config.units import CloudId, Instant, Seconds
from handler.orchestrators.opennebula.parsing import id_of

_KEPT: Seconds = 60.0
_SHOWN = 5
_ALL = -2
"""Filter: all objects that the user may use, of any owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpennebulaKind:
    """A kind of named object: how it is listed, and its name in messages."""

    word: str
    method: str
    entry: str


TEMPLATE = OpennebulaKind(word="template", method="templatepool.info", entry="VMTEMPLATE")
NETWORK = OpennebulaKind(word="network", method="vnpool.info", entry="VNET")


class OpennebulaIds:
    """Looks ids up by name, and remembers them for a minute: a template may be replaced under its name."""

    def __init__(self, cloud: CloudId, client: OpennebulaClient, clock: Callable[[], Instant]) -> None:
        self._cloud, self._client, self._clock = cloud, client, clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[Instant, int]] = {}

    def of(self, kind: OpennebulaKind, written: str) -> int:
        """Return the id of an object that the file gives by name or by id; digits are an id.

        Raises:
            Permanent: no object or several have the name.
            Transient: the cloud did not answer, or not completely.
        """
        if (written_id := id_of(written)) is not None:
            return written_id
        question, now = (kind.word, written), self._clock()
        with self._lock:
            until, known = self._known.get(question, (now, 0))
        if now < until <= now + _KEPT:
            return known
        found = self._asked(kind, written)
        with self._lock:
            self._known[question] = (Instant(now + _KEPT), found)
        return found

    def _asked(self, kind: OpennebulaKind, written: str) -> int:
        entries = self._client.every(kind.method, kind.entry, _ALL)
        named = (whole(entry, "ID") for entry in entries.read if text(entry, "NAME") == written)
        bearing = sorted(each for each in named if each is not None)
        if entries.because:
            raise Transient(entries.because)
        if not bearing:
            raise Permanent(f"{self._cloud}: no {kind.word} that the user can see is called {written!a}")
        if len(bearing) > 1:
            shown = ", ".join(str(each) for each in bearing[:_SHOWN]) + (", …" if len(bearing) > _SHOWN else "")
            what = f"{len(bearing)} {kind.word}s are called {written!a}"
            raise Permanent(f"{self._cloud}: {what}: write the id of one of them: {shown}")
        return bearing[0]
