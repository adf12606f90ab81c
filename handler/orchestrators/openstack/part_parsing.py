"""Decode Neutron's and Cinder's parts of members. Pure: each function takes decoded JSON of any shape.

Note [One text is the mark]: a single text holds a part's member and name, so that one call writes it and one removes
it: the description of ports and floating addresses, a metadata key of volumes. The call that creates the part writes
it. Tags would not do: Neutron ignores them there.

Source: Networking API v2.0 (``standard-attr-description``), Block Storage API v3; the shapes are those of Neutron 21
and Cinder 21 (Zed).
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from collector.clients.openstack.pages import Collection
from collector.clients.openstack.parsing import entries, mapping, text
from collector.clients.openstack.session import BLOCK_STORAGE, NETWORK
from config.model.parts import FloatingAddress, NetworkPort, Spec, Volume
from config.units import MemberName, PartName
from handler.planning.launches import LaunchId
from handler.planning.world import PartState

KEY: Final = "trimtab.part"
"""Key of a volume's metadata."""
_PREFIX = f"{KEY}: "
_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,79}")
_FREE = frozenset({"available", "error", "error_restoring", "error_extending", "error_managing", "error_deleting"})
_VOLUMES = {"available": PartState.READY, "in-use": PartState.READY, "deleting": PartState.DELETING}


class PartKind(enum.Enum):
    """The kind of a part, in the cloud's terms."""

    VOLUME = "volume"
    PORT = "port"
    ADDRESS = "floating address"


def kind_of(spec: Spec) -> PartKind:
    """Return the declared kind."""
    return {Volume: PartKind.VOLUME, NetworkPort: PartKind.PORT, FloatingAddress: PartKind.ADDRESS}[type(spec)]


def mark_of(member: MemberName, name: PartName) -> str:
    """Return the mark of a volume.

    >>> mark_of(MemberName("web-k3f9ab-12"), PartName("data"))
    'web-k3f9ab-12 data'
    """
    return f"{member} {name}"


def description_of(member: MemberName, name: PartName) -> str:
    """Return the mark of ports and floating addresses.

    >>> description_of(MemberName("web-k3f9ab-12"), PartName("front"))
    'trimtab.part: web-k3f9ab-12 front'
    """
    return f"{_PREFIX}{mark_of(member, name)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedPart:
    """One object of the cloud that bears a mark."""

    kind: PartKind
    id: str
    member: MemberName
    name: PartName
    state: PartState
    word: str
    """Its state in the cloud's terms."""
    holder: str
    """Its user: a server's id for ports, a port's for addresses, any text for volumes; empty: it is free."""
    created: str
    """In the cloud's format: a later time sorts after an earlier one."""

    @property
    def is_free(self) -> bool:
        """Return whether it is not in use."""
        return not self.holder


def port_of(entry: Mapping[str, object]) -> MarkedPart | None:
    """Read one port; ``None``: it bears no mark. A port is ready without a machine.

    >>> entry = {"id": "4189", "description": "trimtab.part: web-k3f9ab-12 front", "status": "DOWN", "device_id": ""}
    >>> port_of(entry).state, port_of(entry).name
    (<PartState.READY: 'ready'>, 'front')
    """
    status = text(entry, "status")
    state = PartState.ERROR if status == "ERROR" else PartState.READY
    return _piece(PartKind.PORT, entry, _described(entry), state=state, word=status, holder=text(entry, "device_id"))


def address_of(entry: Mapping[str, object]) -> MarkedPart | None:
    """Read one floating address; ``None``: it bears no mark. One without a port has failed.

    >>> entry = {"id": "35b7", "description": "trimtab.part: web-k3f9ab-12 public", "status": "DOWN", "port_id": None}
    >>> address_of(entry).state
    <PartState.ERROR: 'error'>
    """
    status, port = text(entry, "status"), text(entry, "port_id")
    state = PartState.READY if port and status != "ERROR" else PartState.ERROR
    return _piece(PartKind.ADDRESS, entry, _described(entry), state=state, word=status, holder=port)


def volume_of(entry: Mapping[str, object]) -> MarkedPart | None:
    """Read one volume; ``None``: it bears no mark.

    >>> volume_of({"id": "76ea", "status": "creating", "metadata": {"trimtab.part": "web-k3f9ab-12 data"}}).state
    <PartState.BUILDING: 'building'>
    """
    status = text(entry, "status")
    failed = PartState.ERROR if status.startswith("error") else PartState.BUILDING
    holder = "" if status in _FREE else status
    mark = text(mapping(entry, "metadata"), KEY)
    return _piece(PartKind.VOLUME, entry, mark, state=_VOLUMES.get(status, failed), word=status, holder=holder)


def _described(entry: Mapping[str, object]) -> str:
    description = text(entry, "description")
    return description.removeprefix(_PREFIX) if description.startswith(_PREFIX) else ""


def _piece(
    kind: PartKind, entry: Mapping[str, object], mark: str, *, state: PartState, word: str, holder: str
) -> MarkedPart | None:
    member, _, name = mark.partition(" ")
    if LaunchId.parse(member) is None or not _PART.fullmatch(name):
        return None
    return MarkedPart(
        kind=kind,
        id=text(entry, "id"),
        member=MemberName(member),
        name=PartName(name),
        state=state,
        word=word,
        holder=holder,
        created=text(entry, "created_at"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The listing of one kind of parts, and the reader of its entries."""

    kind: PartKind
    collection: Collection
    single: str
    """The key of one entry."""
    read: Callable[[Mapping[str, object]], MarkedPart | None]
    holds: str
    """The field with the mark; an entry without it cannot be judged."""

    @property
    def service(self) -> str:
        """Return the service, by its type in the catalogue."""
        return self.collection.service

    @property
    def path(self) -> str:
        """Return the path that creates them; single ones are below it."""
        return self.collection.one

    def narrowed(self, member: MemberName, name: PartName) -> Mapping[str, str]:
        """Return the filter for one part. A service that ignores it lists more."""
        if self.kind is PartKind.VOLUME:
            return {"metadata": f"{{'{KEY}': '{mark_of(member, name)}'}}"}
        return {"description": description_of(member, name)}

    def pieces(self, listed: Iterable[object]) -> tuple[tuple[MarkedPart, ...], bool]:
        """Return the parts with a mark, each once, and whether every entry could be read."""
        found: dict[str, MarkedPart] = {}
        whole = True
        for entry in listed:
            if not isinstance(entry, Mapping) or not text(entry, "id") or self.holds not in entry:
                whole = False
            elif (piece := self.read(entry)) is not None:
                found[piece.id] = piece
        return tuple(found.values()), whole

    def piece(self, body: object) -> MarkedPart | None:
        """Return the part in an answer about a single one; ``None``: it bears no mark."""
        return self.read(mapping(body, self.single))


_FIELDS = "fields=id&fields=description&fields=status&fields=created_at"
PORTS: Final = Shelf(
    kind=PartKind.PORT,
    collection=Collection(service=NETWORK, path=f"/ports?{_FIELDS}&fields=device_id", key="ports", one="/ports"),
    single="port",
    read=port_of,
    holds="description",
)
ADDRESSES: Final = Shelf(
    kind=PartKind.ADDRESS,
    collection=Collection(
        service=NETWORK, path=f"/floatingips?{_FIELDS}&fields=port_id", key="floatingips", one="/floatingips"
    ),
    single="floatingip",
    read=address_of,
    holds="description",
)
VOLUMES: Final = Shelf(
    kind=PartKind.VOLUME,
    collection=Collection(service=BLOCK_STORAGE, path="/volumes/detail", key="volumes", one="/volumes"),
    single="volume",
    read=volume_of,
    holds="metadata",
)
SHELVES: Final = (PORTS, ADDRESSES, VOLUMES)


def counting(pieces: Iterable[MarkedPart]) -> tuple[MarkedPart, ...]:
    """Order the parts of one mark: those in use first, then the oldest."""
    return tuple(sorted(pieces, key=lambda piece: (piece.is_free, piece.created, piece.id)))


def attachments_of(body: object) -> tuple[tuple[str, str], ...] | None:
    """Ids of a volume's attachments, and of the servers that they are for; ``None``: malformed.

    >>> attachments_of({"attachments": [{"id": "e8b2", "status": "attached", "instance": "6211", "volume_id": "76ea"}]})
    (('e8b2', '6211'),)
    """
    read = entries(body, "attachments")
    if read is None or not all(text(entry, "id") for entry in read):
        return None
    return tuple((text(entry, "id"), text(entry, "instance")) for entry in read)
