"""What an operation needs, a verb and what it acts on; and the verbs of each role.

A role has all verbs of the roles before it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from config.model.sections import Section
from config.units import AccountId, GroupId


class Verb(enum.Enum):
    """A kind of operation that a role has or has not."""

    READ = "read"
    """See groups, members, history and explanations as the daemon knows them."""
    METRICS = "metrics"
    """Read the metrics, and discover members for Prometheus."""
    EXAMINE = "examine"
    """Make the daemon query members, clouds or balancers now. Changes nothing."""
    SCALE = "scale"
    """Set a size, execute a policy, raise an alarm."""
    PAUSE = "pause"
    """Pause and resume; freeze, and end a freeze."""
    CONVERGE = "converge"
    """Make a pass now; this confirms many losses at once."""
    MEMBERS = "members"
    """Replace, delete and protect single members."""
    ROLL = "roll"
    """Roll a group and roll it back."""
    TUNE = "tune"
    """Change declarations, balancers of a group, and what is recorded."""
    ADOPT = "adopt"
    """Take machines of the cloud into a group, or release them."""
    DELETE = "delete"
    """Delete an orphaned group; abandon garbage."""
    STORE = "store"
    """Adopt and flush the store."""
    HOOKS = "hooks"
    """Make, rotate, revoke and check webhooks."""
    AUDIT = "audit"
    """Read the audit trail."""
    USERS = "users"
    """Make and change accounts, users and their tokens. A caller who has this verb can give itself every other one."""


@dataclass(frozen=True, slots=True)
class OnGroups:
    """These groups and nothing else."""

    groups: frozenset[GroupId]


@dataclass(frozen=True, slots=True)
class OnInstallation:
    """Every group, also those that are declared later, and the daemon itself."""


@dataclass(frozen=True, slots=True)
class OnWebhook:
    """A webhook, and with it the groups that it may affect."""

    name: str


@dataclass(frozen=True, slots=True)
class OnAccount:
    """An account, with its users and everything that it declares."""

    account: AccountId | None
    """``None``: the caller's own."""


@dataclass(frozen=True, slots=True)
class OnUser:
    """A user, and with it the account that it belongs to."""

    name: str


@dataclass(frozen=True, slots=True)
class OnCredentials:
    """The tokens and key pairs of a user, which are its own if it shows its password (ADR 0081)."""

    name: str


@dataclass(frozen=True, slots=True)
class OnEntity:
    """Something declared, and with it the account that it belongs to."""

    section: Section
    id: str


@dataclass(frozen=True, slots=True)
class OnOwn:
    """Whatever is the caller's: the answer leaves out the rest."""


Reach: TypeAlias = OnGroups | OnInstallation | OnOwn | OnWebhook | OnAccount | OnUser | OnCredentials | OnEntity
INSTALLATION, OWN, OWN_ACCOUNT = OnInstallation(), OnOwn(), OnAccount(None)


@dataclass(frozen=True, slots=True)
class Right:
    """Permission for one verb on one target."""

    verb: Verb
    on: Reach


def on_groups(groups: Iterable[GroupId]) -> OnGroups:
    """Return some groups as a target."""
    return OnGroups(frozenset(groups))


class UserRole(enum.Enum):
    """What a user may do, from least to most."""

    VIEWER = "viewer"
    """Reads."""
    OPERATOR = "operator"
    """Runs the fleet: sizes, pauses, passes, members and rolls."""
    TUNER = "tuner"
    """Changes what is declared and recorded, too."""
    ADMIN = "admin"
    """Does everything."""


_VIEWER = frozenset({Verb.READ, Verb.METRICS})
_OPERATOR = _VIEWER | {Verb.EXAMINE, Verb.SCALE, Verb.PAUSE, Verb.CONVERGE, Verb.MEMBERS, Verb.ROLL}
_TUNER = _OPERATOR | {Verb.TUNE}

VERBS: Mapping[UserRole, frozenset[Verb]] = MappingProxyType(
    {UserRole.VIEWER: _VIEWER, UserRole.OPERATOR: _OPERATOR, UserRole.TUNER: _TUNER, UserRole.ADMIN: frozenset(Verb)}
)
