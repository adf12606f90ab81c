"""Look up CloudStack's named objects, by name or by id."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from collector.clients.cloudstack.client import CloudstackClient
from collector.clients.cloudstack.parsing import one_called
from config.causes import FailureCause, remedy_for
from config.errors import Permanent
from config.units import CloudId, Instant, Seconds

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_KEPT: Seconds = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackKind:
    """A kind of named object: how it is listed, and its name in messages."""

    word: str
    cause: FailureCause
    """The cause of the error if it is missing."""
    command: str
    entry: str
    by: str = "name"
    """The parameter that filters the listing. It may find more: only the exact name counts."""
    more: Mapping[str, str]


ZONE = CloudstackKind(word="zone", cause=FailureCause.ZONE, command="listZones", entry="zone", more={})
TEMPLATE = CloudstackKind(
    word="template",
    cause=FailureCause.IMAGE,
    command="listTemplates",
    entry="template",
    more={"templatefilter": "executable"},
)
OFFERING = CloudstackKind(
    word="offering", cause=FailureCause.FLAVOR, command="listServiceOfferings", entry="serviceoffering", more={}
)
NETWORK = CloudstackKind(
    word="network", cause=FailureCause.NETWORK, command="listNetworks", entry="network", by="keyword", more={}
)
AFFINITY_GROUP = CloudstackKind(
    word="affinity group", cause=FailureCause.SERVER_GROUP, command="listAffinityGroups", entry="affinitygroup", more={}
)


class CloudstackIds:
    """Looks ids up by name, and remembers them for a minute: a template may be replaced under its name."""

    def __init__(self, cloud: CloudId, client: CloudstackClient, clock: Callable[[], Instant]) -> None:
        self._cloud, self._client, self._clock = cloud, client, clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, str], tuple[Instant, str]] = {}

    def of(self, kind: CloudstackKind, written: str, zone: str = "") -> str:
        """Return the id of an object that the file gives by name or by id, in a zone if one is given.

        Raises:
            Permanent: no object or several have the name.
            Transient: the cloud did not answer, or not completely.
        """
        if _UUID.fullmatch(written):
            return written
        question, now = (kind.word, written, zone), self._clock()
        with self._lock:
            until, known = self._known.get(question, (now, ""))
        if now < until <= now + _KEPT:
            return known
        found = self._asked(kind, written, zone)
        with self._lock:
            self._known[question] = (Instant(now + _KEPT), found)
        return found

    def _asked(self, kind: CloudstackKind, written: str, zone: str) -> str:
        narrowed = {kind.by: written, **kind.more, **({"zoneid": zone} if zone else {})}
        entries = self._client.whole(kind.command, kind.entry, **narrowed)
        where, remedy = " in the zone" if zone else "", remedy_for(kind.cause, kind.word)
        try:
            return one_called(entries, kind.word, written, where=where, remedy=remedy)
        except ValueError as error:
            reason = str(error).removesuffix(f": {remedy}")
            raise Permanent(
                f"{self._cloud}: {reason}", cause=kind.cause, remedy=remedy if reason != str(error) else ""
            ) from None
