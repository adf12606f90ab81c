"""libvirt's states of a domain, translated for planning. Pure: tables.

Source: ``virDomainState`` and the reasons of each in ``libvirt-domain.h`` of libvirt 9.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from handler.planning.world import ServerState

PAUSED: Final = 3
OFF: Final = 5
ACTIVE: Final = frozenset({1, 2, PAUSED, 4, 6, 7})
"""States of a domain that has an emulator. One that crashed has it still; without one, libvirt calls it off."""

_PARKED, _PASSING, _ERROR = ServerState.PARKED, ServerState.PASSING, ServerState.ERROR

STATES: Final[Mapping[int, tuple[str, ServerState]]] = MappingProxyType(
    {
        1: ("running", ServerState.RUNNING),
        2: ("blocked", ServerState.RUNNING),
        PAUSED: ("paused", _PARKED),
        4: ("in shutdown", _PASSING),
        OFF: ("shut off", ServerState.STOPPED),
        6: ("crashed", _ERROR),
        7: ("suspended by its guest", _PARKED),
    }
)
"""State → name and meaning. A guest that stops itself is shut off."""

PAUSED_BY: Final[Mapping[int, tuple[str, ServerState]]] = MappingProxyType(
    {
        1: ("by a person", _PARKED),
        2: ("to migrate", _PASSING),
        3: ("to be saved", _PASSING),
        4: ("to be dumped", _PASSING),
        5: ("by an error of its disk", _ERROR),
        6: ("by its watchdog", _ERROR),
        7: ("by a snapshot", _PASSING),
        8: ("in shutdown", _PASSING),
        9: ("by a snapshot", _PASSING),
        10: ("by a crash of its guest", _ERROR),
        11: ("to start", _PASSING),
        12: ("to migrate", _PASSING),
        13: ("by a failed migration", _ERROR),
    }
)
"""Why it is paused."""

OFF_BY: Final[Mapping[int, tuple[str, ServerState]]] = MappingProxyType(
    {
        1: ("by its guest", ServerState.STOPPED),
        2: ("by force", ServerState.STOPPED),
        3: ("by a crash", _ERROR),
        4: ("since it migrated", ServerState.STOPPED),
        5: ("since it was saved", _PARKED),
        6: ("since it did not start", _ERROR),
        8: ("by libvirt", _ERROR),
    }
)
"""Why it is off."""


def domain_state(state: int, reason: int) -> tuple[str, ServerState]:
    """Return the name and meaning of a domain's state and its reason.

    A domain with an unknown state counts as present and is not touched.

    >>> domain_state(1, 1), domain_state(3, 5)
    (('running', <ServerState.RUNNING: 'running'>), ('paused by an error of its disk', <ServerState.ERROR: 'error'>))
    >>> domain_state(5, 0), domain_state(9, 0)
    (('shut off', <ServerState.STOPPED: 'stopped'>), ('state 9', <ServerState.UNKNOWN: 'unknown'>))
    """
    words, meaning = STATES.get(state, (f"state {state}", ServerState.UNKNOWN))
    reasons: Mapping[int, tuple[str, ServerState]] = {PAUSED: PAUSED_BY, OFF: OFF_BY}.get(state, {})
    if reason in reasons:
        why, meaning = reasons[reason]
        words = f"{words} {why}"
    return words, meaning
