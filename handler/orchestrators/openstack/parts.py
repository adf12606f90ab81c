"""Parts of members on OpenStack: ports and floating addresses of Neutron, volumes of Cinder.

Each is known by its mark alone (Note [One text is the mark]). What was made while its answer was lost is found by it;
if a listing came too late and two bear the same, the newer one that nobody has goes.

Note [Never from under a machine]: a port goes only once Nova says that the server is gone that has it, though Neutron
would delete it at once. A volume goes once nobody has it: Nova lets go of it when its server is deleted. Where it did
not (a host was down), what is left of the attachment is removed, once Nova says that the server is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.ids import NETWORK_KIND, SECURITY_GROUP, UUID, VOLUME_TYPE, OpenstackIds
from collector.clients.openstack.pages import Read, read_whole
from collector.clients.openstack.parsing import mapping, text
from collector.clients.openstack.session import BLOCK_STORAGE, NoService
from config.errors import DriverError, Transient
from config.model.catalogue import OpenstackRecipe, Profile
from config.model.parts import FloatingAddress, MemberPart, NetworkPort, Volume
from config.units import MemberName, PartName
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
"""Of Cinder's microversions, the first that tells of attachments by themselves (Pike)."""

_Key = tuple[MemberName, PartName]


class OpenstackParts:
    """The parts of one installation's members in one project. Every method raises `DriverError`."""

    def __init__(
        self, connection: OpenstackConnection, nova: Nova, ids: OpenstackIds, is_ours: Callable[[LaunchId | None], bool]
    ) -> None:
        self._connection, self._nova, self._ids = connection, nova, ids
        self._is_ours = is_ours
        self._made: dict[_Key, tuple[Shelf, str]] = {}
        """Ids of what this object made: it can be asked for, whatever listings show."""
        self._had_volumes = False

    def of(self, wanted: Callable[[LaunchId], bool]) -> PartListing:
        """As `handler.ports.parts.PartMaker.parts`: what cannot be read makes it partial."""
        found: dict[_Key, list[MarkedPart]] = {}
        told: list[str] = []
        for shelf in SHELVES:
            try:
                pieces, because = self._seen(shelf, self._read(shelf))
            except DriverError as error:
                pieces, because = (), str(error)
            told += [because] if because else []
            for piece in pieces:
                mark = LaunchId.parse(piece.member)
                if mark is not None and wanted(mark) and self._is_ours(mark):
                    found.setdefault((piece.member, piece.name), []).append(piece)
        parts = tuple((member, _made(counting(found[member, name])[0])) for member, name in sorted(found))
        return PartListing(parts=parts, complete=not told, because="; ".join(told))

    def find(self, member: MemberName, name: PartName) -> MadePart | None:
        """``None`` only after all three kinds were read without it."""
        pieces = self._bearing(member, name)
        return _made(pieces[0]) if pieces else None

    def make(self, member: MemberName, part: MemberPart, profile: Profile) -> None:
        """Make a part, unless one bears its mark. Of several that do, all but one go, as long as nobody has them."""
        shelf = _SHELF[kind_of(part.spec)]
        there = self._on(shelf, member, part.name)
        if not there:
            self._order(shelf, member, part, profile)
            there = self._on(shelf, member, part.name)
        for spare in reversed(there[1:]):
            if spare.is_free:
                self._delete(spare)

    def remove(self, member: MemberName, name: PartName) -> None:
        """Begin to remove all that bears the mark.

        Raises:
            Transient: a server has it, or Cinder is not done with it.
        """
        for piece in self._bearing(member, name):
            self._drop(piece)
        self._made.pop((member, name), None)

    def release(self, member: MemberName, name: PartName) -> None:
        """Take the mark off; what bears it besides and is nobody's goes."""
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
            raise Transient(f"{about}: the answer names no {shelf.kind.value}: it is looked for by its mark")
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
        """The security groups of a port: Nova gives a server's own only to ports that it makes itself."""
        if not isinstance(profile.recipe, OpenstackRecipe) or not profile.recipe.security_groups:
            return {}
        return {"security_groups": [self._ids.of(SECURITY_GROUP, each) for each in profile.recipe.security_groups]}

    def _port(self, member: MemberName, name: PartName) -> str:
        there = self._on(PORTS, member, name)
        if not there:
            raise Transient(f"{self._connection.id}: {member}: its port {name} is not there yet: its address waits")
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
        """Have what is left of attachments removed whose servers are gone. With the next call the volume can go."""
        path = f"/attachments?volume_id={piece.id}"
        answer = self._connection.ask(BLOCK_STORAGE, "GET", path, version=_ATTACHMENTS)
        left = attachments_of(answer.body)
        if left is None:
            raise Transient(f"{self._about(piece)}: its attachments make no sense")
        for _, server in left:
            self._must_be_gone(piece, server)
        for own_id, _ in left:
            self._connection.ask(BLOCK_STORAGE, "DELETE", f"/attachments/{own_id}", version=_ATTACHMENTS, but=GONE)
        raise Transient(f"{self._about(piece)} is {piece.word}: it is waited for")

    def _must_be_gone(self, piece: MarkedPart, server: str) -> None:
        if UUID.fullmatch(server) and self._nova.server(server) is not None:
            raise Transient(f"{self._about(piece)} is not removed while server {server} has it")

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
        """All that bears a mark of ours, whatever it is; the one that counts first."""
        if not self._is_ours(LaunchId.parse(member)):
            return ()
        return counting(piece for shelf in SHELVES for piece in self._on(shelf, member, name))

    def _on(self, shelf: Shelf, member: MemberName, name: PartName) -> tuple[MarkedPart, ...]:
        """What of one kind bears a mark, the one that counts first.

        Raises:
            Transient: not all could be seen.
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

    def _read(self, shelf: Shelf, member: MemberName | None = None, name: PartName | None = None) -> Read:
        query = {} if member is None or name is None else shelf.narrowed(member, name)
        try:
            read = read_whole(self._connection, shelf.collection, query)
        except NoService:
            if shelf is not VOLUMES or self._had_volumes:
                raise
            return Read(entries=())  # a cloud without Cinder has no volumes
        self._had_volumes = self._had_volumes or shelf is VOLUMES
        return read

    def _seen(self, shelf: Shelf, read: Read) -> tuple[tuple[MarkedPart, ...], str]:
        pieces, whole = shelf.pieces(read.entries)
        nonsense = "" if whole else f"{self._connection.id}: {shelf.collection.key} are listed that make no sense"
        return pieces, read.because or nonsense


def _made(piece: MarkedPart) -> MadePart:
    return MadePart(name=piece.name, id=piece.id, state=piece.state)
