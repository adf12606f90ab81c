"""What meanings do to a group's state: signals begin, are renewed and end. Policies and values do nothing to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from config.units import Instant
from handler.ingest.alerts.mapping import Begin, End, Meaning
from trigger.policies.signals import ended, signalled
from trigger.requests import GroupState, Signal

SIGNALS_AT_MOST = 50
"""Of one declared alert in one group. Fifty alerts that shield a group shield it no better than one."""
MORE = "more"
"""The key that all beyond those share. It ends by its time to live alone."""


def told(state: GroupState, meanings: Iterable[Meaning], now: Instant) -> GroupState:
    """Have meanings of one group, in their order, begin and end what lasts."""
    for meaning in meanings:
        match meaning.act:
            case Begin(signals=signals):
                for signal in signals:
                    state = signalled(state, _bounded(state, signal), now)
            case End():
                state = ended(state, meaning.alert, meaning.told.fingerprint, now)
            case _:
                pass
    return state


def _bounded(state: GroupState, signal: Signal) -> Signal:
    """The signal, or, with too many of its kind, one that stands for all the rest."""
    keys = {known.key for known in state.signals if (known.alert, known.kind) == (signal.alert, signal.kind)}
    return signal if signal.key in keys or len(keys) < SIGNALS_AT_MOST else replace(signal, key=MORE)
