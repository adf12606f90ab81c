"""What members bear: the launch id that names them, and the claim of the daemon that keeps them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from config.units import GroupId, MemberName

_NAME = re.compile(r"(?P<group>[a-z][a-z0-9-]*)-(?P<installation>[a-z0-9]{6})-(?P<sequence>[1-9][0-9]*)")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LaunchId:
    """(installation, group, sequence): unique for ever, since the sequence is persisted before it is used.

    >>> LaunchId(installation="k3f9ab", group=GroupId("web"), sequence=12).name
    'web-k3f9ab-12'
    >>> LaunchId.parse("web-k3f9ab-12").sequence
    12
    >>> LaunchId.parse("database-1") is None
    True
    """

    installation: str
    """Six lower-case letters or digits, kept beside the store: two installations never touch each other's members."""
    group: GroupId
    sequence: int

    @property
    def name(self) -> MemberName:
        """The launch id as the member's name."""
        return MemberName(f"{self.group}-{self.installation}-{self.sequence}")

    @classmethod
    def parse(cls, name: str) -> LaunchId | None:
        """Read a name back; ``None`` for a name that is not a launch id."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        return cls(installation=match["installation"], group=GroupId(match["group"]), sequence=int(match["sequence"]))


_CLAIM = re.compile(r"(?P<counter>[1-9][0-9]{0,17})-(?P<nonce>[a-z0-9]{8})")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Claim:
    """A store generation: which daemon controls the members of an installation. The highest counter wins.

    >>> Claim(counter=12, nonce="k3f9abcd").text
    '12-k3f9abcd'
    >>> Claim.parse("12-k3f9abcd").counter
    12
    >>> Claim.parse("12") is None
    True
    """

    counter: int
    nonce: str
    """Eight random lower-case letters or digits, which tell two daemons with the same counter apart."""

    @property
    def text(self) -> str:
        """As members bear it."""
        return f"{self.counter}-{self.nonce}"

    @classmethod
    def parse(cls, text: str) -> Claim | None:
        """Read a claim back; ``None`` for what is none."""
        match = _CLAIM.fullmatch(text)
        return None if match is None else cls(counter=int(match["counter"]), nonce=match["nonce"])
