"""The parts of a member beside its machine: volumes, ports and addresses, which are made before it and go after it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.units import PartName


class OnDelete(enum.Enum):
    """What happens to a part when its member is removed."""

    DESTROY = "destroy"
    RETAIN = "retain"
    """It stays, without our mark: from then on it belongs to no member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """A block device of its own."""

    size: int
    """Bytes."""
    kind: str | None = None
    """The cloud's word for a type of volume; its own default, if left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPort:
    """A place on a network."""

    network: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatingAddress:
    """An address that leads from another network to one of the member's ports."""

    network: str
    """Where the address is from."""
    port: PartName
    """The port that it leads to."""


Spec = Volume | NetworkPort | FloatingAddress
"""Closed union of what a part is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPart:
    """One part of every member of a profile."""

    name: PartName
    spec: Spec
    on_delete: OnDelete = OnDelete.DESTROY
