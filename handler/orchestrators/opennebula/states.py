"""OpenNebula's states of a machine, translated for planning. Pure: two tables.

Source: ``VirtualMachine::VmState`` and ``VirtualMachine::LcmState`` of OpenNebula 7.4. A machine has both; the second
says more while the first is ACTIVE.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from handler.planning.world import ServerState

_BUILDING, _RUNNING, _PASSING = ServerState.BUILDING, ServerState.RUNNING, ServerState.PASSING
_PARKED, _ERROR, _DELETING = ServerState.PARKED, ServerState.ERROR, ServerState.DELETING

ACTIVE: Final = 3
DONE: Final = 6
POWEROFF: Final = 8
SHUTDOWN: Final = 12
"""``LCM_STATE`` of a machine whose guest has been asked to stop for good."""

STATES: Final[Mapping[int, tuple[str, ServerState]]] = MappingProxyType(
    {
        0: ("INIT", _BUILDING),
        1: ("PENDING", _BUILDING),
        2: ("HOLD", _PARKED),
        4: ("STOPPED", _PARKED),
        5: ("SUSPENDED", _PARKED),
        7: ("FAILED", _ERROR),
        8: ("POWEROFF", ServerState.STOPPED),
        9: ("UNDEPLOYED", _PARKED),
        10: ("CLONING", _BUILDING),
        11: ("CLONING_FAILURE", _ERROR),
    }
)
"""``STATE`` → name and meaning, of existing machines that are not ACTIVE. A guest that stops itself is POWEROFF."""

LCM_STATES: Final[Mapping[int, tuple[str, ServerState]]] = MappingProxyType(
    {
        0: ("LCM_INIT", _BUILDING),
        1: ("PROLOG", _BUILDING),
        2: ("BOOT", _BUILDING),
        3: ("RUNNING", _RUNNING),
        4: ("MIGRATE", _PASSING),
        5: ("SAVE_STOP", _PASSING),
        6: ("SAVE_SUSPEND", _PASSING),
        7: ("SAVE_MIGRATE", _PASSING),
        8: ("PROLOG_MIGRATE", _PASSING),
        9: ("PROLOG_RESUME", _PASSING),
        10: ("EPILOG_STOP", _PASSING),
        11: ("EPILOG", _DELETING),
        12: ("SHUTDOWN", _DELETING),
        13: ("CANCEL", _DELETING),
        14: ("FAILURE", _ERROR),
        15: ("CLEANUP_RESUBMIT", _BUILDING),
        16: ("UNKNOWN", ServerState.UNKNOWN),
        17: ("HOTPLUG", _RUNNING),
        18: ("SHUTDOWN_POWEROFF", _PASSING),
        19: ("BOOT_UNKNOWN", _PASSING),
        20: ("BOOT_POWEROFF", _PASSING),
        21: ("BOOT_SUSPENDED", _PASSING),
        22: ("BOOT_STOPPED", _PASSING),
        23: ("CLEANUP_DELETE", _DELETING),
        24: ("HOTPLUG_SNAPSHOT", _RUNNING),
        25: ("HOTPLUG_NIC", _RUNNING),
        26: ("HOTPLUG_SAVEAS", _RUNNING),
        27: ("HOTPLUG_SAVEAS_POWEROFF", _PASSING),
        28: ("HOTPLUG_SAVEAS_SUSPENDED", _PASSING),
        29: ("SHUTDOWN_UNDEPLOY", _PASSING),
        30: ("EPILOG_UNDEPLOY", _PASSING),
        31: ("PROLOG_UNDEPLOY", _PASSING),
        32: ("BOOT_UNDEPLOY", _PASSING),
        33: ("HOTPLUG_PROLOG_POWEROFF", _PASSING),
        34: ("HOTPLUG_EPILOG_POWEROFF", _PASSING),
        35: ("BOOT_MIGRATE", _PASSING),
        36: ("BOOT_FAILURE", _ERROR),
        37: ("BOOT_MIGRATE_FAILURE", _ERROR),
        38: ("PROLOG_MIGRATE_FAILURE", _ERROR),
        39: ("PROLOG_FAILURE", _ERROR),
        40: ("EPILOG_FAILURE", _ERROR),
        41: ("EPILOG_STOP_FAILURE", _ERROR),
        42: ("EPILOG_UNDEPLOY_FAILURE", _ERROR),
        43: ("PROLOG_MIGRATE_POWEROFF", _PASSING),
        44: ("PROLOG_MIGRATE_POWEROFF_FAILURE", _ERROR),
        45: ("PROLOG_MIGRATE_SUSPEND", _PASSING),
        46: ("PROLOG_MIGRATE_SUSPEND_FAILURE", _ERROR),
        47: ("BOOT_UNDEPLOY_FAILURE", _ERROR),
        48: ("BOOT_STOPPED_FAILURE", _ERROR),
        49: ("PROLOG_RESUME_FAILURE", _ERROR),
        50: ("PROLOG_UNDEPLOY_FAILURE", _ERROR),
        51: ("DISK_SNAPSHOT_POWEROFF", _PASSING),
        52: ("DISK_SNAPSHOT_REVERT_POWEROFF", _PASSING),
        53: ("DISK_SNAPSHOT_DELETE_POWEROFF", _PASSING),
        54: ("DISK_SNAPSHOT_SUSPENDED", _PASSING),
        55: ("DISK_SNAPSHOT_REVERT_SUSPENDED", _PASSING),
        56: ("DISK_SNAPSHOT_DELETE_SUSPENDED", _PASSING),
        57: ("DISK_SNAPSHOT", _RUNNING),
        58: ("DISK_SNAPSHOT_REVERT", _RUNNING),
        59: ("DISK_SNAPSHOT_DELETE", _RUNNING),
        60: ("PROLOG_MIGRATE_UNKNOWN", _PASSING),
        61: ("PROLOG_MIGRATE_UNKNOWN_FAILURE", _ERROR),
        62: ("DISK_RESIZE", _RUNNING),
        63: ("DISK_RESIZE_POWEROFF", _PASSING),
        64: ("DISK_RESIZE_UNDEPLOYED", _PASSING),
        65: ("HOTPLUG_NIC_POWEROFF", _PASSING),
        66: ("HOTPLUG_RESIZE", _RUNNING),
        67: ("HOTPLUG_SAVEAS_UNDEPLOYED", _PASSING),
        68: ("HOTPLUG_SAVEAS_STOPPED", _PASSING),
        69: ("BACKUP", _RUNNING),
        70: ("BACKUP_POWEROFF", _PASSING),
        71: ("RESTORE", _PASSING),
    }
)
"""``LCM_STATE`` → name and meaning, of ACTIVE machines. If the guest keeps running meanwhile, that is RUNNING."""


def nebula_state(state: int, lcm: int) -> tuple[str, ServerState] | None:
    """Return the name and meaning of a machine's two states; ``None``: it is gone.

    A machine with an unknown state counts as present and is not touched.

    >>> nebula_state(3, 12), nebula_state(8, 0), nebula_state(6, 0), nebula_state(3, 99)
    (('SHUTDOWN', <ServerState.DELETING: 'deleting'>), ('POWEROFF', <ServerState.STOPPED: 'stopped'>), None, \
('ACTIVE/99', <ServerState.UNKNOWN: 'unknown'>))
    """
    if state == DONE:
        return None
    if state == ACTIVE:
        return LCM_STATES.get(lcm, (f"ACTIVE/{lcm}", ServerState.UNKNOWN))
    return STATES.get(state, (f"STATE {state}", ServerState.UNKNOWN))
