"""What a NetScaler says over NITRO, as far as membership of service groups goes. Pure.

Every body has an ``errorcode`` beside the HTTP status, and a status of success may come with an error. Numbers are text
or numbers, by version and by field; what stands alone may be an object or a list of one.

Source: NITRO REST API reference, "Error handling", servicegroup_servicegroupmember_binding, servicegroupmember.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address

from config.units import MemberName
from handler.planning.launches import LaunchId
from handler.planning.world import Health, SeatState

Thing = Mapping[str, object]
"""One object of NITRO, as it came."""

NO_SUCH_RESOURCE = 258
MISSING = frozenset({NO_SUCH_RESOURCE, 344})
"""There is no such object; 344, "No Service", is said of services and their groups."""
ALREADY_THERE = 273
NOT_PRIMARY = 1028
EXPIRED = frozenset({444, 1027})
"""The session is over."""
WRONG_PASSWORD = frozenset({354, 355})
"""Or no such user."""
FORBIDDEN = frozenset({257, 2138})
"""The user's command policy does not allow it."""

_PARTIAL_CODE = 1243
_PARTIAL = frozenset({207, 209})
"""Multi-Status, and NITRO's own X-NITRO-WARNING."""
_OK, _BEYOND_OK, _UNAUTHORIZED = 200, 300, 401
_LONGEST = 300
_DRAINING = frozenset({"GOING OUT OF SERVICE", "DOWN WHEN GOING OUT OF SERVICE", "TROFS", "TROFS_DOWN"})
_HEALTH: Mapping[str, Health] = {"UP": Health.HEALTHY, "DOWN": Health.FAILING}
_PARTS = 3
"""Of what a group member is called in statistics: ``group?server?port``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An answer that says what was asked, or that something was done."""

    document: Thing
    doubt: str = ""
    """Why it may not be whole, in the appliance's own words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What the appliance said instead."""

    code: int
    """0: only the HTTP status says so."""
    status: int
    said: str


class Unreadable(Exception):
    """An answer that is not NITRO's."""


def decode(status: int, body: bytes) -> Said | Refusal:
    """Open the envelope.

    >>> decode(200, b'{"errorcode": 0, "message": "Done", "server": [{"name": "a"}]}').document["server"]
    [{'name': 'a'}]
    >>> decode(409, b'{"errorcode": 273, "message": "Resource already exists", "severity": "ERROR"}')
    Refusal(code=273, status=409, said='error 273: Resource already exists')
    >>> decode(201, b"")
    Said(document={}, doubt='')

    Raises:
        Unreadable: no JSON object, or none of NITRO's.
    """
    ok = _OK <= status < _BEYOND_OK
    if not body.strip() and ok:
        return Said(document={})
    document = _object(body)
    if document is None and not ok:
        return Refusal(code=0, status=status, said=f"HTTP {status}")
    code = None if document is None else _code(document)
    if document is None or code is None:
        raise Unreadable(f"HTTP {status}, and no answer of NITRO")
    message = shown(str(document.get("message", "")))
    said = f"error {code}: {message}" if code else message or f"HTTP {status}"
    if code == _PARTIAL_CODE or status in _PARTIAL or (ok and document.get("severity") == "WARNING"):
        return Said(document=document, doubt=said)
    return Said(document=document) if ok and not code else Refusal(code=code, status=status, said=said)


def is_expired(refusal: Refusal) -> bool:
    """Whether logging in anew may help."""
    return refusal.code in EXPIRED or (refusal.code == 0 and refusal.status == _UNAUTHORIZED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One member of a service group."""

    server: str
    address: str
    port: int
    state: SeatState
    health: Health
    """What monitors say, if there are any."""


def bindings(document: Thing) -> tuple[Binding, ...]:
    """Read ``servicegroup_servicegroupmember_binding``. A member that is out of service has finished: it is PARKED.

    >>> one = {"servername": "web-k3f9ab-1", "ip": "10.0.0.7", "port": 80, "state": "ENABLED", "svrstate": "UP"}
    >>> [found] = bindings({"servicegroup_servicegroupmember_binding": [one]})
    >>> found.server, found.port, found.state, found.health
    ('web-k3f9ab-1', 80, <SeatState.SERVING: 'serving'>, <Health.HEALTHY: 'healthy'>)

    Raises:
        Unreadable: a member lacks name, address, port or state.
    """
    return tuple(_binding(thing) for thing in things(document, "servicegroup_servicegroupmember_binding"))


def _binding(thing: Thing) -> Binding:
    server, address, state = text(thing, "servername"), text(thing, "ip"), text(thing, "state")
    port, word = _whole(thing.get("port")), text(thing, "svrstate")
    if not (server and address and port is not None and state in {"ENABLED", "DISABLED"}):
        raise Unreadable("a member of the service group without name, address, port or state")
    if state == "ENABLED":
        seat, health = SeatState.SERVING, _HEALTH.get(word, Health.UNKNOWN)
    else:
        seat, health = SeatState.DRAINING if word in _DRAINING else SeatState.PARKED, Health.UNKNOWN
    return Binding(server=server, address=plain(address), port=port, state=seat, health=health)


def connections(document: Thing) -> Mapping[tuple[str, int], int]:
    """Read ``stat/servicegroup?statbindings=yes``: (server, port) → ``cursrvrconnections``.

    What cannot be read is left out, since it is not zero.

    >>> member = {"servicegroupname": "web?web-k3f9ab-1?80", "cursrvrconnections": "5"}
    >>> connections({"servicegroup": [{"servicegroupmember": [member, {"servicegroupname": "web"}]}]})
    {('web-k3f9ab-1', 80): 5}
    """
    found: dict[tuple[str, int], int] = {}
    for group in things(document, "servicegroup"):
        for member in things(group, "servicegroupmember"):
            parts = text(member, "servicegroupname").split("?")
            port = _whole(parts[-1])
            count = _whole(member.get("cursrvrconnections"))
            if len(parts) == _PARTS and port is not None and count is not None:
                found[parts[1], port] = count
    return found


def members(found: Iterable[Binding]) -> Mapping[MemberName, tuple[Binding, ...]]:
    """Sort bindings by member; those of others are left out."""
    ours: dict[MemberName, tuple[Binding, ...]] = {}
    for binding in found:
        if LaunchId.parse(binding.server) is not None:
            name = MemberName(binding.server)
            ours[name] = (*ours.get(name, ()), binding)
    return ours


def things(document: Thing, kind: str) -> Iterator[Thing]:
    """The objects of a kind, whether they come as a list or alone."""
    found = document.get(kind)
    for thing in found if isinstance(found, list) else [found]:
        if isinstance(thing, dict):
            yield thing


def text(thing: Thing, key: str) -> str:
    """A name or an address; empty where there is none."""
    found = thing.get(key)
    return found if isinstance(found, str) else ""


def plain(address: str) -> str:
    """One way to write each address; what is none, as it is."""
    try:
        return ip_address(address).compressed
    except ValueError:
        return address


def shown(said: str) -> str:
    """What the other side said, fit for one line of a message."""
    line = " ".join("".join(character if character.isprintable() else " " for character in said).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _object(body: bytes) -> Thing | None:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _code(document: Thing) -> int | None:
    return _whole(document.get("errorcode", 0))


def _whole(found: object) -> int | None:
    if isinstance(found, str) and found.isascii() and found.isdecimal() and len(found) <= 18:  # noqa: PLR2004 64 bits
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
