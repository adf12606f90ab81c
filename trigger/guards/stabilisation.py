"""Limit scale-in by the highest advice of a window: a short dip of the load removes no member.

# Note [Advice]

At each tick the policies of a group *advise* one size, before any guard but the least size
(`trigger.guards.enforced_bounds`):

=====================================================  ========================================
When                                                   they advise
=====================================================  ========================================
a policy is ready to grow the group                    the largest size asked for
none is ready, or none that is asks for another size   desired size
some are ready to shrink it, another that could is     desired size: missing data never lowers
not (NOT_MET, HOLDING or BLIND)
all that could shrink it are ready                     the largest size asked for: fewest leave
=====================================================  ========================================

A policy's duration comes first, then the window: HOLDING is no advice to shrink. Other guards, such as quiet times and
freezes, do not stop advice, so the window fills meanwhile.

# Note [Ceilings]

The window needs no list of ticks. A *ceiling* records since when no tick advised more than a size. A tick that advises
fewer adds a ceiling. A tick that advises more replaces all lower ceilings by one of its own size, which keeps the start
of the first of them. A tick that advises desired size or more removes all. The highest advice of the window is then
the lowest ceiling that began a window ago. Without one, as at the start, it is the desired size.

After a gap of more than 1.5 intervals between ticks, on the wall clock, the window begins anew: the advice within the
gap is unknown. It also begins anew after a change of size by a person or an alarm, which know more than the policies,
and after a halt of all decisions.

Source: Kubernetes' HorizontalPodAutoscaler, ``behavior.scaleDown.stabilizationWindowSeconds``, which forgets the window
at a restart; issue 5, item 6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from config.model.catalogue import Group
from config.units import Instant, Seconds
from trigger.conditions.timers import JITTER, LONGEST_GAP
from trigger.guards.enforced_bounds import is_blind, least_size
from trigger.policies.tracking import any_policy_disagrees, requested_size
from trigger.requests import Ceiling, GroupState, Observed
from trigger.verdicts import Evaluation

_CEILINGS = 200
"""The most ceilings kept. Beyond this the lowest is not recorded yet, so the size falls later, not lower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stabilising:
    """A lower advice that waits for the window to fill."""

    highest: int
    """The highest advice that counts: policies go no lower."""
    lower: int
    """The next lower advice."""
    since: Instant
    """Since when no tick advised more than ``lower``."""
    free_at: Instant
    """When ``lower`` counts, if no policy advises more until then."""


def advised(evaluation: Evaluation, base: int, least: int, *, in_service: int) -> int:
    """Return the size that the policies advise at one tick; see Note [Advice].

    Args:
        evaluation: the tick's.
        base: the desired size.
        least: no advice is lower, unless desired size is.
        in_service: members that carry the load.
    """
    sizes = [
        requested_size(base, in_service, advice.adjustment)
        for advice in evaluation.advices
        if advice.reason is None and advice.adjustment is not None
    ]
    fewer = [size for size in sizes if size < base]
    if not fewer or max(sizes) > base or any_policy_disagrees(base, in_service, evaluation):
        return max(base, *sizes) if sizes else base
    return max(min(least, base), *fewer)


def observed(before: Observed, advice: int, base: int, now: Instant, *, window: Seconds, interval: Seconds) -> Observed:
    """Add one tick's advice; see Note [Ceilings].

    >>> then = Observed(ceilings=(Ceiling(since=Instant(0.0), size=4),), seen=Instant(60.0))
    >>> more = observed(then, 6, 10, Instant(90.0), window=300.0, interval=30.0)
    >>> [(ceiling.since, ceiling.size) for ceiling in more.ceilings]
    [(0.0, 6)]
    >>> fewer = observed(then, 3, 10, Instant(90.0), window=300.0, interval=30.0)
    >>> [(ceiling.since, ceiling.size) for ceiling in fewer.ceilings]
    [(0.0, 4), (90.0, 3)]
    """
    if advice >= base:
        return Observed()
    known = _known(before, interval, now)
    higher = tuple(ceiling for ceiling in known if ceiling.size > advice)
    lifted = known[len(higher) :]
    since = lifted[0].since if lifted else now
    ceilings = (*higher, Ceiling(since=since, size=advice))
    past = sum(_counts(ceiling, window, interval, now) for ceiling in ceilings)
    return Observed(ceilings=ceilings[max(past - 1, 0) :][:_CEILINGS], seen=now)


def highest(before: Observed, base: int, now: Instant, *, window: Seconds, interval: Seconds) -> int:
    """Return the highest advice of the window, at most desired size: policies may go no lower."""
    known = _known(before, interval, now)
    counting = (ceiling.size for ceiling in known if _counts(ceiling, window, interval, now))
    return min((base, *counting))


def free_at(before: Observed, base: int, now: Instant, *, window: Seconds) -> Instant:
    """Return when a size below ``base`` is possible at the earliest, if no policy advises more until then."""
    return Instant(next((ceiling.since for ceiling in before.ceilings if ceiling.size < base), now) + window)


def observing(
    group: Group, state: GroupState, in_service: int, evaluation: Evaluation | None, now: Instant
) -> GroupState:
    """Return a group's state with this tick's advice; the same object between two ticks."""
    if group.stabilisation is None:
        return unobserved(state)
    if evaluation is None or state.desired is None:
        return state
    least = least_size(group, state, blind=is_blind(evaluation))
    advice = advised(evaluation, state.desired, least, in_service=in_service)
    now_observed = observed(
        state.observed, advice, state.desired, now, window=group.stabilisation, interval=group.interval
    )
    return replace(state, observed=now_observed) if now_observed.ceilings else unobserved(state)


def unobserved(state: GroupState) -> GroupState:
    """Return the state without any advice."""
    return replace(state, observed=Observed()) if state.observed.ceilings else state


def stabilising(group: Group, state: GroupState, now: Instant) -> Stabilising | None:
    """Return the lower advice that waits; ``None``: policies advise nothing lower, or it does not have to wait."""
    window, base = group.stabilisation, state.desired
    if window is None or base is None:
        return None
    top = highest(state.observed, base, now, window=window, interval=group.interval)
    lower = next((ceiling for ceiling in state.observed.ceilings if ceiling.size < top), None)
    if lower is None:
        return None
    return Stabilising(highest=top, lower=lower.size, since=lower.since, free_at=Instant(lower.since + window))


def _known(before: Observed, interval: Seconds, now: Instant) -> tuple[Ceiling, ...]:
    """Return the valid ceilings: none after a gap, or after the clock was set back."""
    unbroken = before.seen is not None and 0 <= now - before.seen <= LONGEST_GAP * interval
    return before.ceilings if unbroken else ()


def _counts(ceiling: Ceiling, window: Seconds, interval: Seconds, now: Instant) -> bool:
    """Whether it began a window ago; at most a twentieth of an interval may be missing, as in `conditions.timers`."""
    return now - ceiling.since >= window - JITTER * interval
