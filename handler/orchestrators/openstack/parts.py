"""Parts of members on OpenStack: ports and floating addresses of Neutron, volumes of Cinder.

The mark alone identifies a part (Note [One text is the mark]). A part whose creation went unanswered is found by it; if
a listing came too late and two parts bear the same mark, the newer unused one is deleted.

Note [Never from under a machine]: a port is deleted only after Nova reports its server gone, though Neutron would
delete it at once. A volume is deleted once no server uses it: Nova releases it when its server is deleted. If Nova did
not (a host was down), the rest of the attachment is removed, once Nova reports the server gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.ids import NETWORK_KIND, SECURITY_GROUP, UUID, VOLUME_TYPE, OpenstackIds
from collector.clients.openstack.pages import PagedEntries, read_whole
from collector.clients.openstack.parsing import mapping, text
from collector.clients.openstack.session import BLOCK_STORAGE, NoService
from config.errors import DriverError, Transient
from config.model.catalogue import OpenstackRecipe, Profile
from config.model.parts import FloatingAddress, MemberPart, NetworkPort, Volume
from config.units import MemberName, PartName
from handler.orchestrators.accepted import after_acceptance
from handler.orchestrators.openstack.nova import GONE, Nova
from handler.orchestrators.openstack.part_parsing import (
    KEY,
    PORTS,
    SHELVES,
    VOLUMES,
    MarkedPart,
    PartKind,
    Shelf,
    attachments_of,
    counting,
    description_of,
    kind_of,
    mark_of,
)
from handler.planning.launches import LaunchId
from handler.planning.world import MadePart, PartListing, PartState

_SHELF: Final = {shelf.kind: shelf for shelf in SHELVES}
_GIB: Final = 2**30
_ATTACHMENTS: Final = "3.27"
"""The first microversion of Cinder with a listing of attachments (Pike)."""

_Key = tuple[MemberName, PartName]


class OpenstackParts:
    """The parts of one installation's members in one project. Every method raises `DriverError`."""

    def __init__(
        self, connection: OpenstackConnection, nova: Nova, ids: OpenstackIds, is_ours: Callable[[LaunchId | None], bool]
    ) -> None:
        self._connection, self._nova, self._ids = connection, nova, ids
        self._is_ours = is_ours
        self._made: dict[_Key, tuple[Shelf, str]] = {}
        """Ids of parts that this object created: they can be queried even if listings omit them."""
        self._had_volumes = False

    def of(self, wanted: Callable[[LaunchId], bool]) -> PartListing:
        """List parts, as `handler.ports.parts.PartMaker.parts`: an unreadable entry makes the listing partial."""
        found: dict[_Key, list[MarkedPart]] = {}
        problems: list[str] = []
        for shelf in SHELVES:
            try:
                pieces, because = self._seen(shelf, self._read(shelf))
            except DriverError as error:
                pieces, because = (), str(error)
            problems += [because] if because else []
            for piece in pieces:
                mark = LaunchId.parse(piece.member)
                if mark is not None and wanted(mark) and self._is_ours(mark):
                    found.setdefault((piece.member, piece.name), []).append(piece)
        parts = tuple((member, _made(counting(found[member, name])[0])) for member, name in sorted(found))
        return PartListing(parts=parts, complete=not problems, because="; ".join(problems))

    def find(self, member: MemberName, name: PartName) -> MadePart | None:
        """Find a part; ``None`` only after complete listings of all three kinds."""
        pieces = self._bearing(member, name)
        return _made(pieces[0]) if pieces else None

    def make(self, member: MemberName, part: MemberPart, profile: Profile) -> None:
        """Create a part, unless one bears its mark. Of several, all unused ones but one are deleted."""
        shelf = _SHELF[kind_of(part.spec)]
        with after_acceptance(accepted=(member, part.name) in self._made):
            there = self._on(shelf, member, part.name)
        if not there:
            self._order(shelf, member, part, profile)
        with after_acceptance():
            for spare in reversed((there or self._on(shelf, member, part.name))[1:]):
                if spare.is_free:
                    self._delete(spare)

    def remove(self, member: MemberName, name: PartName) -> None:
        """Begin to remove all parts with the mark.

        Raises:
            Transient: a server uses the part, or Cinder is still changing it.
        """
        for piece in self._bearing(member, name):
            self._drop(piece)
        self._made.pop((member, name), None)

    def release(self, member: MemberName, name: PartName) -> None:
        """Remove the mark from a part; further unused parts with the mark are deleted."""
        for number, piece in enumerate(self._bearing(member, name)):
            if number and piece.is_free:
                self._delete(piece)
            else:
                self._unmark(piece)
        self._made.pop((member, name), None)

    # Making.

    def _order(self, shelf: Shelf, member: MemberName, part: MemberPart, profile: Profile) -> None:
        body = {shelf.single: self._wanted(member, part, profile)}
        answer = self._connection.ask(shelf.service, "POST", shelf.path, body=body)
        own_id = text(mapping(answer.body, shelf.single), "id")
        if not own_id:
            about = f"{self._connection.id}: {part.name} of {member}"
            raise Transient(f"{about}: the response has no {shelf.kind.value} id; looking it up by its mark")
        self._made[member, part.name] = shelf, own_id

    def _wanted(self, member: MemberName, part: MemberPart, profile: Profile) -> dict[str, object]:
        called, described = f"{member}-{part.name}", {"description": description_of(member, part.name)}
        match part.spec:
            case Volume(size=size, kind=kind):
                typed = {} if kind is None else {"volume_type": self._ids.of(VOLUME_TYPE, kind)}
                return {
                    "name": called,
                    "size": -(-size // _GIB),
                    "metadata": {KEY: mark_of(member, part.name)},
                    **typed,
                }
            case NetworkPort(network=network):
                network_id = self._ids.of(NETWORK_KIND, network)
                return {"name": called, "network_id": network_id, **described, **self._guarded(profile)}
            case FloatingAddress(network=network, port=port):
                network_id = self._ids.of(NETWORK_KIND, network)
                return {"floating_network_id": network_id, "port_id": self._port(member, port), **described}

    def _guarded(self, profile: Profile) -> dict[str, object]:
        """Return a port's security groups: Nova gives a server's own only to ports that it creates itself."""
        if not isinstance(profile.recipe, OpenstackRecipe) or not profile.recipe.security_groups:
            return {}
        return {"security_groups": [self._ids.of(SECURITY_GROUP, each) for each in profile.recipe.security_groups]}

    def _port(self, member: MemberName, name: PartName) -> str:
        there = self._on(PORTS, member, name)
        if not there:
            raise Transient(f"{self._connection.id}: {member}: its port {name} is not ready yet: its address waits")
        return there[0].id

    # Removing.

    def _drop(self, piece: MarkedPart) -> None:
        if piece.kind is PartKind.PORT and piece.holder:
            self._must_be_gone(piece, piece.holder)
        if piece.kind is PartKind.VOLUME and piece.holder:
            if piece.state is not PartState.DELETING:
                self._detach(piece)
            return
        self._delete(piece)

    def _delete(self, piece: MarkedPart) -> None:
        shelf = _SHELF[piece.kind]
        self._connection.ask(shelf.service, "DELETE", f"{shelf.path}/{piece.id}", but=GONE)

    def _detach(self, piece: MarkedPart) -> None:
        """Remove the rest of attachments whose servers are gone. The next call can then delete the volume."""
        path = f"/attachments?volume_id={piece.id}"
        answer = self._connection.ask(BLOCK_STORAGE, "GET", path, version=_ATTACHMENTS)
        left = attachments_of(answer.body)
        if left is None:
            raise Transient(f"{self._about(piece)}: its attachments cannot be read")
        for _, server in left:
            self._must_be_gone(piece, server)
        for own_id, _ in left:
            self._connection.ask(BLOCK_STORAGE, "DELETE", f"/attachments/{own_id}", version=_ATTACHMENTS, but=GONE)
        raise Transient(f"{self._about(piece)} is {piece.word}: waiting for it")

    def _must_be_gone(self, piece: MarkedPart, server: str) -> None:
        if UUID.fullmatch(server) and self._nova.server(server) is not None:
            raise Transient(f"{self._about(piece)} is not removed while server {server} uses it")

    def _unmark(self, piece: MarkedPart) -> None:
        shelf = _SHELF[piece.kind]
        path = f"{shelf.path}/{piece.id}"
        if piece.kind is PartKind.VOLUME:
            self._connection.ask(shelf.service, "DELETE", f"{path}/metadata/{KEY}", but=GONE)
        else:
            body = {shelf.single: {"description": ""}}
            self._connection.ask(shelf.service, "PUT", path, body=body, but=GONE)

    def _about(self, piece: MarkedPart) -> str:
        return f"{self._connection.id}: {piece.name} of {piece.member} ({piece.kind.value} {piece.id})"

    # Looking.

    def _bearing(self, member: MemberName, name: PartName) -> tuple[MarkedPart, ...]:
        """Return all parts with a mark of ours, of any kind; the one that counts first."""
        if not self._is_ours(LaunchId.parse(member)):
            return ()
        return counting(piece for shelf in SHELVES for piece in self._on(shelf, member, name))

    def _on(self, shelf: Shelf, member: MemberName, name: PartName) -> tuple[MarkedPart, ...]:
        """Return the parts of one kind with a mark, the one that counts first.

        Raises:
            Transient: the listing is incomplete.
        """
        pieces, because = self._seen(shelf, self._read(shelf, member, name))
        if because:
            raise Transient(because)
        bearing = {piece.id: piece for piece in pieces if (piece.member, piece.name) == (member, name)}
        known_on, own_id = self._made.get((member, name), (shelf, ""))
        if own_id and known_on is shelf and own_id not in bearing:
            bearing |= {piece.id: piece for piece in self._known(shelf, own_id, (member, name))}
        return counting(bearing.values())

    def _known(self, shelf: Shelf, own_id: str, key: _Key) -> Iterable[MarkedPart]:
        answer = self._connection.ask(shelf.service, "GET", f"{shelf.path}/{own_id}", but=GONE)
        piece = None if answer.status in GONE else shelf.piece(answer.body)
        return () if piece is None or (piece.member, piece.name) != key else (piece,)

    def _read(self, shelf: Shelf, member: MemberName | None = None, name: PartName | None = None) -> PagedEntries:
        query = {} if member is None or name is None else shelf.narrowed(member, name)
        try:
            read = read_whole(self._connection, shelf.collection, query)
        except NoService:
            if shelf is not VOLUMES or self._had_volumes:
                raise
            return PagedEntries(entries=())  # a cloud without Cinder has no volumes
        self._had_volumes = self._had_volumes or shelf is VOLUMES
        return read

    def _seen(self, shelf: Shelf, read: PagedEntries) -> tuple[tuple[MarkedPart, ...], str]:
        pieces, whole = shelf.pieces(read.entries)
        nonsense = "" if whole else f"{self._connection.id}: {shelf.collection.key} are listed that cannot be read"
        return pieces, read.because or nonsense


def _made(piece: MarkedPart) -> MadePart:
    return MadePart(name=piece.name, id=piece.id, state=piece.state)
