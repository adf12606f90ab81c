"""The forecast: processor time of one step of a group, alone and side by side with others, and its memory.

Groups are forecast side by side: most of the time of a group alone is numpy's cost of a call, which all groups share.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable

import numpy as np

from config.units import GroupId, PolicyId
from trigger.forecast.carrying import LevelToKeep
from trigger.forecast.cohorts import ForecastCohort, Lane, MemberReadings, Terms
from trigger.forecast.horizons import Horizons
from trigger.forecast.memory import LoadMemory
from trigger.forecast.outlook import new_state, step
from trigger.forecast.shadows import BALANCED

_BEGUN, _STEPS = 60, 400


def run(part: int = 1) -> Iterable[tuple[str, float, str]]:
    """Measure 1, 10, 100 and 1,000 groups."""
    for groups in (1, 10, 100, 1000)[: 1 if part > 1 else 4]:
        horizons, noise = Horizons(boot=4, drain=2), np.random.default_rng(1)
        memory, state = LoadMemory(groups, horizons), new_state(groups, horizons)
        steps = max(_STEPS // part // max(groups // 100, 1), 1)
        began = 0.0
        for number in range(_BEGUN + steps):
            if number == _BEGUN:
                began = time.process_time()
            state = step(state, memory, 20.0 + noise.standard_normal(groups), BALANCED)
        took = time.process_time() - began
        yield f"a step of {groups:,} groups", 1e3 * took / steps, "ms of processor time"
        yield "each", 1e3 * took / steps / groups, "ms"
        yield "memory of each", memory.bytes / groups / 1e6, "MB"
    yield "a step of 1,000 groups that learn what members carry", 1e3 * _learning(1000, max(10 // part, 1)), "ms"


def _learning(groups: int, steps: int) -> float:
    """Return the processor seconds of a step of groups that learn what a member carries."""
    level = LevelToKeep(at=70.0, top=100.0, least=0.0, most=math.inf)
    terms = Terms(horizons=Horizons(boot=4, drain=2), preference=BALANCED, level=level)
    cohort = ForecastCohort.begin(
        [Lane(GroupId(f"g{number}"), PolicyId("ahead")) for number in range(groups)], terms, 0
    )
    noise, began = np.random.default_rng(1), 0.0
    for number in range(_BEGUN + steps):
        if number == _BEGUN:
            began = time.process_time()
        load = 200.0 + noise.standard_normal(groups)
        cohort.take(load, MemberReadings(load / 20.0, 3.5 * load / 10.0))
    return (time.process_time() - began) / steps
