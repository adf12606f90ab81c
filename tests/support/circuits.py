"""Circuits whose clock a test moves."""

from __future__ import annotations

from collections.abc import Callable

from collector.clients.circuits import Circuits
from config.units import Instant, Moment, Monotonic


def circuits_by(clock: Callable[[], Instant]) -> Circuits:
    """Circuits on a clock of which both readings are the same."""
    return Circuits(lambda: Moment(wall=clock(), steady=Monotonic(clock())))
