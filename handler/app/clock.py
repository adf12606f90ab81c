"""The one place that reads the clocks."""

from __future__ import annotations

import time

from config.units import Instant, Moment, Monotonic


def moment() -> Moment:
    """Both clocks, now."""
    return Moment(wall=Instant(time.time()), steady=Monotonic(time.monotonic()))


def wall() -> Instant:
    """Seconds since the epoch, now."""
    return Instant(time.time())
