"""Decode CloudStack's virtual machines. Pure: each function takes decoded JSON of any shape.

Source: the wire protocol of CloudStack 4.22 and ``VirtualMachine.State``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from collector.clients.cloudstack.parsing import tags_of, text
from config.units import Instant, Seconds
from handler.orchestrators.cloudstack.names import CLAIM, MARK, RELEASED, TAG
from handler.planning.launches import Claim
from handler.planning.world import ServerState

_STATES = {
    "Starting": ServerState.BUILDING,
    "Running": ServerState.RUNNING,
    "Migrating": ServerState.PASSING,
    "Stopping": ServerState.PASSING,
    "Restoring": ServerState.PASSING,
    "Stopped": ServerState.STOPPED,
    "Shutdown": ServerState.STOPPED,
    "Error": ServerState.ERROR,
    "Expunging": ServerState.DELETING,
}
_GONE = "Destroyed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackMachine:
    """One entry of ``listVirtualMachines``, of any owner."""

    id: str
    host: str
    display: str
    mark: str | None
    """``None``: there is none, or the cloud does not show details."""
    tag: str | None
    """The member that it became by adoption."""
    released: bool
    """It was released from Trimtab."""
    word: str
    """Its state in CloudStack's terms."""
    busy: bool
    """A job is changing it."""
    address: str | None
    zone: str | None
    created_at: Instant
    claim: Claim | None = None
    """The higher one of its detail and its tag: the detail is written once, when the machine is created."""
    claim_tag: str = ""
    """The claim's tag; empty: there is none."""

    @property
    def is_gone(self) -> bool:
        """Return whether it is destroyed: it no longer serves, and only a person could recover it."""
        return self.word == _GONE

    @property
    def last_word(self) -> str | None:
        """Return the identity in the tags; ``None``: there is none."""
        return RELEASED if self.tag is None and self.released else self.tag

    def state(self, now: Instant, settling: Seconds) -> ServerState:
        """Return its state. A new machine is Stopped until its start begins: for ``settling`` seconds that is building.

        An unknown state is UNKNOWN: the machine is not touched.
        """
        if self.word == "Stopped" and (self.busy or now - self.created_at < settling):
            return ServerState.BUILDING
        return _STATES.get(self.word, ServerState.UNKNOWN)


def machine_of(entry: object) -> CloudstackMachine | None:
    """Read one machine; ``None``: the entry is not a machine, or lacks its identity.

    >>> nic = {"isdefault": True, "ipaddress": "10.1.1.7"}
    >>> entry = {"id": "7c1b", "name": "web-k3f9ab-1", "state": "Running", "created": "2026-01-31T10:00:00+0000"}
    >>> machine = machine_of(entry | {"nic": [nic], "details": {"trimtab": "web-k3f9ab-1"}})
    >>> machine.address, machine.mark, machine.created_at
    ('10.1.1.7', 'web-k3f9ab-1', 1769853600.0)
    """
    if not isinstance(entry, Mapping):
        return None
    own_id, host, word = text(entry, "id"), text(entry, "name"), text(entry, "state")
    created_at = _instant(text(entry, "created"))
    if not (own_id and host and word) or created_at is None:
        return None
    details, tags = entry.get("details"), tags_of(entry.get("tags"))
    return CloudstackMachine(
        id=own_id,
        host=host,
        display=text(entry, "displayname"),
        mark=(text(details, MARK) or None) if isinstance(details, Mapping) else None,
        tag=tags.get(TAG),
        released=RELEASED in tags,
        word=word,
        busy=bool(text(entry, "jobid")) and entry.get("jobstatus") == 0,
        address=_address(entry.get("nic")),
        zone=text(entry, "zonename") or None,
        created_at=created_at,
        claim=_claim(text(details, CLAIM) if isinstance(details, Mapping) else "", tags.get(CLAIM, "")),
        claim_tag=tags.get(CLAIM, ""),
    )


def _claim(*texts: str) -> Claim | None:
    claims = (Claim.parse(each) for each in texts)
    return max((claim for claim in claims if claim is not None), default=None)


def _address(nics: object) -> str | None:
    given = [nic for nic in nics if isinstance(nic, Mapping)] if isinstance(nics, list) else []
    for nic in sorted(given, key=lambda nic: nic.get("isdefault") is not True):
        if address := text(nic, "ipaddress") or text(nic, "ip6address"):
            return address
    return None


def _instant(written: str) -> Instant | None:
    try:
        moment = datetime.fromisoformat(written)
        return Instant(moment.timestamp()) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


# Pages.


# Names.


# Jobs.


# Errors.
