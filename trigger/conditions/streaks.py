"""Count how often in a row a policy's conditions were TRUE, for policies that count evaluations instead of time.

# Note [In a row]

OneFlow's ``period`` and ``period_number``. Evaluations of the policy are at least ``every`` apart; ticks between them
neither count nor reset. Per evaluation:

* TRUE: the count rises by one, to at most ``times``. At ``times`` the policy fires, at every evaluation until the size
  has changed.
* FALSE: the count is 0.
* UNKNOWN: this is no evaluation; OneFlow takes missing data as FALSE. The next evaluation is then late and begins anew.

An evaluation later than one and a half times the spacing that ticks allow begins anew, too: a gap never counts.
OneFlow goes on counting over any gap. When a policy has changed the size, every count of the group is 0 again, and the
spacing goes on. Source: ``reference/oneflow.md`` section 2.2; DESIGN.md "Judging".
"""

from __future__ import annotations

import math
from typing import assert_never

from config.model.catalogue import InARow
from config.units import Monotonic, Seconds
from trigger.verdicts import PolicyStreak, Truth

_LONGEST_GAP = 1.5
_JITTER = 0.05
"""In intervals, both as for held time (`trigger.conditions.timers`)."""


def streak(
    previous: PolicyStreak | None, truth: Truth, now: Monotonic, rule: InARow, interval: Seconds
) -> tuple[PolicyStreak | None, bool]:
    """Carry a streak over one tick.

    Args:
        previous: the streak of the last tick; ``None``: none yet.
        truth: of the policy's conditions, now.
        now: when they were judged.
        rule: how many TRUE evaluations the policy needs, and how far apart.
        interval: seconds between ticks.

    Returns:
        The streak, and whether this tick was an evaluation: only then may the policy fire.
    """
    if truth is Truth.UNKNOWN:
        return previous, False
    if previous is None:
        return _after(0, truth, now, rule), True
    since = now - previous.judged_at
    if 0 <= since < rule.every - _JITTER * interval:
        return previous, False
    unbroken = 0 <= since <= _LONGEST_GAP * spacing(rule, interval)
    return _after(previous.true if unbroken else 0, truth, now, rule), True


def spacing(rule: InARow, interval: Seconds) -> Seconds:
    """Return the real time between two evaluations: a whole number of ticks.

    >>> spacing(InARow(times=3, every=10.0), 30.0), spacing(InARow(times=3, every=40.0), 30.0)
    (30.0, 60.0)
    """
    return max(1, math.ceil(rule.every / interval - _JITTER)) * interval


def long_enough(current: PolicyStreak | None, rule: InARow) -> bool:
    """Whether a streak is long enough to fire."""
    return current is not None and current.true >= rule.times


def restarted(current: PolicyStreak) -> PolicyStreak:
    """Count from zero after a change of size; the next evaluation stays due at the same time."""
    return PolicyStreak(true=0, judged_at=current.judged_at)


def _after(count: int, truth: Truth, now: Monotonic, rule: InARow) -> PolicyStreak:
    match truth:
        case Truth.TRUE:
            return PolicyStreak(true=min(count + 1, rule.times), judged_at=now)
        case Truth.FALSE | Truth.UNKNOWN:
            return PolicyStreak(true=0, judged_at=now)
        case _:
            assert_never(truth)
