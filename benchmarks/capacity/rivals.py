"""What other autoscalers would do, by their documentation; each acts on utilisation, which saturates at 100 %.

Kubernetes (HorizontalPodAutoscaler): desired = ceil(current × metric ÷ target), nothing within a tolerance of 10 %;
members that are not ready count as idle when the group would grow; the highest recommendation of the last five minutes
limits a scale-in; growth by at most four members or 100 % each 15 seconds, so here, where it looks every 30 seconds, by
twice that.

AWS target tracking: an alarm above the target after three minutes, one below nine tenths of it after fifteen; a change
in proportion to the metric. Members that warm up count as capacity, so growth adds to them only if they will not be
enough.

AWS predictive scaling: from 24 hours of history on, a forecast of each hour, which is a least size from five minutes
before its hour; it never shrinks the group, target tracking beside it does. How AWS forecasts is not documented: here
it is the highest minute of this hour on each of the last 14 days, averaged with weights that halve every three days.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.capacity.setting import SATURATES, WITHIN_SLO, CapacityPolicy, Setting, Sizes
from benchmarks.capacity.traces import DAY, STEP, Trace
from collector.samples import Floats
from handler.replay.paths import Ints

_FULL = SATURATES / WITHIN_SLO
_TOLERANCE = 0.1
_STABILISATION = round(300 / STEP)
_MINUTE = round(60 / STEP)
_HOUR = DAY // 24
_EARLY = round(300 / STEP)

Decide = Callable[[int, float, int, int], int]
"""(step, utilisation, members in service, desired) → desired."""


def hpa(target: float) -> CapacityPolicy:
    """Return Kubernetes' HorizontalPodAutoscaler with its default behaviour."""
    return lambda setting, _, shown: {
        name: _followed(load, setting, _hpa(target, setting.most)) for name, load in shown.items()
    }


def target_tracking(target: float) -> CapacityPolicy:
    """Return AWS's target tracking."""
    return lambda setting, _, shown: {
        name: _followed(load, setting, _tracking(target, setting.most)) for name, load in shown.items()
    }


def predictive(target: float) -> CapacityPolicy:
    """Return AWS's predictive scaling beside its target tracking, both with one target."""

    def decided(setting: Setting, _: Mapping[str, Trace], shown: Mapping[str, Floats]) -> Sizes:
        return {
            name: _followed(
                load, setting, _at_least(_floors(load, target), _tracking(target, setting.most), setting.most)
            )
            for name, load in shown.items()
        }

    return decided


def _followed(shown: Floats, setting: Setting, decide: Decide) -> Ints:
    """Let a policy see the load of a fleet that follows it."""
    boot = setting.timing.boot
    recent = deque([1] * (boot + 1), maxlen=boot + 1)
    sizes = np.empty(len(shown), dtype=np.int64)
    for step, load in enumerate(shown.tolist()):
        serving = min(recent)
        if not math.isnan(load):
            recent.append(decide(step, min(load / (serving * _FULL), 1.0), serving, recent[-1]))
        else:
            recent.append(recent[-1])
        sizes[step] = recent[-1]
    return sizes


def _hpa(target: float, most: int) -> Decide:
    recommended: deque[tuple[int, int]] = deque()

    def decide(step: int, utilisation: float, serving: int, desired: int) -> int:
        size = desired
        if utilisation > target * (1 + _TOLERANCE):
            ratio = serving * utilisation / (target * desired)  # members that boot count as idle
            if ratio > 1 + _TOLERANCE:
                size = min(math.ceil(desired * ratio - 1e-9), max(desired + 8, 4 * desired))
        elif utilisation < target * (1 - _TOLERANCE):
            size = min(desired, math.ceil(serving * utilisation / target - 1e-9))
        size = min(max(size, 1), most)
        recommended.append((step, size))
        while recommended[0][0] <= step - _STABILISATION:
            recommended.popleft()
        return size if size >= desired else min(desired, max(each for _, each in recommended))

    return decide


def _tracking(target: float, most: int) -> Decide:
    above = below = 0

    def decide(step: int, utilisation: float, serving: int, desired: int) -> int:
        nonlocal above, below
        if step % _MINUTE:
            return desired
        above = above + 1 if utilisation > target else 0
        below = below + 1 if utilisation < 0.9 * target else 0
        size = math.ceil(serving * utilisation / target - 1e-9)
        if above >= 3:
            return min(max(desired, size), most)
        if below >= 15 and serving == desired:
            return max(min(desired, size), 1)
        return desired

    return decide


def _floors(shown: Floats, target: float) -> Ints:
    """Return the least size that a forecast gives at each step; 0: none."""
    filled = np.nan_to_num(shown)
    hours = len(filled) // _HOUR
    peaks = filled[: hours * _HOUR].reshape(hours, _HOUR).max(axis=1)
    floors = np.zeros(len(filled), dtype=np.int64)
    for hour in range(24, hours + 1):
        days = range(1, min(14, hour // 24) + 1)
        weights = [0.5 ** (day / 3) for day in days]
        level = sum(weight * peaks[hour - 24 * day] for day, weight in zip(days, weights, strict=True)) / sum(weights)
        floors[hour * _HOUR - _EARLY : (hour + 1) * _HOUR] = np.maximum(
            floors[hour * _HOUR - _EARLY : (hour + 1) * _HOUR], math.ceil(level / (_FULL * target))
        )
    return floors


def _at_least(floors: Ints, inner: Decide, most: int) -> Decide:
    def decide(step: int, utilisation: float, serving: int, desired: int) -> int:
        return min(max(inner(step, utilisation, serving, desired), int(floors[step])), most)

    return decide
