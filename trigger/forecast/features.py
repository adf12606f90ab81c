"""What a forecast is made of: how the load moved just now, and how it moved from this time on, on the last seven days.

# Note [Features]

With y the newest level, m(n) the mean of the last n steps, and j this time on an earlier day:

=====  =============================================================  ==========================================
0      1                                                              a bias
1–4    m(4) − y, m(10) − y, m(30) − y, m(120) − y                     how far y is from its recent means
5–7    y − y 2, 5 and 20 steps ago                                    how it rises
8, 9   the mean rise from j on, narrow (5 steps) and wide (21)        what comes at this time of day
10     the mean of the wide level then, − m(20)                       where the day stands at that time
11     the wide rise yesterday
12     the wide rise a week ago
=====  =============================================================  ==========================================

Means over days weigh each day 0.85 times the one after it, and the same day of the week twice. A day that is not known,
or not like today (`days_alike`), does not count; without any, these features are 0. For yesterday and the day a week
ago the mean (9) stands in where they are not like today. "From j on" is to j + h when the forecast is for growing, and
to the highest level within the steps ahead when it is for shrinking.

# Note [Days alike]

Without a calendar all of the last seven days count. With one, a holiday is taken to go like earlier holidays among them
and like the day of the week that a person names; and on any other day the holidays among them do not count.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from collector.samples import Bools, Floats
from config.model.holidays import Holidays, day_at, is_holiday, weekday_of
from config.units import Instant
from trigger.forecast.arrays import added, every
from trigger.forecast.horizons import DAY, STEP, WEEK
from trigger.forecast.memory import WIDE, LoadMemory

FEATURES = 13
_DAY_WEIGHTS = np.array([0.85**day * (2.0 if day == WEEK else 1.0) for day in range(1, WEEK + 1)])
_MEANS = np.array([4, 10, 30, 120, 20])
"""The last one is of the level."""
_BACK = np.array([2, 5, 20])
_DAYS = DAY * np.arange(1.0, WEEK + 1)[:, None]
_ENDS = slice(0, WEEK, WEEK - 1)
"""Yesterday and a week ago."""


_ALL: Bools = np.ones(WEEK, dtype=np.bool_)


def features_of(memory: LoadMemory, since: Floats, alike: Bools) -> Floats:
    """Return the features of the newest step: (feature, head, group). See Note [Features].

    Args:
        memory: up to this step.
        since: (group,) the step from which its load is known.
        alike: (day,) which of the last seven days are like today; yesterday first.
    """
    now = memory.ago(0)
    found = np.empty((FEATURES, 2, memory.groups))
    found[0] = 1.0
    means = memory.means(_MEANS)
    found[1:5] = (means[:-1] - now)[:, None]
    found[5:8] = (now - memory.ago(_BACK))[:, None]
    recorded = days_known(memory.step - WIDE - 1, since)
    weights, known = _weights(recorded.tobytes(), alike.tobytes())
    then = np.array((memory.days_back(memory.smooth, memory.horizons.grow), memory.days_back(memory.highest)))
    rise = then - memory.days_back(memory.smooth)  # (head, narrow or wide, day, group)
    found[8:10] = added(rise * weights, 2).swapaxes(0, 1)
    found[10] = added(then[:, 1] * weights, 1) - means[-1]
    if not every(known):
        found[10] = np.where(known, found[10], 0.0)
    ends = np.where(alike[_ENDS, None], rise[:, 1, _ENDS], found[9][:, None]) * recorded[_ENDS]
    found[11:] = ends.swapaxes(0, 1)
    return found


def usual_rise(memory: LoadMemory, since: Floats, alike: Bools) -> Floats:
    """Return by how much the level rises from the newest step to the next at this time on days alike: (group,)."""
    weights = _DAY_WEIGHTS[:, None] * (days_known(memory.step - WIDE - 1, since) & alike[:, None])
    total = added(weights, 0)
    rise = memory.days_back(memory.smooth, 1)[1] - memory.days_back(memory.smooth)[1]
    return added(rise * weights, 0) / np.where(total > 0, total, 1.0)


@lru_cache(maxsize=16)
def _weights(recorded: bytes, alike: bytes) -> tuple[Floats, Bools]:
    """Return the weights of the last seven days, which change once a day: (day, group); and where any counts.

    Args:
        recorded: (day, group) Bools as bytes.
        alike: (day,) likewise.
    """
    like = np.frombuffer(alike, np.bool_)[:, None]
    weights = _DAY_WEIGHTS[:, None] * (np.frombuffer(recorded, np.bool_).reshape(WEEK, -1) & like)
    total = added(weights, 0)
    return weights / np.where(total > 0, total, 1.0), total > 0


def days_known(step: int, since: Floats) -> Bools:
    """Return which of the seven days before ``step`` are known if the history begins at ``since``: (day, group)."""
    known: Bools = since <= step - _DAYS
    return known


def days_alike(holidays: Holidays | None, step: int) -> Bools:
    """Return which of the seven days before this step are like its day, yesterday first. See Note [Days alike]."""
    return _ALL if holidays is None else _alike(holidays, day_at(holidays, Instant(step * STEP)))


@lru_cache(maxsize=64)
def _alike(holidays: Holidays, today: int) -> Bools:
    before = [today - back for back in range(1, WEEK + 1)]
    if is_holiday(holidays, today):
        like = [is_holiday(holidays, day) or weekday_of(day) == holidays.like for day in before]
    else:
        like = [not is_holiday(holidays, day) for day in before]
    return np.array(like, dtype=np.bool_)
