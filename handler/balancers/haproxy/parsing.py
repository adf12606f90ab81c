"""Decode HAProxy's runtime API strictly: an answer is used only if all of it is understood.

Source: HAProxy management guide 2.6, sections 9.1 (statistics) and 9.3 (runtime API).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from handler.planning.world import Health, RegistrationState

_PARKED_BITS = 0x01 | 0x02 | 0x20
"""``srv_admin_state``: maintenance by command, inherited, or because of an unresolved name. 0x04, ``disabled`` in the
configuration, stays when the server is made ready: while it counts, 0x01 stands beside it."""

_DRAINING_BITS = 0x08 | 0x10
"""``srv_admin_state``: drain by command, or inherited."""

_AGENT_BIT = 0x04
"""``srv_agent_state``: an agent check runs, and may set the weight."""

_CHECKED_BIT = 0x02
"""``srv_check_state``: a health check is configured."""

_SERVERS_VERSION = "1"

_BACKEND_LINE = "BACKEND"
"""``svname`` of a backend's own line."""

_UNCHECKED = "INI"
"""``check_status``: no check has been made yet."""

_HEALTH: Mapping[str, Health | None] = {
    "UP": Health.HEALTHY,
    "DOWN": Health.FAILING,
    "DOWN (agent)": Health.FAILING,
    "no check": None,
}


class UnreadableAnswer(Exception):
    """The answer is cut short, or not of the documented form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HaproxyServer:
    """One server line of a backend."""

    name: str
    address: IPv4Address | IPv6Address | None
    """``None``: a name that is resolved at run time."""
    port: int
    state: RegistrationState
    checked: bool
    host: str | None = None
    """The configured host name, instead of an address."""
    weight: int = 1
    """Its present weight; with 0 it gets no new work."""
    configured: int = 1
    """The configured weight."""
    has_agent: bool = False
    """An agent check sets the weight: the server itself chooses it."""

    @property
    def is_reweighted(self) -> bool:
        """Return whether its weight was changed over the runtime API."""
        return self.weight != self.configured and not self.has_agent


@dataclass(frozen=True, slots=True, kw_only=True)
class HaproxyProcess:
    """The HAProxy process that answered."""

    pid: int
    version: tuple[int, int]
    started: str
    """Seconds since the epoch, as HAProxy prints it; empty: it does not."""


def read_backends(answer: str) -> frozenset[str]:
    r"""Read ``show backend``: the names of all backends of the process.

    >>> sorted(read_backends("# name\nweb\nother\n\n"))
    ['other', 'web']

    Raises:
        Unreadable: as the class says.
    """
    lines = _lines(answer)
    if lines[:1] != ["# name"]:
        raise UnreadableAnswer(f"backends of another form: {answer[:80]!r}")
    return frozenset(lines[1:])


def read_servers(answer: str) -> Mapping[str, HaproxyServer]:
    """Read ``show servers state BACKEND``: servers by name.

    Raises:
        Unreadable: as the class says.
    """
    match _lines(answer):
        case [version, head, *rows] if version == _SERVERS_VERSION and head.startswith("# "):
            columns = head.removeprefix("# ").split(" ")
        case _:
            raise UnreadableAnswer(f"servers state of another form: {answer[:80]!r}")
    servers = [_server(dict(zip(columns, row.split(" "), strict=False))) for row in rows]
    return {server.name: server for server in servers}


def _server(row: Mapping[str, str]) -> HaproxyServer:
    try:
        weight, has_agent = int(row["srv_uweight"]), bool(int(row["srv_agent_state"]) & _AGENT_BIT)
        return HaproxyServer(
            name=row["srv_name"],
            address=None if row["srv_addr"] == "-" else ip_address(row["srv_addr"]),
            port=int(row["srv_port"]),
            state=_state(int(row["srv_admin_state"]), weightless=weight == 0 and not has_agent),
            checked=bool(int(row["srv_check_state"]) & _CHECKED_BIT),
            host=None if row.get("srv_fqdn", "-") == "-" else row["srv_fqdn"],
            weight=weight,
            configured=int(row["srv_iweight"]),
            has_agent=has_agent,
        )
    except (KeyError, ValueError) as problem:
        raise UnreadableAnswer(f"server line of another form: {dict(row)}") from problem


def _state(admin: int, *, weightless: bool) -> RegistrationState:
    """Return a server's state. With weight 0 it finishes its current work, as in drain; Note [Weights]."""
    if admin & _PARKED_BITS:
        return RegistrationState.PARKED
    return RegistrationState.DRAINING if weightless or admin & _DRAINING_BITS else RegistrationState.SERVING


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLoad:
    """The statistics of one server."""

    sessions: int
    """Current sessions."""
    health: Health | None


def of_backend(answer: str, backend: str) -> str | None:
    r"""Return the head and one backend's lines of ``show stat``; ``None``: the answer does not show the backend.

    A frontend may have a backend's name, and of two proxies with a name HAProxy shows the first.

    >>> of_backend("# pxname,svname,\nweb,a,\nweb,BACKEND,\nweb2,b,\n\n", "web")
    '# pxname,svname,\nweb,a,\nweb,BACKEND,\n\n'
    >>> of_backend("# pxname,svname,\n\n", "web") is None
    True

    Raises:
        Unreadable: as the class says.
    """
    head, *lines = _lines(answer) or [""]
    own = [line for line in lines if line.startswith(f"{backend},")]
    if not any(line.startswith(f"{backend},{_BACKEND_LINE},") for line in own):
        return None
    return "\n".join([head, *own, "", ""])


def read_loads(answer: str) -> Mapping[str, ServerLoad]:
    """Read the lines of one backend of ``show stat``: by server name.

    Raises:
        Unreadable: as the class says.
    """
    try:
        return {
            row["svname"]: ServerLoad(sessions=int(row["scur"]), health=health_of(row["status"], row["check_status"]))
            for row in _statistics(answer)
            if row["svname"] != _BACKEND_LINE
        }
    except (KeyError, ValueError) as problem:
        raise UnreadableAnswer(f"statistics of another form: {answer[:80]!r}") from problem


def health_of(status: str, check: str) -> Health | None:
    """Return the health in a server's ``status`` and ``check_status``; ``None``: it is not checked.

    A server counts as UP before its first check (``INI``), which is no evidence.

    HAProxy counts several results before it changes a state: ``UP 1/3`` has failed lately, ``DOWN 1/2`` has answered
    lately, and neither is conclusive. ``NOLB`` answers, and asks for no new work (``disable-on-404``); ``DRAIN`` and
    ``MAINT`` hide the result of the check.

    >>> health_of("UP", "L7OK"), health_of("DOWN 1/2", "L7OK"), health_of("no check", "")
    (<Health.HEALTHY: 'healthy'>, <Health.UNKNOWN: 'unknown'>, None)
    """
    if check == _UNCHECKED:
        return Health.UNKNOWN
    return _HEALTH.get(status, Health.UNKNOWN)


def read_algorithm(answer: str) -> str:
    """Read the line of one backend of ``show stat``: its ``balance``.

    Raises:
        Unreadable: as the class says.
    """
    rows = _statistics(answer)
    if len(rows) != 1 or not rows[0].get("algo"):
        raise UnreadableAnswer(f"statistics of a backend of another form: {answer[:80]!r}")
    return rows[0]["algo"]


def _statistics(answer: str) -> list[dict[str, str]]:
    lines = _lines(answer)
    if not lines or not lines[0].startswith("# pxname,"):
        raise UnreadableAnswer(f"statistics of another form: {answer[:80]!r}")
    lines[0] = lines[0].removeprefix("# ")
    return list(csv.DictReader(lines))


def read_process(answer: str) -> HaproxyProcess:
    """Read ``show info``.

    Raises:
        Unreadable: as the class says.
    """
    facts = dict(line.split(": ", 1) for line in _lines(answer) if ": " in line)
    version = re.match(r"(\d+)\.(\d+)", facts.get("Version", ""))
    pid = facts.get("Pid", "")
    if version is None or not pid.isdecimal():
        raise UnreadableAnswer(f"process facts of another form: {answer[:80]!r}")
    return HaproxyProcess(
        pid=int(pid),
        version=(int(version[1]), int(version[2])),
        started=facts.get("Start_time_sec", ""),
    )


def read_map(answer: str) -> Mapping[str, str]:
    r"""Read ``show map FILE``: keys and values.

    >>> read_map("0x55e7a2ef2490 10.0.0.7:80 web-k3f9ab-1\n\n"), read_map("\n")
    ({'10.0.0.7:80': 'web-k3f9ab-1'}, {})

    Raises:
        Unreadable: as the class says.
    """
    if answer == "\n":
        return {}
    entries = [line.split(" ", 2) for line in _lines(answer)]
    if not all(len(entry) == 3 and entry[0].startswith("0x") for entry in entries):  # noqa: PLR2004 reference, key, value
        raise UnreadableAnswer(f"a map of another form: {answer[:80]!r}")
    return {key: value for _, key, value in entries}


def _lines(answer: str) -> list[str]:
    if not answer.endswith("\n\n"):
        raise UnreadableAnswer(f"an answer without its end: {answer[-80:]!r}")
    return answer.strip().splitlines()
