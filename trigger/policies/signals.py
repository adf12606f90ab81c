"""Add lasting alerts to a group's state, renew them, and end them.

Alert, key (the one alert among those that the rule matches) and kind identify a signal. Another delivery renews it: it
keeps its first start, and lasts until the latest delivered end. Only `ended` shortens it: deliveries come twice, late
and out of order, and "resolved" may never come. The state does not depend on the order of deliveries.

Their effect on a decision is in `trigger.guards.gate` (refusals) and `trigger.guards.enforced_bounds` (floors).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Collection, Iterable
from dataclasses import replace
from operator import attrgetter
from typing import assert_never

from config.model.catalogue import Group
from config.model.effects import Alert, BringValue, Effect, FirePolicy, Freeze, FrozenDirection, RaiseFloor, Shield
from config.units import AlertId, Instant
from trigger.requests import GroupState, Signal, SignalKind

FREEZES = {
    FrozenDirection.OUT: (SignalKind.FREEZE_OUT,),
    FrozenDirection.IN: (SignalKind.FREEZE_IN,),
    FrozenDirection.BOTH: (SignalKind.FREEZE_IN, SignalKind.FREEZE_OUT),
}
"""The kinds of signals that freeze a direction, or both."""


def signals_of(alert: Alert, key: str, *, since: Instant, now: Instant) -> tuple[Signal, ...]:
    """Return the signals of a firing alert, with its time to live from ``now``.

    None for an alert that fires a policy or brings a value: the former is a request, the latter a reading.
    """
    size = alert.effect.size if isinstance(alert.effect, RaiseFloor) else None
    until = Instant(now + alert.ttl)
    return tuple(
        Signal(alert=alert.id, key=key, kind=kind, size=size, since=since, until=until, lasts=alert.ttl)
        for kind in _kinds(alert.effect)
    )


def blinded(alert: Alert, key: str, *, since: Instant, now: Instant) -> Signal:
    """Return the signal of an alert whose own source has no data: it can neither fire nor resolve."""
    until = Instant(now + alert.ttl)
    return Signal(alert=alert.id, key=key, kind=SignalKind.BLIND, since=since, until=until, lasts=alert.ttl)


def signalled(state: GroupState, signal: Signal, now: Instant) -> GroupState:
    """Add a signal, or renew it. A signal that is over already changes nothing."""
    renewed, others = signal, []
    for other in state.signals:
        if other.key == signal.key and other.alert == signal.alert and other.kind is signal.kind:
            renewed = _renewed(other, renewed)
        elif other.until > now:
            others.append(other)
    if renewed.until > now:
        insort(others, renewed, key=_name)  # a state's signals are in this order: a flood of alerts sorts none of them
    return replace(state, signals=tuple(others))


def _renewed(one: Signal, other: Signal) -> Signal:
    """Return the one that lasts longer, from the start of the earlier one; of two that last as long the greater."""
    latest = max((other, one), key=lambda each: (each.until, each.size or 0))
    return replace(latest, since=min(one.since, other.since))


def ended(state: GroupState, alert: AlertId, key: str, now: Instant) -> GroupState:
    """Remove all signals of one alert: it is resolved.

    Desired size stays as it is, also when a floor ends, until policies lower it.
    """
    return _with(state, (one for one in state.signals if (one.alert, one.key) != (alert, key)), now)


def lasting(state: GroupState, now: Instant) -> GroupState:
    """Drop signals that are over; the same object if there are none."""
    if not state.signals or min(map(_until, state.signals)) > now:
        return state
    return _with(state, state.signals, now)


def outlasting(state: GroupState) -> GroupState:
    """Keep of the signals of one alert, kind and size the one that lasts longest.

    Every decision on the state is the same, now and later, until an alert begins or ends.
    """
    longest: dict[tuple[AlertId, int, int | None], Signal] = {}
    for each in state.signals:
        name = each.alert, id(each.kind), each.size  # a kind is hashed by Python's own code, which takes longer
        if each.until >= longest.setdefault(name, each).until:
            longest[name] = each
    if len(longest) == len(state.signals):
        return state
    return replace(state, signals=in_order(longest.values()))


def in_order(signals: Iterable[Signal]) -> tuple[Signal, ...]:
    """Sort signals as a state has them."""
    return tuple(sorted(signals, key=_name))


def floor_of(group: Group, signals: Collection[Signal]) -> int:
    """Return the least size that alerts allow: the greatest of min and their floors, never above max."""
    if not signals:
        return group.minimum
    kind = SignalKind.FLOOR
    floors = [signal.size or 0 for signal in signals if signal.kind is kind]
    return max(group.minimum, min(max(floors, default=0), group.maximum))


def _kinds(effect: Effect) -> tuple[SignalKind, ...]:
    match effect:
        case RaiseFloor():
            return (SignalKind.FLOOR,)
        case Shield():
            return (SignalKind.SHIELD,)
        case Freeze(way=way):
            return FREEZES[way]
        case FirePolicy() | BringValue():
            return ()
        case _:
            assert_never(effect)


def _with(state: GroupState, signals: Iterable[Signal], now: Instant) -> GroupState:
    return replace(state, signals=in_order(one for one in signals if one.until > now))


def _name(signal: Signal) -> tuple[str, str, str]:
    return signal.alert, signal.key, signal.kind.value


_until = attrgetter("until")
