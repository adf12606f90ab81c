"""What sources say of members that seem lost, as values: a world carries them, and planning judges them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.units import Instant, MemberName


class Saying(enum.Enum):
    """What a source's last question about a member came to."""

    HEARD = "heard"
    """The member answered."""
    SILENT = "silent"
    """The source asked, and nothing answered."""
    UNCLEAR = "unclear"
    """The source did not ask, or the answer says neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Testimony:
    """What one source says of one member."""

    __test__ = False  # it is no test, whatever pytest takes it for

    source: str
    """``snmp``, ``balancer edge``, ``probe``."""
    heard_at: Instant | None
    """When the source last heard the member; ``None``: never since the daemon started."""
    says: Saying
    answers: bool
    """The source's own endpoint answers now, or another member through it."""
    silent_since: Instant | None = None
    """When the first of its questions went unanswered, where it says SILENT; ``None``: since it heard the member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One member that the cloud says is gone, broken or being deleted."""

    since: Instant
    """When this daemon first saw it so."""
    testimonies: tuple[Testimony, ...] = ()
    believed: bool = False
    """It was believed before, and acted upon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """What is known, beside the listing, of the members of a group that seem lost."""

    members: Mapping[MemberName, Loss] = field(default_factory=lambda: MappingProxyType({}))
    elsewhere: tuple[Instant, ...] = ()
    """When each other member was lost that counts with these: those of the cloud's other groups, and those of this
    group that have been taken for gone not long ago. Sorted."""
    back: Mapping[MemberName, Instant] = field(default_factory=lambda: MappingProxyType({}))
    """Members that are well again after their loss was acted upon, and when they were first missed."""
    returning: tuple[MemberName, ...] = ()
    """Members of which not enough listings in a row have said so yet; sorted."""
    others_seen: Instant | None = None
    """Every other group of the cloud has been looked at since then; ``None``: the cloud has no other group."""
    proof: bool = False
    """The listing is the machine itself: a definite not-found needs no other evidence."""


NO_LOSSES = Losses()
