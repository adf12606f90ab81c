"""Measure a policy's progress: how long its conditions have held, in steady time, or how often in a row.

# Note [Held time]

Held time grows only between two TRUE evaluations at most one and a half intervals apart; the time between them then
counts. So, per evaluation:

* TRUE: the hold goes on if the last TRUE is at most 1.5 intervals ago; otherwise a new hold begins now.
* UNKNOWN: the hold stays and does not grow. The next TRUE tick is then two intervals after the last one, so a single
  UNKNOWN tick ends the hold. Only an UNKNOWN evaluation *between* two ticks does no harm.
* FALSE: the hold ends.

The rule holds over a restart of the daemon, too: steady time goes on, so a hold goes on if no tick was lost.
Source: DESIGN.md "Judging" and "Time".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, assert_never

from config.model.catalogue import Holds, Policy
from config.units import Monotonic, PolicyId, Seconds
from trigger.conditions import streaks
from trigger.verdicts import Hold, PolicyStreak, StreakCount, Truth

LONGEST_GAP = 1.5
"""In intervals: one late tick does not end a hold, one missing tick does."""

JITTER = 0.05
"""In intervals: how early a tick may be. Five ticks of 30.00 ± 0.02 s count as 120 s, though they take 119.98 s."""


def hold(previous: Hold | None, truth: Truth, now: Monotonic, interval: Seconds) -> Hold | None:
    """Carry a hold over one evaluation; ``None``: nothing is held. See Note [Held time]."""
    match truth:
        case Truth.TRUE:
            if previous is not None and 0 <= now - previous.last_true <= LONGEST_GAP * interval:
                return Hold(true_since=previous.true_since, last_true=now)
            return Hold(true_since=now, last_true=now)
        case Truth.UNKNOWN:
            return previous
        case Truth.FALSE:
            return None
        case _:
            assert_never(truth)


def held(current: Hold | None) -> Seconds:
    """Return how long the conditions have held: up to the last TRUE evaluation."""
    return 0.0 if current is None else current.last_true - current.true_since


def long_enough(current: Hold | None, duration: Seconds, interval: Seconds) -> bool:
    """Whether a policy whose conditions are TRUE now has held them for ``duration``.

    At most a twentieth of an interval may be missing, so that a tick that is early by its jitter still counts.
    """
    return current is not None and held(current) >= duration - JITTER * interval


def least_held(policy: Policy, interval: Seconds) -> Seconds:
    """Return for how long the conditions of a policy must have held for it to be ready: as `long_enough`."""
    return _needed(policy) - JITTER * interval


Kept = Hold | PolicyStreak
"""The progress of one policy, carried from tick to tick."""


class Progress(NamedTuple):
    """One policy after one tick."""

    kept: Kept | None
    ready: bool
    """Held long enough, or often enough; the policy fires if its conditions are also TRUE."""
    held: Seconds
    needed: Seconds
    in_a_row: StreakCount | None = None


def progress(policy: Policy, previous: Kept | None, truth: Truth, now: Monotonic, interval: Seconds) -> Progress:
    """Carry one policy over one tick. Progress under another rule does not count."""
    rule = policy.in_a_row
    if rule is None:
        needed = _needed(policy)
        current = hold(previous if isinstance(previous, Hold) else None, truth, now, interval)
        return Progress(current, long_enough(current, needed, interval), held(current), needed)
    streak, due = streaks.streak(previous if isinstance(previous, PolicyStreak) else None, truth, now, rule, interval)
    every = streaks.spacing(rule, interval)
    counted = StreakCount(true=0 if streak is None else streak.true, times=rule.times, every=every)
    enough = due and streaks.long_enough(streak, rule)
    return Progress(streak, enough, counted.true * every, rule.times * every, counted)


def restarted(kept: Mapping[PolicyId, Kept]) -> Mapping[PolicyId, Kept]:
    """Return the progress after a policy has changed the size: streaks of zero with their times, and no holds."""
    return {policy: streaks.restarted(one) for policy, one in kept.items() if isinstance(one, PolicyStreak)}


def _needed(policy: Policy) -> Seconds:
    """Return how long the conditions must hold: 0 if the window is already the average over the duration."""
    return 0.0 if policy.holds is Holds.AVERAGE else policy.duration
