"""Match a NetScaler's services or group members with our members. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from collector.clients.http.failures import HttpFailure
from collector.clients.nitro.parsing import Thing, plain, text
from collector.samples import Reply
from collector.targets import MemberTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class Bindings:
    """The bindings of a service group or a virtual server, by name and by address."""

    by_name: Mapping[str, Sequence[Thing]]
    """Name of the service, or of the group member's server."""
    by_address: Mapping[str, Sequence[Thing]]

    @classmethod
    def of(cls, found: Iterable[Thing]) -> Bindings:
        """Index services and group members; the latter are named ``group?server?port``."""
        by_name: dict[str, list[Thing]] = {}
        by_address: dict[str, list[Thing]] = {}
        for thing in found:
            for name in _names(thing):
                by_name.setdefault(name, []).append(thing)
            if address := text(thing, "primaryipaddress"):
                by_address.setdefault(plain(address), []).append(thing)
        return cls(by_name=by_name, by_address=by_address)

    def of_member(self, member: MemberTarget, doubt: str = "") -> Thing | HttpFailure:
        """Return this member's binding: it has the member's address or name, or its address as a name.

        If several match, the result is AMBIGUOUS: the right port is unknown, or a name or an address is out of date.

        Args:
            member: the member to find.
            doubt: why the answer may be incomplete; a missing member is then INCOMPLETE instead of REFUSED.
        """
        found: list[Thing] = []
        for thing in (
            *self.by_name.get(member.name, ()),
            *self.by_name.get(member.address, ()),
            *self.by_address.get(plain(member.address), ()),
        ):
            if all(thing is not other for other in found):
                found.append(thing)
        match found:
            case [thing]:
                return thing
            case []:
                detail = f"nothing is bound with the address {member.address}, or as {member.name}"
                return _missing(detail, doubt)
            case _:
                named = ", ".join(sorted("/".join(_names(thing)) or text(thing, "primaryipaddress") for thing in found))
                return HttpFailure(
                    reply=Reply.AMBIGUOUS, detail=f"{len(found)} bindings have its address or name: {named}"
                )


def only(found: Iterable[Thing], kind: str, name: str, doubt: str = "") -> Thing | HttpFailure:
    """Return the virtual server or service group with this name, in any case."""
    key = "servicegroupname" if kind == "servicegroup" else "name"
    match [thing for thing in found if (text(thing, key) or name).casefold() == name.casefold()]:
        case [thing]:
            return thing
        case []:
            return _missing(f"no {kind} {name} in the answer", doubt)
        case several:
            return HttpFailure(reply=Reply.AMBIGUOUS, detail=f"the answer has {len(several)} entries for {kind} {name}")


def _missing(detail: str, doubt: str) -> HttpFailure:
    if doubt:
        return HttpFailure(reply=Reply.INCOMPLETE, detail=f"{detail}; the answer is incomplete: {doubt}")
    return HttpFailure(reply=Reply.REFUSED, detail=detail)


def _names(thing: Thing) -> Sequence[str]:
    parts = text(thing, "servicegroupname").split("?")
    server = parts[1] if len(parts) == 3 else ""  # noqa: PLR2004  group, server, port
    return tuple(name for name in (text(thing, "name"), server) if name)
