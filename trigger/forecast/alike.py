"""Which of the last seven days go like today.

# Note [Days alike]

Without a calendar all of them count. With one, a holiday is taken to go like earlier holidays of the last seven days
and like the day of the week that a person names; and on any other day the holidays among the last seven do not count.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from collector.samples import Bools
from config.model.holidays import Holidays, day_at, is_holiday, weekday_of
from config.units import Instant
from trigger.forecast.horizons import STEP, WEEK

_ALL: Bools = np.ones(WEEK, dtype=np.bool_)


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
