"""The user, program or signal that asks for an operation."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from config.units import ROOT_ACCOUNT, AccountId
from handler.identity.grants import EVERYTHING, Grants

NAME_AT_MOST = 64
"""Characters of a name that a caller gives itself."""
UNNAMED = "api"
"""The name of a caller that gives none."""


class Way(enum.Enum):
    """How a request reached the daemon."""

    SOCKET = "socket"
    """The unix socket of the state directory; its mode controls access."""
    TOKEN = "token"  # noqa: S105  # a word, no token
    SESSION = "session"
    """A browser in which a user has logged in."""
    SIGNATURE = "signature"
    """A request that is signed with a user's key pair."""
    WEBHOOK = "webhook"
    SIGNAL = "signal"
    DAEMON = "daemon"
    """The daemon itself, at its start."""
    NONE = "none"
    """TCP without a credential."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a request came from. The caller cannot choose it."""

    way: Way
    peer: str = ""
    """The other end of the connection: ``uid 1000`` on the unix socket, else its address; empty: there is none."""
    credential: str = ""
    """The name of the token, key pair or webhook that was shown; empty: none was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """What asks for an operation, and where it is."""

    name: str
    """What the history records: the user's name. A caller that is no user gives itself a name."""
    origin: Origin
    account: AccountId = ROOT_ACCOUNT
    """Has what it declares."""
    grants: Grants = EVERYTHING
    is_user: bool = False
    is_proved: bool = False
    """The user has shown its password with this very request."""
    because: str = ""
    """The reason that the caller gives, for the audit trail."""

    def called(self, name: str) -> Actor:
        """Return this actor under the name that it gives itself; a user's name stays."""
        return self if self.is_user else replace(self, name=name)


def local(name: str = UNNAMED, peer: str = "") -> Actor:
    """Return a caller on the unix socket."""
    return Actor(name=name, origin=Origin(way=Way.SOCKET, peer=peer))


AT_START = Actor(name="start", origin=Origin(way=Way.DAEMON))
ON_HANGUP = Actor(name="signal HUP", origin=Origin(way=Way.SIGNAL))
"""The signal that makes the daemon read its file again."""
