"""Parts of members as their cloud lists them."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from config.units import MemberName, PartName


class PartState(enum.Enum):
    """What a cloud says of a part, folded to what planning needs."""

    BUILDING = "building"
    READY = "ready"
    """A machine can be made with it, or has it."""
    ERROR = "error"
    DELETING = "deleting"


@dataclass(frozen=True, slots=True, kw_only=True)
class MadePart:
    """One part that bears a member's mark."""

    name: PartName
    id: str
    """The cloud's own id."""
    state: PartState


@dataclass(frozen=True, slots=True, kw_only=True)
class PartListing:
    """What a cloud answered when asked for the parts of one group's members, by mark."""

    parts: tuple[tuple[MemberName, MadePart], ...]
    complete: bool
    """Everything was seen. A partial listing proves presence, never absence."""
    because: str = ""
    """Why it is partial."""
