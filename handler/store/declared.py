"""Rows ↔ revisions of definitions, and their overrides. Functions run inside their caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from config.model.catalogue import Profile
from config.units import GroupId, Instant
from handler.planning.declared import KEPT, Converged, Pinned, Revision, essence, superfluous
from handler.planning.desired import Definition
from handler.planning.rolls import Roll
from handler.store.schema import converged, definitions, every, groups, pins, rolls
from handler.store.upserts import insert_or_update

if TYPE_CHECKING:
    from handler.ports.stored import StoredGroup

_Numbered = tuple[GroupId, int, Definition]
"""A group, the number of a revision and its definition."""

# Built once: putting a statement together takes about as long as running it.
_NEWEST_FIRST = (
    select(definitions.c.definition)
    .where(definitions.c.group == bindparam("of"))
    .order_by(definitions.c.number.desc())
    .limit(1)
)
_ROLL = insert_or_update(rolls)
_CONVERGED = insert_or_update(converged)


def overrides(connection: Connection) -> Callable[[StoredGroup], StoredGroup]:
    """Return a function that completes a group's row with its revisions, its pin, its roll and its convergence."""
    newest = _newest(connection)
    pinned, held = dict[GroupId, Pinned](), dict[GroupId, Profile]()
    for row in connection.execute(_PINNED):
        pinned[row.group] = Pinned(revision=row.revision, at=row.at, by=row.by)
        held[row.group] = row.definition.profile
    rolling = {row.group: row.roll for row in connection.execute(every(rolls))}
    found = connection.execute(every(converged))
    settled = {row.group: Converged(size=row.size, definition=row.definition, at=row.at) for row in found}

    def completed(group: StoredGroup) -> StoredGroup:
        profile = held.get(group.id, group.definition.profile)
        return replace(
            group,
            definition=replace(group.definition, profile=profile),
            declared=newest.get(group.id, 1),
            pinned=pinned.get(group.id),
            roll=rolling.get(group.id),
            converged=settled.get(group.id),
        )

    return completed


def revise(
    connection: Connection, before: Mapping[GroupId, Definition], after: Mapping[GroupId, Definition], at: Instant
) -> tuple[GroupId, ...]:
    """Number the changed definitions. A new profile replaces a pinned one.

    Returns:
        The groups whose rollback has ended.
    """
    newest = _newest(connection)
    overruled: list[GroupId] = []
    written: list[_Numbered] = []
    full: list[GroupId] = []
    for group, definition in after.items():
        if group in newest and before.get(group) == definition:
            continue
        number, old = newest.get(group, 0), _last(connection, group) if group in newest else None
        if old is None and group in before:  # declared before revisions were kept
            number, old = 1, essence(before[group])
            written.append((group, number, old))
        declared = essence(definition)
        if old != declared:
            written.append((group, number + 1, declared))
        if old is not None and old.profile != declared.profile and _unpin(connection, group):
            overruled.append(group)
        if number >= KEPT:
            full.append(group)
    _write(connection, written, at)
    for group in full:
        _prune(connection, group)
    return tuple(overruled)


def write_overrides(connection: Connection, group: GroupId, pinned: Pinned | None, roll: Roll | None) -> None:
    """Replace the pin and the roll of a group; ``None``: there is none, and the newest revision is in force."""
    if _unpin(connection, group) and pinned is None:
        _restore(connection, group)
    if pinned is not None:
        connection.execute(insert(pins).values(group=group, revision=pinned.revision, at=pinned.at, by=pinned.by))
    if roll is None:
        connection.execute(delete(rolls).where(rolls.c.group == group))
    else:
        write_roll(connection, group, roll)


def write_roll(connection: Connection, group: GroupId, roll: Roll) -> None:
    """Replace the roll of a group."""
    _ROLL.write(connection, {"group": group, "roll": roll})


def write_converged(connection: Connection, group: GroupId, now: Converged, *, wholly: bool) -> None:
    """Replace a group's last convergence; with ``wholly``, a rollback may go back to its revision."""
    _CONVERGED.write(connection, {"group": group, "size": now.size, "definition": now.definition, "at": now.at})
    if wholly:
        good = (definitions.c.group == group) & (definitions.c.number == now.definition)
        connection.execute(update(definitions).where(good).values(converged_at=now.at))


def read_revisions(connection: Connection, group: GroupId) -> tuple[Revision, ...]:
    """Read a group's revisions, newest first."""
    found = every(definitions).where(definitions.c.group == group).order_by(definitions.c.number.desc())
    return tuple(
        Revision(number=row.number, at=row.at, definition=row.definition, converged_at=row.converged_at)
        for row in connection.execute(found)
    )


_PINNED = (
    every(pins)
    .add_columns(definitions.c.definition.label("definition"))
    .join(definitions, (pins.c.group == definitions.c.group) & (pins.c.revision == definitions.c.number))
)


def _newest(connection: Connection) -> dict[GroupId, int]:
    found = select(definitions.c.group, func.max(definitions.c.number)).group_by(definitions.c.group)
    return {row[0]: row[1] for row in connection.execute(found)}


def _last(connection: Connection, group: GroupId) -> Definition | None:
    """Read a group's newest declaration in the file; its row in ``groups`` may have an override."""
    found: Definition | None = connection.execute(_NEWEST_FIRST, {"of": group}).scalar()
    return found


def _restore(connection: Connection, group: GroupId) -> None:
    """Write the declared profile into the group's row again, which may have an override."""
    last = _last(connection, group)
    row = connection.execute(select(groups.c.definition).where(groups.c.id == group)).scalar()
    if last is not None and row is not None:
        now = replace(row, profile=last.profile)
        connection.execute(update(groups).where(groups.c.id == group).values(definition=now))


def _write(connection: Connection, revisions: Sequence[_Numbered], at: Instant) -> None:
    rows = [{"group": group, "number": number, "at": at, "definition": each} for group, number, each in revisions]
    if rows:
        connection.execute(insert(definitions), rows)


def _unpin(connection: Connection, group: GroupId) -> bool:
    return connection.execute(delete(pins).where(pins.c.group == group)).rowcount > 0


def _prune(connection: Connection, group: GroupId) -> None:
    revisions = read_revisions(connection, group)
    pin = connection.execute(select(pins.c.revision).where(pins.c.group == group)).scalar()
    numbers = superfluous(revisions, revisions[0].number if pin is None else pin)
    connection.execute(delete(definitions).where(definitions.c.group == group, definitions.c.number.in_(numbers)))
