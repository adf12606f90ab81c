"""Decode Nova's answers. Pure: each function takes decoded JSON of any shape.

Source: Compute API reference, microversions 2.37 to 2.69; the shapes are those of Nova 26.2 (Zed). States: the Compute
API guide, "Server concepts"; their roles are those of Otter's planner, extended by the states that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from collector.clients.openstack.parsing import MEMBER, entries, mapping, shown, text
from config.model.recipes import Reach
from config.units import Instant, MemberName
from handler.planning.launches import Claim, LaunchId
from handler.planning.world import ServerState

STATES: Final[Mapping[str, ServerState]] = MappingProxyType(
    {
        "ACTIVE": ServerState.RUNNING,
        "BUILD": ServerState.BUILDING,
        "ERROR": ServerState.ERROR,
        "SHUTOFF": ServerState.STOPPED,
        **dict.fromkeys(
            ("REBOOT", "HARD_REBOOT", "MIGRATING", "PASSWORD", "REBUILD", "RESIZE", "REVERT_RESIZE"),
            ServerState.PASSING,
        ),
        **dict.fromkeys(
            ("RESCUE", "VERIFY_RESIZE", "SUSPENDED", "PAUSED", "SHELVED", "SHELVED_OFFLOADED"), ServerState.PARKED
        ),
        "UNKNOWN": ServerState.UNKNOWN,
    }
)
"""``status`` → state, of existing servers."""

GONE: Final = frozenset({"DELETED", "SOFT_DELETED"})
"""``status`` of servers that are gone, though Nova may still list them: a definite not-found."""

_GOING: Final = frozenset({"deleting", "soft-deleting", "force_deleting"})


def nova_state(status: str, task: str | None = None) -> ServerState | None:
    """Translate a server's ``status`` and ``OS-EXT-STS:task_state``; ``None``: it is gone, and is left out.

    A server with an unknown status counts as present and is not touched.

    >>> nova_state("SHELVED_OFFLOADED"), nova_state("ACTIVE", "deleting"), nova_state("SOFT_DELETED")
    (<ServerState.PARKED: 'parked'>, <ServerState.DELETING: 'deleting'>, None)
    """
    if status in GONE:
        return None
    return ServerState.DELETING if task in _GOING else STATES.get(status, ServerState.UNKNOWN)


INSTALLATION, GROUP = "trimtab.installation", "trimtab.group"
"""Metadata keys of the mark, beside `MEMBER`."""
CLAIM = "trimtab.claim"
KEYS = (MEMBER, INSTALLATION, GROUP, CLAIM)
_NETWORK, _VERSION = "trimtab.network", "trimtab.ip"
_STOPPING = "powering-off"


def mark_of(id: LaunchId) -> dict[str, str]:
    """Return a new server's mark, for the call that creates it.

    >>> mark_of(LaunchId(installation="k3f9ab", group="web", sequence=12))["trimtab.member"]
    'web-k3f9ab-12'
    """
    return {MEMBER: id.name, INSTALLATION: id.installation, GROUP: id.group}


def claim_of(claim: Claim | None) -> dict[str, str]:
    """Return the claim as metadata; empty: there is none."""
    return {} if claim is None else {CLAIM: claim.text}


def reach_of(reach: Reach) -> dict[str, str]:
    """Return which of its addresses reaches a server, as metadata: listings do not know the profile."""
    network = {} if reach.network is None else {_NETWORK: reach.network}
    return network | ({} if reach.version is None else {_VERSION: str(reach.version)})


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenstackServer:
    """One server, of any owner."""

    id: str
    name: str
    mark: LaunchId | None
    """``None``: there is none, or it contradicts itself."""
    status: str
    """In Nova's terms, like the following fields."""
    task: str
    fault: str
    address: str | None
    zone: str | None
    created_at: Instant
    claim: Claim | None = None

    @property
    def is_gone(self) -> bool:
        """Return whether it is deleted; Nova may still list it."""
        return self.status in GONE

    @property
    def is_stopping(self) -> bool:
        """Return whether it is stopping."""
        return self.task == _STOPPING

    @property
    def state(self) -> ServerState:
        """Return its state for planning."""
        return nova_state(self.status, self.task or None) or ServerState.DELETING

    @property
    def word(self) -> str:
        """Return its state and fault, for people."""
        task = f" ({self.task})" if self.task else ""
        return f"{self.status}{task}: {self.fault}" if self.fault else f"{self.status}{task}"


def machine_of(entry: object) -> OpenstackServer | None:
    """Read one server; ``None``: the entry is not a server, or lacks its identity.

    >>> nic = {"version": 4, "addr": "10.20.2.206", "OS-EXT-IPS:type": "fixed"}
    >>> entry = {"id": "5b3f", "name": "web-k3f9ab-1", "status": "ACTIVE", "created": "2026-01-31T10:00:00Z"}
    >>> mark = {"trimtab.member": "web-k3f9ab-1", "trimtab.installation": "k3f9ab", "trimtab.group": "web"}
    >>> machine = machine_of(entry | {"metadata": mark, "addresses": {"net": [nic]}})
    >>> machine.address, machine.mark.sequence, machine.created_at
    ('10.20.2.206', 1, 1769853600.0)
    """
    if not isinstance(entry, Mapping) or not isinstance(entry.get("metadata"), Mapping):
        return None
    own_id, status, created_at = text(entry, "id"), text(entry, "status"), _instant(text(entry, "created"))
    if not (own_id and status) or created_at is None:
        return None
    metadata = mapping(entry, "metadata")
    return OpenstackServer(
        id=own_id,
        name=text(entry, "name"),
        mark=_mark(metadata),
        status=status,
        task=text(entry, "OS-EXT-STS:task_state"),
        fault=shown(text(mapping(entry, "fault"), "message")),
        address=_address(mapping(entry, "addresses"), text(metadata, _NETWORK), text(metadata, _VERSION)),
        zone=text(entry, "OS-EXT-AZ:availability_zone") or None,
        created_at=created_at,
        claim=Claim.parse(text(metadata, CLAIM)),
    )


def is_stub(entry: object) -> bool:
    """Return whether this is Nova's stub of a server in a cell that is down: without name and metadata.

    Source: Compute API reference, microversion 2.69.

    >>> is_stub({"id": "5b3f", "status": "UNKNOWN", "created": "2026-01-31T10:00:00Z", "tenant_id": "3f52"})
    True
    """
    return isinstance(entry, Mapping) and "metadata" not in entry and text(entry, "status") == "UNKNOWN"


def _mark(metadata: Mapping[str, object]) -> LaunchId | None:
    launch = LaunchId.parse(text(metadata, MEMBER))
    if launch is None or any(metadata.get(key) != value for key, value in mark_of(launch).items()):
        return None
    return launch


def _address(addresses: Mapping[str, object], network: str, version: str) -> str | None:
    """Return a fixed address: of the first allowed network, and there version 4 before 6."""
    for name in addresses:
        if network in {"", name}:
            fixed = dict(_fixed(entries(addresses, name) or ()))
            for wanted in (version,) if version else ("4", "6"):
                if wanted in fixed:
                    return fixed[wanted]
    return None


def _fixed(given: tuple[object, ...]) -> Iterator[tuple[str, str]]:
    """Yield version and address; the first of a version last, so that it wins in a mapping."""
    for nic in reversed(given):
        if isinstance(nic, Mapping) and nic.get("OS-EXT-IPS:type", "fixed") == "fixed" and text(nic, "addr"):
            yield str(nic.get("version")), text(nic, "addr")


def _instant(written: str) -> Instant | None:
    try:
        moment = datetime.fromisoformat(written)
        return Instant(moment.timestamp()) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


# Answers.


def id_of(body: object) -> str:
    """Return the id of the accepted server; empty: it is missing."""
    return text(mapping(body, "server"), "id")


def server_in(body: object) -> OpenstackServer | None:
    """Return the server in an answer about a single one."""
    return machine_of(mapping(body, "server"))


def bearing(machines: Iterable[OpenstackServer], name: MemberName) -> tuple[OpenstackServer, ...]:
    """Return this member's servers: its name first, then the oldest. One, unless another client created more."""
    there = (machine for machine in machines if machine.mark is not None and machine.mark.name == name)
    return tuple(
        sorted(there, key=lambda machine: (machine.name != name, machine.created_at, machine.id)),
    )
