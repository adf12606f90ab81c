"""Launch ids: the name that a create carries from before the call until the member is gone."""

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
