"""Nova's words for a server → what planning needs to know. Pure: a table, for whoever speaks to Nova.

Source: OpenStack Compute API guide, "Server concepts"; the roles are those of Otter's planner, with
the words that it forgot.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

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
"""``status`` → state, of servers that are there."""

GONE: Final = frozenset({"DELETED", "SOFT_DELETED"})
"""``status`` of servers that are not there any more, though Nova may still show them: a definite not-found."""

_GOING: Final = frozenset({"deleting", "soft-deleting", "force_deleting"})


def nova_state(status: str, task: str | None = None) -> ServerState | None:
    """Say what ``status`` and ``OS-EXT-STS:task_state`` of a server mean; ``None``: it is gone, and is not listed.

    A word that is not known says nothing: the server counts as present and is left alone.

    >>> nova_state("SHELVED_OFFLOADED"), nova_state("ACTIVE", "deleting"), nova_state("SOFT_DELETED")
    (<ServerState.PARKED: 'parked'>, <ServerState.DELETING: 'deleting'>, None)
    """
    if status in GONE:
        return None
    return ServerState.DELETING if task in _GOING else STATES.get(status, ServerState.UNKNOWN)
