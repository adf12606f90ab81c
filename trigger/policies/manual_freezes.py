"""Freezes of one group by a person: each direction stands among the signals of alerts, and has the same effect.

A person has one freeze of each direction: the newest replaces the one before, so that it can also become shorter.
Source: ADR 0080.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from config.model.effects import FrozenDirection
from config.units import AlertId, Instant, Seconds
from trigger.policies.signals import FREEZES, in_order
from trigger.requests import GroupState, Signal

_NO_ALERT = AlertId("")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualFreeze:
    """What a person froze, and until when."""

    direction: FrozenDirection
    since: Instant
    until: Instant
    by: str
    because: str
    """Empty: no reason given."""


def frozen(
    state: GroupState, direction: FrozenDirection, lasts: Seconds, *, by: str, because: str, now: Instant
) -> GroupState:
    """Freeze a direction or both from now on, for ``lasts`` seconds."""
    until = Instant(now + lasts)
    signals = (
        Signal(alert=_NO_ALERT, key="", kind=kind, since=now, until=until, lasts=lasts, by=by, because=because)
        for kind in FREEZES[direction]
    )
    return replace(state, signals=in_order((*unfrozen(state, direction).signals, *signals)))


def unfrozen(state: GroupState, direction: FrozenDirection) -> GroupState:
    """End a person's freeze of a direction, or of both; alerts and declared windows go on."""
    kinds = FREEZES[direction]
    return replace(state, signals=tuple(one for one in state.signals if one.alert or one.kind not in kinds))


def manual_freezes(state: GroupState, now: Instant) -> tuple[ManualFreeze, ...]:
    """Return what persons froze that has not ended; both directions as one where a person froze them together."""
    found = {each.direction: each for each in _of_each_direction(state, now)}
    inward, outward = found.get(FrozenDirection.IN), found.get(FrozenDirection.OUT)
    if inward is not None and outward is not None and replace(inward, direction=FrozenDirection.OUT) == outward:
        return (replace(inward, direction=FrozenDirection.BOTH),)
    return tuple(found.values())


def _of_each_direction(state: GroupState, now: Instant) -> Iterator[ManualFreeze]:
    for direction in (FrozenDirection.IN, FrozenDirection.OUT):
        for signal in state.signals:
            if not signal.alert and signal.kind in FREEZES[direction] and signal.until > now:
                yield ManualFreeze(
                    direction=direction, since=signal.since, until=signal.until, by=signal.by, because=signal.because
                )
