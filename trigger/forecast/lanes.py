"""Take the state of some groups apart, and put it together again: groups come, go, and go on after a restart.

A *lane* is the column of one group in every array of a state. All arrays end with the axis of groups, but for those of
the two heads, whose last axis is first all growing heads, then all shrinking ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from collector.samples import Floats
from trigger.forecast.horizons import Horizons
from trigger.forecast.memory import HEADS
from trigger.forecast.outlook import ForecastState, new_state

_BY_HEAD = frozenset({"weights", "covariance", "features", "moves", "lately"})
"""Fields whose last axis is the head and the group."""
Combine = Callable[[Sequence[Any]], Any]
"""From like arrays to one: each (…, group)."""


def joined(states: Sequence[ForecastState]) -> ForecastState:
    """Return one state of all groups, in their order. All are of one step."""
    if any(state.outlook is None for state in states):
        states = [replace(state, outlook=None) for state in states]
    found: ForecastState = _combined(states, lambda arrays: np.concatenate(arrays, axis=-1))
    return found


def chosen(state: ForecastState, places: Sequence[int]) -> ForecastState:
    """Return the state of some of the groups."""
    found: ForecastState = _combined([state], lambda arrays: arrays[0][..., list(places)])
    return found


def numbers_of(state: ForecastState) -> Floats:
    """Return all numbers of the state of one group but its outlook, in a fixed order: (number,)."""
    parts: list[Floats] = []

    def note(arrays: Sequence[Any]) -> Any:  # noqa: ANN401 any part of a state
        parts.append(np.asarray(arrays[0], dtype=np.float64).ravel())
        return arrays[0]

    _combined([replace(state, outlook=None)], note)
    return np.concatenate(parts)


def state_of(numbers: Floats, horizons: Horizons) -> ForecastState:
    """Return the state of one group that `numbers_of` gave these.

    Raises:
        ValueError: there are more or fewer numbers than a state with these horizons has.
    """
    blank, taken = new_state(1, horizons), 0
    if len(numbers) != (expected := len(numbers_of(blank))):
        raise ValueError(f"{len(numbers)} numbers; a state with these horizons has {expected}")

    def fill(arrays: Sequence[Any]) -> Any:  # noqa: ANN401 any part of a state
        nonlocal taken
        like = arrays[0]
        part = numbers[taken : taken + like.size]
        taken += like.size
        return part.reshape(like.shape).copy()

    found: ForecastState = _combined([blank], fill)
    return found


def _combined(like: Sequence[Any], combine: Combine, name: str = "") -> Any:  # noqa: ANN401 any part of a state
    """Return a value of the same shape, with every array combined."""
    first = like[0]
    if isinstance(first, np.ndarray):
        return _of_heads(like, combine) if name in _BY_HEAD else combine(like)
    if isinstance(first, tuple):
        return tuple(_combined(parts, combine) for parts in zip(*like, strict=True))
    if is_dataclass(first) and not isinstance(first, type):
        values = {
            field.name: _combined([getattr(each, field.name) for each in like], combine, field.name)
            for field in fields(first)
        }
        return type(first)(**values)
    return first


def _of_heads(like: Sequence[Any], combine: Combine) -> Any:  # noqa: ANN401 any part of a state
    apart = combine([each.reshape(*each.shape[:-1], HEADS, -1) for each in like])
    return apart.reshape(*apart.shape[:-2], -1)
