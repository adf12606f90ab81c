"""Write the states of groups: of each, the parts that changed since it was last written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from operator import attrgetter

from sqlalchemy import Connection, bindparam, delete, insert, update

from config.units import AlertId, GroupId
from handler.store.rows import STATE, require, state_columns
from handler.store.schema import groups, quiets, signals
from handler.store.upserts import insert_or_update
from trigger.requests import GroupState, Quiet, Signal, SignalKind

# Statements of every batch of decisions, built once: building one costs as much as running it.
_WRITE = update(groups).where(groups.c.id == bindparam("row"))
_NO_QUIETS = delete(quiets).where(quiets.c.group == bindparam("row"))
_NO_SIGNALS = delete(signals).where(signals.c.group == bindparam("row"))
_END_SIGNAL = delete(signals).where(
    signals.c.group == bindparam("row"),
    signals.c.alert == bindparam("of"),
    signals.c.key == bindparam("by"),
    signals.c.kind == bindparam("sort"),
)
_SIGNALS = insert_or_update(signals)
_QUIET = tuple(field.name for field in fields(Quiet))
_SIGNAL = tuple(field.name for field in fields(Signal))
_of_row = attrgetter(*STATE)
_quiets = attrgetter("quiets")


def write_states(
    connection: Connection, states: Mapping[GroupId, GroupState], before: Mapping[GroupId, GroupState] | None = None
) -> None:
    """Replace the states of groups.

    Args:
        connection: runs the transaction.
        states: the new states.
        before: the states on disk, if known: only what differs from them is then written. A flood of alerts changes
            one signal of each state.

    Raises:
        StoreError: there is no such group.
    """
    known = before or {}
    changed = {group: state for group, state in states.items() if _differs(_of_row, state, known.get(group))}
    if changed:
        rows = [state_columns(state) | {"row": group} for group, state in changed.items()]
        if connection.execute(_WRITE, rows).rowcount != len(rows):
            for group in changed:
                require(connection, group)
    _replace_quiets(
        connection,
        {group: state.quiets for group, state in states.items() if _differs(_quiets, state, known.get(group))},
    )
    _change_signals(connection, states, known)


def _differs(part: attrgetter[object], state: GroupState, before: GroupState | None) -> bool:
    return before is None or part(state) != part(before)


def _replace_quiets(connection: Connection, running: Mapping[GroupId, Sequence[Quiet]]) -> None:
    if not running:
        return
    connection.execute(_NO_QUIETS, [{"row": group} for group in running])
    listed = [
        {name: getattr(quiet, name) for name in _QUIET} | {"group": group, "ordinal": ordinal}
        for group, some in running.items()
        for ordinal, quiet in enumerate(some)
    ]
    if listed:
        connection.execute(insert(quiets), listed)


def _change_signals(
    connection: Connection, states: Mapping[GroupId, GroupState], before: Mapping[GroupId, GroupState]
) -> None:
    unknown = [{"row": group} for group in states if group not in before]
    if unknown:
        connection.execute(_NO_SIGNALS, unknown)
    ended: list[dict[str, object]] = []
    changed: list[dict[str, object]] = []
    for group, state in states.items():
        was = before[group].signals if group in before else ()
        if was is state.signals:
            continue
        same = {*map(id, was)}.intersection(map(id, state.signals))  # nearly all of them in a flood of alerts
        known = {_signal_name(signal): signal for signal in was if id(signal) not in same}
        now = {_signal_name(signal): signal for signal in state.signals if id(signal) not in same}
        gone = known.keys() - now.keys()
        ended += [{"row": group, "of": alert, "by": key, "sort": kind} for alert, key, kind in gone]
        new = (signal for name, signal in now.items() if known.get(name) != signal)
        changed += [{name: getattr(signal, name) for name in _SIGNAL} | {"group": group} for signal in new]
    if ended:
        connection.execute(_END_SIGNAL, ended)
    if changed:
        _SIGNALS.write(connection, changed)


def _signal_name(signal: Signal) -> tuple[AlertId, str, SignalKind]:
    return signal.alert, signal.key, signal.kind
