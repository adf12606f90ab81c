"""The forecast: what 10,000 decisions cost with 1,000 forecasts among them, and a step of one group and of many.

Groups are forecast side by side: most of the time of a group alone is numpy's cost of a call, which all groups share.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.beside import slots
from benchmarks.report.figures import Figure, Measured, at_most, once
from collector.samples import Floats, Layout
from config.load import parse
from config.model.catalogue import Catalogue
from config.units import GroupId, PolicyId
from trigger.forecast.carrying import LevelToKeep
from trigger.forecast.cohorts import ForecastCohort, Lane, MemberReadings, Terms
from trigger.forecast.horizons import Horizons
from trigger.forecast.memory import LoadMemory
from trigger.forecast.outlook import new_state, step
from trigger.forecast.shadows import BALANCED

_GROUPS, _MEMBERS, _INTERVAL, _TICKS = 10_000, 2, 30.0, 5
_FORECASTS = 10
"""One group in so many has a forecast."""
_MODEL = """\
counters:
  cpu: {push: CPU, range: [0, 100]}
  requests: {push: REQUESTS, range: [0, 1000]}
conditions:
  busy: {counter: cpu, window: 1m, above: 80}
  idle: {counter: cpu, window: 1m, below: 30}
  crowded: {counter: requests, window: 1m, above: 80}
  empty: {counter: requests, window: 1m, below: 30}
policies:
  out: {when: [busy, crowded], duration: 2m, add: 2}
  in: {when: [idle, empty], duration: 10m, remove: 1}
  ahead: {forecast: {load: {counter: requests, each: 80}, boot: 2m}}
clouds: {box: {process: {}}}
profiles: {small: {cloud: box, command: [serve]}}
groups:
"""
_BEGUN, _STEPS = 60, 400
_HORIZONS = Horizons(boot=4, drain=2)


def run(part: int = 1) -> Iterator[Measured]:
    """Measure decisions of all groups, then the forecast alone for 1, 10, 100 and 1,000 groups."""
    yield from _decisions(max(_GROUPS // part, _FORECASTS))
    for groups in (1, 10, 100, 1000)[: 1 if part > 1 else 4]:
        spent, memory = _step(groups, max(_STEPS // part // max(groups // 100, 1), 1))
        yield once(f"a step of {groups:,} groups, each", 1e3 * spent / groups, "CPU-ms", goal=at_most(0.3))
        yield once("  memory of each", memory / groups / 1e6, "MB", goal=at_most(1.0))
    learning = 1e3 * _learning(1000, max(10 // part, 1))
    yield once("a step of 1,000 groups that learn what members carry", learning, "CPU-ms")


def _decisions(groups: int) -> Iterator[Measured]:
    catalogue, noise = _catalogue(groups), np.random.default_rng(1)

    def answers(layout: Layout) -> Floats:
        return 50.0 + noise.standard_normal(len(layout.series))

    with tempfile.TemporaryDirectory(prefix="ttb") as place, slots.running(catalogue, _MEMBERS, Path(place)) as daemon:
        spent = [daemon.tick(answers, _INTERVAL) for _ in range(_TICKS + 3)][3:]  # windows fill meanwhile
        ahead = [runtime.foreseen for runtime in daemon.runtimes.values() if runtime.foreseen]
        assert len(ahead) == groups // _FORECASTS, "each of these groups was to have a forecast"
    job = f"{groups:,} groups, {groups // _FORECASTS:,} with a forecast, samples to stored decisions"
    yield Figure(job=job, unit="CPU-s", samples=tuple(spent), goal=at_most(groups / _GROUPS))


def _catalogue(groups: int) -> Catalogue:
    usual = f"profile: small, min: {_MEMBERS}, max: 99, interval: {_INTERVAL:g}s"
    lines = (
        f"  g{number}: {{{usual}, policies: [{'ahead' if number % _FORECASTS == 0 else 'out, in'}]}}\n"
        for number in range(groups)
    )
    return parse(_MODEL + "".join(lines), "fleet.yaml")


def _step(groups: int, steps: int) -> tuple[float, int]:
    """Return the processor seconds of a step of so many groups, and the bytes of what they remember."""
    noise = np.random.default_rng(1)
    memory, state = LoadMemory(groups, _HORIZONS), new_state(groups, _HORIZONS)
    began = 0.0
    for number in range(_BEGUN + steps):
        if number == _BEGUN:
            began = time.process_time()
        state = step(state, memory, 20.0 + noise.standard_normal(groups), BALANCED)
    return (time.process_time() - began) / steps, memory.bytes


def _learning(groups: int, steps: int) -> float:
    """Return the processor seconds of a step of groups that learn what a member carries."""
    level = LevelToKeep(at=70.0, top=100.0, least=0.0, most=math.inf)
    terms = Terms(horizons=_HORIZONS, preference=BALANCED, level=level)
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
