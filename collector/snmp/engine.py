"""The port to a library that speaks SNMP: sessions with agents, and what can be wrong with an answer."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from collector.samples import Reply
from collector.snmp.agents import Agent
from config.units import Seconds

Raw = int | float | bytes | str | None
"""A value as libraries hand it over, without its ASN.1 type: integers of every kind and times as ``int``, strings and
Opaque as ``bytes``, OIDs and addresses as ``str``; ``None``: the agent says that it has no such object or instance."""

Varbinds = Mapping[str, Raw]
"""By OID, in the order of the answer."""

UPTIME = "1.3.6.1.2.1.1.3.0"
"""SNMPv2-MIB::sysUpTime.0, in hundredths of a second."""


class Cure(enum.Enum):
    """What may help against a trouble, now."""

    NONE = enum.auto()
    SPLIT = enum.auto()
    """To ask for less at a time: the answer was refused as a whole, was too large, or was spoilt by one value."""
    PATIENCE = enum.auto()
    """To ask once more, and to wait longer."""
    RENEWAL = enum.auto()
    """A new session: the agent is not the one with which this session was begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why there is no answer."""

    reply: Reply
    detail: str
    """For people, without secrets."""
    cure: Cure = Cure.NONE


class SnmpSession(Protocol):
    """A conversation with one agent, one request at a time. A cancelled request leaves it usable."""

    async def get(self, oids: Sequence[str], patience: Seconds) -> Varbinds | Trouble:
        """Ask for these objects in one request. An answer has every one of them."""
        ...

    async def after(self, oid: str, most: int, patience: Seconds) -> Varbinds | Trouble:
        """Ask for up to ``most`` objects that follow an OID, in one request. Empty: the agent has none any more."""
        ...

    def close(self) -> None:
        """Give back its socket."""
        ...


class Library(Protocol):
    """A library that speaks SNMP; for one event loop."""

    async def open(self, agent: Agent, address: str, patience: Seconds) -> SnmpSession | Trouble:
        """Begin to speak with an agent.

        Args:
            agent: its address, and the identity to ask it with.
            address: of the agent, numeric.
            patience: for each request that this may take.
        """
        ...

    async def close(self) -> None:
        """Give back what is shared by sessions, which are closed already."""
        ...


def silence(agent: Agent) -> Trouble:
    """Say what silence may mean: an agent does not answer identities that it does not know."""
    return Trouble(reply=Reply.TIMEOUT, detail=agent.identity.silence, cure=Cure.PATIENCE)


STATUSES: Mapping[int, Trouble] = {
    1: Trouble(reply=Reply.INCOMPLETE, detail="tooBig: the answer does not fit into one message", cure=Cure.SPLIT),
    2: Trouble(reply=Reply.NO_SUCH_COUNTER, detail="noSuchName", cure=Cure.SPLIT),
    5: Trouble(reply=Reply.INCOMPLETE, detail="genErr: the agent could not read it", cure=Cure.SPLIT),
    6: Trouble(reply=Reply.AUTH, detail="noAccess", cure=Cure.SPLIT),
    13: Trouble(reply=Reply.INCOMPLETE, detail="resourceUnavailable", cure=Cure.SPLIT),
    16: Trouble(
        reply=Reply.AUTH, detail="authorizationError: the agent's access rules do not let us read", cure=Cure.SPLIT
    ),
}
"""By error-status. Source: RFC 3416, section 3."""

FAULT = Trouble(reply=Reply.INCOMPLETE, detail="the agent answers with an error", cure=Cure.SPLIT)
"""Any other error-status, or one that cannot be known."""

NO_SUCH_NAME = 2

REPORTS: Mapping[int, str] = {
    1: "the agent does not speak with this user at this level: look whether auth and priv are both due",
    2: "the agent does not accept our clock for its own",
    3: "the agent knows no such user",
    5: "wrong password, or another protocol than the agent's: the signature is not believed",
    6: "the agent cannot decrypt what we send: look at priv and its password",
}
"""By the last arc but one of the counter in a report. Source: SNMP-USER-BASED-SM-MIB, usmStats (RFC 3414)."""
