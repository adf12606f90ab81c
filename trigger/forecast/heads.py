"""Forecast the load of some groups, and how far off that may be: one forecast for growing, one for shrinking.

# Note [Two heads]

The head for growing forecasts the level that is measured when a member ordered now serves; the head for shrinking the
highest level of the next quarter of an hour or more. Both are linear in `trigger.forecast.features`, fitted to the
difference from the present level, and corrected when the forecast level is known. An observation weighs as much as the
load was large: at night an error of one member in two is no matter.

# Note [Spread]

The spread of an error is forecast, too: its logarithm is linear in the errors of the last minutes, of the last hours
and of this time on other days, in the level, and in how fast the load moves. An error above the forecast counts whole,
one below it three tenths: only the first costs service.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from collector.samples import Bools, Floats
from trigger.forecast.arrays import ZERO, added, constant, every, within
from trigger.forecast.features import FEATURES, days_known, features_of
from trigger.forecast.horizons import LEAST, WEEK
from trigger.forecast.memory import AROUND, HEADS, LoadMemory
from trigger.forecast.regression import Regression

SPREADS = 11
_TINY = constant(0.002)
_FIRST_ERROR = 0.05
_RATES = np.array([[1 / 40], [1 / 720]])
_SPREAD_FACTOR, _LEAST_SPREAD = constant(1.6), constant(0.004)
_SPREAD_RANGE = constant(-7.0), constant(1.5)
"""Of its logarithm, before the factor."""
_USUAL_RATE, _LEAST_USUAL = constant(0.0005), constant(1e-9)
_BELOW = constant(-0.3)
_CLIP = constant(5.0)
_WEIGHT_RANGE = constant(0.1), constant(3.0)
_MOVE_RANGE = constant(-2.0), constant(2.0)
_MOVING = np.array([5, 5, 6, 7, 9, 10])
"""The features of what moves; the sign of the first does not matter."""
_WIDER = np.array([10.0, 10.0, 5.0, 2.0, 3.0, 2.0])[:, None]
"""Factors of these."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Heads:
    """What two forecasts have learned. A column is a head of a group: all growing heads, then all shrinking ones."""

    mean: Regression
    spread: Regression
    lately: Floats
    """(minutes or hours, column) smoothed errors."""
    usual: Floats
    """(group,) a load that the group usually has, in members."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forecast:
    """The forecast of one step. All but ``features`` and ``moves`` are (head, group)."""

    features: Floats
    """(feature, column)."""
    moves: Floats
    """(spread feature, column)."""
    middle: Floats
    """The level that is forecast: ln(load + 0.25). NaN: the group was not forecast at that step."""
    spread: Floats
    """A size of its usual error; multiples of it make a headroom."""
    level: Floats
    """(group,) the level that it was made at."""
    weight: Floats
    """(group,) how much it counts once its error is known."""


def new_heads(groups: int) -> Heads:
    """Return heads that have learned nothing: they forecast the present level."""
    columns = HEADS * groups
    first = np.zeros((SPREADS, columns))
    first[1:4] = np.array([0.4, 0.3, 0.3])[:, None]
    return Heads(
        mean=Regression.new(np.zeros((FEATURES, columns)), np.array([0.01] + [1.0] * (FEATURES - 1))),
        spread=Regression.new(first, np.ones(SPREADS)),
        lately=np.full((2, columns), _FIRST_ERROR),
        usual=np.zeros(groups),
    )


def unmade(groups: int) -> Forecast:
    """Return the forecast of a step at which no group was forecast."""
    columns = HEADS * groups
    return Forecast(
        features=np.zeros((FEATURES, columns)),
        moves=np.zeros((SPREADS, columns)),
        middle=np.full((HEADS, groups), np.nan),
        spread=np.zeros((HEADS, groups)),
        level=np.zeros(groups),
        weight=np.ones(groups),
    )


def forecast(heads: Heads, memory: LoadMemory, since: Floats, alike: Bools) -> Forecast:
    """Forecast from the newest step; ``alike``: (day,) which of the last seven days are like today."""
    level = memory.ago(0)
    features = features_of(memory, since, alike).reshape(FEATURES, -1)
    size = np.exp(level)
    usual = np.where(heads.usual > ZERO, heads.usual, size)
    moves = _moves(heads, memory, features, since, level - np.log(usual + LEAST))
    spread = np.maximum(_LEAST_SPREAD, _SPREAD_FACTOR * np.exp(within(heads.spread.predict(moves), *_SPREAD_RANGE)))
    return Forecast(
        features=features,
        moves=moves,
        middle=level + heads.mean.predict(features).reshape(HEADS, -1),
        spread=spread.reshape(HEADS, -1),
        level=level,
        weight=within((size - LEAST) / np.maximum(usual, _LEAST_USUAL), *_WEIGHT_RANGE),
    )


def learned(heads: Heads, memory: LoadMemory, made: tuple[Forecast, Forecast], known: Bools) -> Heads:
    """Return the heads after the forecasts whose outcome the newest step completes.

    Args:
        heads: before.
        memory: up to the newest step; the errors are added to it.
        made: the growing forecast of `grow` + 1 steps ago, and the shrinking one of `shrink` steps ago.
        known: (head, group) False: some of the load in between is not known.
    """
    growing, shrinking = made
    horizons, groups = memory.horizons, memory.groups
    shrink = horizons.shrink
    came = np.array((memory.highest_since(2), memory.highest_since(shrink)))
    error = came - np.array((growing.middle[0], shrinking.middle[1]))
    short = np.fmax(np.maximum(error, _BELOW * error), ZERO)  # NaN, of a forecast that was not made, is none
    memory.learn_errors((memory.step - horizons.grow - 1, memory.step - shrink), short)
    features = _joined((growing.features, shrinking.features), groups)
    moves = _joined((growing.moves, shrinking.moves), groups)
    rose = (came - np.array((growing.level, shrinking.level))).reshape(-1)
    limit = _CLIP * np.concatenate((growing.spread[0], shrinking.spread[1]))
    missed = within(rose - heads.mean.predict(features), -limit, limit)
    flat, off = known.reshape(-1), short.reshape(-1)
    missing = np.log(off + _TINY) - heads.spread.predict(moves)
    weight = np.concatenate((growing.weight, shrinking.weight))
    lately = heads.lately + _RATES * (off - heads.lately)
    return Heads(
        mean=heads.mean.learn(features, missed, weight, flat),
        spread=heads.spread.learn(moves, missing, 1.0, flat),
        lately=lately if every(flat) else np.where(flat, lately, heads.lately),
        usual=heads.usual,
    )


def used_to(heads: Heads, load: Floats, heard: Bools) -> Heads:
    """Return the heads after this load: (group,), in members."""
    usual = np.where(heads.usual > ZERO, heads.usual + _USUAL_RATE * (load - heads.usual), load)
    if not every(heard):
        usual = np.where(heard, usual, heads.usual)
    return Heads(mean=heads.mean, spread=heads.spread, lately=heads.lately, usual=usual)


def _moves(heads: Heads, memory: LoadMemory, features: Floats, since: Floats, above: Floats) -> Floats:
    known, count, none = _counted(days_known(memory.step - 2 * AROUND, since).tobytes())
    daily = added(memory.days_back(memory.spread) * known, 0) / count
    moves = np.empty((SPREADS, features.shape[1]))
    moves[0] = 1.0
    moves[1:3] = heads.lately
    moves[3] = np.where(none, heads.lately[1].reshape(HEADS, -1), daily).reshape(-1)
    moves[1:4] = np.log(moves[1:4] + _TINY)
    moves[4].reshape(HEADS, -1)[:] = above
    moving = _WIDER * features.take(_MOVING, 0)
    moving[0] = np.abs(moving[0])
    moves[5:] = within(moving, *_MOVE_RANGE)
    return moves


@lru_cache(maxsize=16)
def _counted(known: bytes) -> tuple[Floats, Floats, Bools]:
    """Return which of the last seven days are known, their number, at least 1, and where it would be 0.

    Args:
        known: (day, group) Bools as bytes; they change once a day.

    Returns:
        (day, 1, group), (group,), (group,).
    """
    flags = np.frombuffer(known, np.bool_).reshape(WEEK, 1, -1)
    count = np.add.reduce(flags[:, 0], axis=0, dtype=np.float64)
    return flags.astype(np.float64), np.maximum(count, 1.0), count == 0


def _joined(of_each: tuple[Floats, Floats], groups: int) -> Floats:
    """Return the columns that belong to each head: those of the growing one from the first, and so on."""
    growing, shrinking = of_each
    return np.concatenate((growing[:, :groups], shrinking[:, groups:]), axis=1)
