"""How far a policy has come: by the time that its conditions held, or by how often in a row they did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from config.model.catalogue import Holds, Policy
from config.units import Monotonic, PolicyId, Seconds
from trigger.conditions import streaks, timers
from trigger.verdicts import Counted, Hold, Streak, Truth

Kept = Hold | Streak
"""What is carried from tick to tick for one policy."""


class Progress(NamedTuple):
    """One policy after one tick."""

    kept: Kept | None
    ready: bool
    """Held for long enough, or often enough; the policy fires if its conditions are TRUE as well."""
    held: Seconds
    needed: Seconds
    in_a_row: Counted | None = None


def progress(policy: Policy, previous: Kept | None, truth: Truth, now: Monotonic, interval: Seconds) -> Progress:
    """Carry one policy over one tick. What was kept under another rule counts for nothing."""
    rule = policy.in_a_row
    if rule is None:
        needed = _needed(policy)
        current = timers.hold(previous if isinstance(previous, Hold) else None, truth, now, interval)
        return Progress(current, timers.long_enough(current, needed, interval), timers.held(current), needed)
    streak, due = streaks.streak(previous if isinstance(previous, Streak) else None, truth, now, rule, interval)
    every = streaks.spacing(rule, interval)
    counted = Counted(true=0 if streak is None else streak.true, times=rule.times, every=every)
    enough = due and streaks.long_enough(streak, rule)
    return Progress(streak, enough, counted.true * every, rule.times * every, counted)


def restarted(kept: Mapping[PolicyId, Kept]) -> Mapping[PolicyId, Kept]:
    """What is left of them once a policy has changed the size: when streaks were judged, and no hold."""
    return {policy: streaks.restarted(one) for policy, one in kept.items() if isinstance(one, Streak)}


def _needed(policy: Policy) -> Seconds:
    """How long the truth must hold: not at all where the window already is the average over the duration."""
    return 0.0 if policy.holds is Holds.AVERAGE else policy.duration
