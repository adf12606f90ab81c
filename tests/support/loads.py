"""Loads for tests of forecasts, and the fleets that they lead to."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from collector.samples import Floats
from trigger.forecast.horizons import DAY, Horizons
from trigger.forecast.memory import LoadMemory
from trigger.forecast.outlook import ForecastState, Outlook, new_state, step
from trigger.forecast.shadows import BALANCED, Preference

TWO_MINUTES = Horizons(boot=4, drain=2)


def a_wave(steps: int, *, low: float = 5.0, high: float = 20.0, noise: float = 0.01, seed: int = 1) -> Floats:
    """Return a load that rises and falls once a day: (step,)."""
    rises = (1.0 - np.cos(2.0 * np.pi * np.arange(steps) / DAY)) / 2.0
    wave: Floats = (low + (high - low) * rises) * (1.0 + noise * np.random.default_rng(seed).standard_normal(steps))
    return wave


def begun(groups: int = 1) -> tuple[ForecastState, LoadMemory]:
    return new_state(groups, TWO_MINUTES), LoadMemory(groups, TWO_MINUTES)


def outlooks(loads: Floats, preference: Preference = BALANCED) -> Iterable[Outlook]:
    """Yield the outlook of every step of these loads: (step, group)."""
    state, memory = begun(loads.shape[1])
    for load in loads:
        state = step(state, memory, load, preference)
        assert state.outlook is not None
        yield state.outlook


def sizes_of(loads: Floats, preference: Preference = BALANCED) -> tuple[Floats, Floats]:
    """Return what is needed and what may be shrunk to: (step, group) each."""
    needed, low = zip(
        *((outlook.needed, outlook.may_shrink_to) for outlook in outlooks(loads, preference)), strict=True
    )
    return np.array(needed), np.array(low)
