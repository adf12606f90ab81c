"""The one place that reads the clocks.

The steady clock counts while the machine is suspended (``CLOCK_BOOTTIME``), where the system has such a clock: an hour
of sleep is an hour without evidence, and an hour in which counters have risen. Without it that hour would pass for no
time at all. Source: clock_getres(2).
"""

from __future__ import annotations

import time
from pathlib import Path

from config.units import Instant, Moment, Monotonic

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_STEADY: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def moment() -> Moment:
    """Both clocks, now."""
    return Moment(wall=Instant(time.time()), steady=Monotonic(time.clock_gettime(_STEADY)))


def wall() -> Instant:
    """Seconds since the epoch, now."""
    return Instant(time.time())


def boot_id() -> str:
    """Return the id of this boot of the machine; empty where the system has none."""
    try:
        return _BOOT.read_text().strip()
    except OSError:
        return ""
