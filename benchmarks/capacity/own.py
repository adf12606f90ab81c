"""Trimtab's own policies that know no history: the live code, evaluation by evaluation, for all traces side by side.

A group reads the rate of all its members (`requests`), or their utilisation, which saturates at 100 % (`busy`). Both
are values of the whole group, so that one poll serves every group. These policies begin one day before the scored part.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from aggregator.aggregate import Aggregator
from benchmarks.capacity.setting import SATURATES, WITHIN_SLO, CapacityPolicy, Setting, Sizes
from benchmarks.capacity.traces import DAY, STEP, Trace
from collector.samples import Floats, Sheet
from collector.targets import Roster, layout_for
from config.load import load as declared
from config.model.catalogue import Catalogue
from config.units import GroupId, Instant, Moment, Monotonic
from handler.replay.chain import Chain
from handler.replay.members import ReplayMembers, always
from handler.replay.paths import Ints
from trigger.requests import GroupState

_COUNTERS = """\
sources:
  prom: {prometheus: {url: "http://127.0.0.1:9090"}}
counters:
  requests: {prometheus: requests, server: prom, per: group}
  busy: {prometheus: busy, server: prom, per: group, unit: percent, range: [0, 100]}
clouds: {box: {process: {}, budget: {per_hour: 1000000, outstanding: 1000000}}}
profiles: {web: {cloud: box, command: [serve]}}
"""
CLOUDSTACK = """\
conditions:
  above: {counter: busy, above: 70}
  below: {counter: busy, below: 40}
policies:
  out: {when: [above], duration: 60s, add: 2, quiet_time: 2m}
  in: {when: [below], duration: 5m, remove: 1, quiet_time: 5m}
"""
"""CloudStack's rule: a step when a counter is beyond a threshold for a duration, then a quiet time."""
ONEFLOW = """\
conditions:
  above: {expression: "busy > 65"}
  below: {expression: "busy < 50"}
policies:
  out: {when: [above], in_a_row: {times: 2, every: 30s}, add: 20%, at_least: 2, quiet_time: 2m}
  in: {when: [below], in_a_row: {times: 10, every: 60s}, remove: 10%, quiet_time: 5m}
"""
"""OneFlow's rule: a percentage when an expression holds in so many periods, then a cooldown."""
TARGET = """\
policies:
  keep: {target: {counter: busy, value: 60}}
"""
"""A target with the defaults of everything."""
STABLE = """\
policies:
  keep: {target: {counter: requests, each: 70, out: {quiet_time: 0s}, in: {duration: 0s, quiet_time: 0s}}}
"""
"""A target per member; the group has a stabilisation of a quarter of an hour."""


def own(policies: str, *, group: str = "") -> CapacityPolicy:
    """Return the live code with this file's policies, and with these keys of each group."""
    return partial(_decided, policies, group)


def _decided(
    policies: str, keys: str, setting: Setting, traces: Mapping[str, Trace], shown: Mapping[str, Floats]
) -> Sizes:
    names = {GroupId(f"g{number:03}"): name for number, name in enumerate(sorted(traces))}
    catalogue = _catalogue(policies, keys, setting, names)
    since = {name: max(traces[name].since - DAY, 0) for name in traces}
    lanes = [_Lane(catalogue, group, setting, shown[name][since[name] :]) for group, name in names.items()]
    _run(catalogue, lanes)
    return {
        name: np.concatenate((np.full(since[name], lane.sizes[0]), lane.sizes))
        for lane, name in zip(lanes, names.values(), strict=True)
    }


def _catalogue(policies: str, keys: str, setting: Setting, names: Mapping[GroupId, str]) -> Catalogue:
    listed = ", ".join(line.split(":")[0].strip() for line in policies.partition("policies:\n")[2].splitlines())
    groups = "".join(
        f"  {group}: {{profile: web, min: 1, max: {setting.most}, interval: {STEP:g}s, policies: [{listed}]{keys}}}\n"
        for group in names
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.yaml")
        path.write_text(f"{_COUNTERS}{policies}groups:\n{groups}", encoding="utf-8")
        return declared(path)


class _Lane:
    """One group under one load."""

    def __init__(self, catalogue: Catalogue, group: GroupId, setting: Setting, shown: Floats) -> None:
        self.group = group
        self.shown: list[float] = shown.tolist()
        self.chain = Chain(catalogue, group, GroupState())
        self.members = ReplayMembers(catalogue.groups[group], always(setting.boot), 1, 0.0)
        self.sizes: Ints = np.zeros(len(shown), dtype=np.int64)

    def value(self, step: int, at: float, counter: str) -> float:
        """Return what a counter shows."""
        load = self.shown[step] * WITHIN_SLO
        if counter == "requests":
            return load
        return min(100.0 * load / (max(self.members.serving(at), 1) * SATURATES), 100.0)


def _run(catalogue: Catalogue, lanes: list[_Lane]) -> None:
    """Tick all groups together, each to the end of its load."""
    layout = layout_for(catalogue, [Roster(group=lane.group, members=()) for lane in lanes])
    by_group = {lane.group: lane for lane in lanes}
    rows = [(row, by_group[series.group], str(series.counter)) for row, series in enumerate(layout.series)]
    aggregator = Aggregator(catalogue, [lane.group for lane in lanes])
    for step in range(max(len(lane.shown) for lane in lanes)):
        at = step * STEP
        now = Moment(wall=Instant(at), steady=Monotonic(at))
        sheet = Sheet(layout)
        for row, lane, counter in rows:
            if step < len(lane.shown) and np.isfinite(lane.shown[step]):
                sheet.put(row, lane.value(step, at, counter), at=now.steady)
        frames = aggregator.take(sheet.close(now))
        for lane in lanes:
            if step < len(lane.shown):
                decision = lane.chain.tick(frames[lane.group], lane.members.seen(at, 10**9))
                lane.members.follow(decision.desired_to, at)
                lane.sizes[step] = len(lane.members.members)
