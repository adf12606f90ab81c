"""Parts of a simulated cloud's servers: ready as soon as they are made, and gone as soon as they are removed. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from config.units import MemberName, PartName
from handler.planning.world import MadePart, PartListing, PartState

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedPart:
    """One part, as stored."""

    number: int
    """Its number in the order of creation, from 1."""
    member: str
    """The member in its mark; empty: it is released."""
    name: str
    there: bool = True

    @property
    def seen(self) -> MadePart:
        """Return the part in the port's form."""
        return MadePart(name=PartName(self.name), id=f"sim-part-{self.number}", state=PartState.READY)


class PlayedParts:
    """The parts of one cloud."""

    def __init__(self) -> None:
        self._parts: dict[int, PlayedPart] = {}
        self._marked: dict[_Key, PlayedPart] = {}
        """Marked parts, by their mark."""
        self._changed: dict[int, PlayedPart] = {}
        self._last = 0

    def of(self, mark: str | None) -> PartListing:
        """Return the parts of one group's members; ``None``: of all members."""
        shown = [part for part in self.there() if part.member and mark in {None, part.member.rpartition("-")[0]}]
        return PartListing(parts=tuple((MemberName(part.member), part.seen) for part in shown), complete=True)

    def find(self, member: str, name: str) -> MadePart | None:
        """Return a part; ``None``: it does not exist."""
        part = self._marked.get((member, name))
        return None if part is None else part.seen

    def make(self, member: str, name: str) -> None:
        """Create a part, unless it exists."""
        if (member, name) not in self._marked:
            self.put(PlayedPart(number=self._last + 1, member=member, name=name))

    def remove(self, member: str, name: str) -> None:
        """Remove a part, if it exists."""
        if (part := self._marked.get((member, name))) is not None:
            self.put(replace(part, there=False))

    def release(self, member: str, name: str) -> None:
        """Remove the mark from a part, if it exists."""
        if (part := self._marked.get((member, name))) is not None:
            self.put(replace(part, member=""))

    def put(self, part: PlayedPart) -> None:
        """Set a part to a stored value, whatever it was."""
        self._last = max(self._last, part.number)
        self._changed[part.number] = part
        before = self._parts.pop(part.number, part)
        self._marked.pop((before.member, before.name), None)
        if part.there:
            self._parts[part.number] = part
        if part.there and part.member:
            self._marked[part.member, part.name] = part

    def there(self) -> Iterator[PlayedPart]:
        """Yield all existing parts, released ones too, in the order of creation."""
        return (self._parts[number] for number in sorted(self._parts))

    def changes(self) -> tuple[PlayedPart, ...]:
        """Return the changes since the last call, to be stored."""
        changed = tuple(self._changed.values())
        self._changed.clear()
        return changed
