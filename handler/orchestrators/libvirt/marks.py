"""What a member's domain bears: one element of its metadata, in a namespace of Trimtab's own. Pure.

Note [The definition is the record]: a domain is defined before its volumes are made, and forgotten after they are
deleted. Its metadata names them. So whatever is interrupted, a listing shows the domain, and its removal removes all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID
from xml.etree import ElementTree

from config.units import Instant, MemberName
from handler.planning.launches import Claim, LaunchId

NAMESPACE: Final = "urn:trimtab:libvirt:1"
KEY: Final = "trimtab"
_ELEMENT = "member"


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainMark:
    """Which member a domain is."""

    launch: LaunchId
    made: Instant
    """When the domain was defined, or given to Trimtab."""
    of: UUID | None = None
    """The domain that it was written on; ``None``: the one that is called like the member."""
    claim: Claim | None = None
    unfinished: bool = False
    """It was defined, and not started yet."""
    leaving: Instant | None = None
    """When its guest was first asked to stop."""
    pool: str = ""
    """Where its volumes are."""
    volumes: tuple[str, ...] = ()
    """Those that Trimtab made for it, and deletes with it."""

    @property
    def attributes(self) -> Mapping[str, str]:
        """As the element has them."""
        written = {
            "name": self.launch.name,
            "installation": self.launch.installation,
            "group": self.launch.group,
            "of": "" if self.of is None else str(self.of),
            "made": repr(float(self.made)),
            "claim": "" if self.claim is None else self.claim.text,
            "unfinished": "yes" if self.unfinished else "",
            "leaving": "" if self.leaving is None else repr(float(self.leaving)),
            "pool": self.pool,
            "volumes": " ".join(self.volumes),
        }
        return {name: value for name, value in written.items() if value}

    @property
    def element(self) -> str:
        """As libvirt takes it beside the namespace.

        >>> launch = LaunchId(installation="k3f9ab", group="web", sequence=1)
        >>> DomainMark(launch=launch, made=0.5).element
        '<member name="web-k3f9ab-1" installation="k3f9ab" group="web" made="0.5" />'
        """
        return ElementTree.tostring(ElementTree.Element(_ELEMENT, dict(self.attributes)), encoding="unicode")

    def qualified(self) -> ElementTree.Element:
        """Return it as it stands in the definition of a domain."""
        return ElementTree.Element(f"{{{NAMESPACE}}}{_ELEMENT}", dict(self.attributes))

    def member(self, name: str, id: UUID) -> MemberName | None:
        """Return which member the domain is that bears it; ``None``: it was copied from one, with its mark."""
        return self.launch.name if name == self.launch.name or self.of == id else None


def mark_of(element: str) -> DomainMark | None:
    """Read a mark; ``None``: it is none.

    >>> mark_of('<member name="web-k3f9ab-1" made="5" volumes="a b"/>').volumes
    ('a', 'b')
    >>> mark_of('<member name="database"/>') is None
    True
    """
    try:
        read = ElementTree.fromstring(element)  # noqa: S314  # libvirt has parsed it, and written it anew
        launch = LaunchId.parse(read.get("name", ""))
        of, leaving = read.get("of"), read.get("leaving")
        own, made = None if of is None else UUID(of), Instant(float(read.get("made", "")))
        left = None if leaving is None else Instant(float(leaving))
    except (ElementTree.ParseError, ValueError):
        return None
    if launch is None:
        return None
    return DomainMark(
        launch=launch,
        of=own,
        made=made,
        claim=Claim.parse(read.get("claim", "")),
        unfinished=read.get("unfinished") == "yes",
        leaving=left,
        pool=read.get("pool", ""),
        volumes=tuple(read.get("volumes", "").split()),
    )
