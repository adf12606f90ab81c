"""How the parts of members are written in YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import PlainValidator, Strict
from pydantic_core import PydanticCustomError

from config.document.declared import SIZE_PATTERN, Declared, key, must, worded
from config.document.quantities import size_of
from config.document.scalars import Given, Name, Text
from config.model.parts import FloatingAddress, MemberPart, NetworkPort, OnDelete, Spec, Volume
from config.units import PartName

_ORDER = (Volume, NetworkPort, FloatingAddress)
"""Addresses lead to ports, so ports come first."""

Size = Annotated[int, PlainValidator(size_of), worded("size with a unit", type="string", pattern=SIZE_PATTERN)]


class VolumeDocument(Declared):
    """A block device of its own."""

    size: Size = must("How large it is.", "20GiB")
    type: Annotated[Text | None, Given] = key(
        "The type of volume, as the cloud calls it.", "ssd", left_out="the cloud's own"
    )


class PortDocument(Declared):
    """A place on a network."""

    network: Text = must("The network, by name or id.", "web-tier")


class AddressDocument(Declared):
    """An address that leads from another network to one of the member's ports."""

    network: Text = must("The network that the address is from, by name or id.", "public")
    port: Name = must("The port that it leads to: the name of another part.", "front")


class PartDocument(Declared):
    """One part of every member: made before its machine, and gone after it."""

    choice: ClassVar[tuple[str, ...]] = ("volume", "port", "address")
    choice_of: ClassVar[str] = "what the part is"

    volume: Annotated[VolumeDocument | None, Given] = key(
        "It is a volume: a block device of its own.", {"size": "20GiB"}
    )
    port: Annotated[PortDocument | None, Given] = key("It is a port: a place on a network.", {"network": "web-tier"})
    address: Annotated[AddressDocument | None, Given] = key(
        "It is an address that leads to one of the ports.", {"network": "public", "port": "front"}
    )
    on_delete: Annotated[OnDelete, Strict(False)] = key(
        "What happens to it when its member is removed: destroy, or retain, without our mark.",
        "retain",
        default="destroy",
    )

    @property
    def spec(self) -> Spec:
        """The one thing that it is."""
        if self.volume is not None:
            return Volume(size=self.volume.size, kind=self.volume.type)
        if self.port is not None:
            return NetworkPort(network=self.port.network)
        if self.address is not None:
            return FloatingAddress(network=self.address.network, port=PartName(self.address.port))
        raise AssertionError("a part without a kind was validated")


def parts_of(entries: Mapping[str, PartDocument]) -> tuple[MemberPart, ...]:
    """The parts in the order in which they are made: volumes, ports, addresses; each kind as written."""
    parts = [
        MemberPart(name=PartName(name), spec=each.spec, on_delete=each.on_delete) for name, each in entries.items()
    ]
    return tuple(sorted(parts, key=lambda part: _ORDER.index(type(part.spec))))


def leading_somewhere(entries: dict[str, PartDocument]) -> dict[str, PartDocument]:
    """Check that addresses lead to ports.

    Raises:
        PydanticCustomError: one does not.
    """
    for name, entry in entries.items():
        if entry.address is None:
            continue
        to = entries.get(entry.address.port)
        if to is None or to.port is None:
            ports = [other for other, part in entries.items() if part.port is not None]
            hint = f"the ports are {', '.join(ports)}" if ports else "there is no port among the parts: declare one"
            sentence = "{name} leads to {port}, which is no port: {hint}"
            facts = {"name": name, "port": entry.address.port, "hint": hint, "key": name}
            raise PydanticCustomError("sentence", sentence, facts)
    return entries
