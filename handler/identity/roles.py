"""The verbs of each role. A role has all verbs of the roles before it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

from handler.identity.rights import Verb


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
