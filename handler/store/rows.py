"""Rows ↔ the dataclasses of the port: groups and members. Functions run inside their caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import fields
from typing import Any, cast

from sqlalchemy import Connection, Row, RowMapping, Table, bindparam, delete, func, insert, or_, select, update

from config.errors import StoreError
from config.units import ROOT_ACCOUNT, AccountId, BalancerId, CloudId, GroupId, Instant, MemberName
from handler.planning.attachments import Attachment
from handler.planning.desired import Definition
from handler.planning.launches import LaunchId
from handler.planning.status import StateSince
from handler.planning.world import Phase, Record
from handler.ports.declarations import NOTHING_OVER_API, DeclaredOverApi
from handler.ports.store import FileChange
from handler.ports.stored import StoredGroup
from handler.store.create_tally import HOUR, Creation
from handler.store.declared import overrides, revise
from handler.store.editing import last_edits, write_edited
from handler.store.fleet import read_fleet_pause
from handler.store.schema import attachments, every, groups, members, notes, quiets, sequences, signals, states
from handler.store.upserts import insert_or_update
from trigger.requests import GroupState, Quiet, Signal

Written = tuple[Record, CloudId]
"""A record as it was written, and its member's cloud."""
_TOUCHED = "touched"
_OUTSTANDING = (Phase.INTENDED, Phase.MADE)
STATE = tuple(field.name for field in fields(GroupState) if field.name not in {"quiets", "signals", "fleet_pause"})
"""What a group's row has of its state. Quiet times and signals have tables of their own."""
_SIGNAL = ("alert", "key", "kind")
_ATTACHMENT = tuple(field.name for field in fields(Attachment))
_RECORD = tuple(field.name for field in fields(Record))
# Statements of every pass and batch of decisions, built once: building one costs as much as running it.
_MEMBERS = (
    select(*(members.c[name] for name in _RECORD))
    .where(members.c.group == bindparam("of"), members.c.phase != Phase.GONE)
    .order_by(members.c.sequence)
)
_GONE = select(*(members.c[name] for name in _RECORD)).where(
    members.c.group == bindparam("of"),
    members.c.phase == Phase.GONE,
    members.c.name.in_(bindparam("names", expanding=True)),
)
_NAMES = 1000
"""Names in one query."""
_COUNTED = or_(members.c.phase.in_(_OUTSTANDING), members.c.intended_at > bindparam("since"))
_ALL_CREATES = select(members.c.group, members.c.name, members.c.cloud, members.c.intended_at, members.c.phase).where(
    _COUNTED
)
_CREATES = _ALL_CREATES.where(members.c.group == bindparam("of"))
_GROUP = update(groups).where(groups.c.id == bindparam("row"))
_GONE_FROM_FILE = _GROUP.values(orphaned=True, deleting=or_(groups.c.deleting, bindparam("deleted")))
_BEGUN = insert_or_update(states)
_OVER = delete(states).where(states.c.group == bindparam("of"), states.c.member == bindparam("who"))
_KNOWN = select(groups.c.id).where(groups.c.id == bindparam("of"))
_LAST_SEQUENCE = select(sequences.c.last).where(sequences.c.group == bindparam("of"))
_SEQUENCE_IF_KNOWN = (
    select(func.coalesce(sequences.c.last, 0))
    .select_from(groups.outerjoin(sequences, sequences.c.group == groups.c.id))
    .where(groups.c.id == bindparam("of"))
)
_RAISE_SEQUENCE = insert_or_update(sequences, rising=("last",))
_WRITE_MEMBER = insert_or_update(members)
_FRESH = {"deleting": False, "failed_builds": 0, "back_off_until": None}


def named(row: RowMapping, *, leaving_out: Iterable[str] = ()) -> dict[str, Any]:
    """Return a row as keyword arguments."""
    return {str(name): value for name, value in row.items() if name not in leaving_out}


def require(connection: Connection, group: GroupId) -> None:
    """Raise `StoreError` unless the group exists."""
    if connection.execute(_KNOWN, {"of": group}).first() is None:
        raise _unknown(group)


def _unknown(group: GroupId) -> StoreError:
    return StoreError(f"group {group} is not in the store: declare it first")


# Groups


def read_groups(connection: Connection) -> tuple[StoredGroup, ...]:
    """Read every group, sorted by id."""
    running = {group: tuple(Quiet(**row) for row in found) for group, found in _lists(connection, quiets, "ordinal")}
    lasting = {group: tuple(Signal(**row) for row in found) for group, found in _lists(connection, signals, *_SIGNAL)}
    behind = {
        group: tuple(Attachment(**row) for row in found) for group, found in _lists(connection, attachments, "at")
    }
    fleet_pause = read_fleet_pause(connection)
    in_force, edited_at, begun = overrides(connection), last_edits(connection), read_begun(connection)
    rows = connection.execute(every(groups).order_by(groups.c.id)).mappings()
    return tuple(
        in_force(
            StoredGroup(
                state=GroupState(
                    **{name: row[name] for name in STATE},
                    quiets=running.get(row["id"], ()),
                    signals=lasting.get(row["id"], ()),
                    fleet_pause=fleet_pause,
                ),
                attachments=behind.get(row["id"], ()),
                edited_at=edited_at.get(row["id"]),
                begun=begun.get(row["id"], {}),
                **named(row, leaving_out=STATE),
            )
        )
        for row in rows
    )


def declare(
    connection: Connection,
    definitions: Sequence[Definition],
    at: Instant,
    edited: FileChange | None,
    over: DeclaredOverApi = NOTHING_OVER_API,
    *,
    lost: bool = False,
) -> None:
    """Make exactly the declared groups not ORPHANED, and write the changes and the edits into history.

    A group of the API that is quarantined is held like an ORPHANED one, and its history says why.

    A group with a new name is fresh, unless an earlier store was ``lost``: its sequence is written, too, and
    outlives it.
    """
    known = set(connection.execute(select(sequences.c.group)).scalars())
    wanted = select(groups.c.id, groups.c.orphaned, groups.c.deleting, groups.c.definition, groups.c.account)
    rows_before = {row.id: row for row in connection.execute(wanted)}
    orphaned = {group: row.orphaned for group, row in rows_before.items()}
    before = {group: row.definition for group, row in rows_before.items()}
    declared = {definition.group.id: definition for definition in definitions}
    accounts = {group: over.accounts.get(group, ROOT_ACCOUNT) for group in declared}
    new = [definition for group, definition in declared.items() if group not in rows_before]
    _insert_groups(connection, new, accounts, fresh=frozenset() if lost else declared.keys() - known)
    for group, row in rows_before.items():
        if group in declared:
            _redefine(connection, row, declared[group], accounts[group])
    overruled = revise(connection, before, declared, at)
    gone = [
        group for group, already in orphaned.items() if group not in declared and (not already or group in over.deleted)
    ]
    if gone:
        connection.execute(_GONE_FROM_FILE, [{"row": group, "deleted": group in over.deleted} for group in gone])
    acts = [
        *((group, "declared", "") for group in declared if group not in orphaned),
        *((group, "declared_again", "") for group in declared if orphaned.get(group)),
        *((group, *_gone_as(group, over)) for group in gone),
        *((group, "rollback_over", "") for group in overruled),
    ]
    by = "file" if over.revision is None else over.revision.by
    rows = [{"group": group, "at": at, "name": act, "by": by, "message": message} for group, act, message in acts]
    if rows:
        connection.execute(insert(notes), rows)
    if edited is not None:
        write_edited(connection, edited, orphaned.keys() & declared.keys(), at)


def _insert_groups(
    connection: Connection,
    definitions: Sequence[Definition],
    accounts: Mapping[GroupId, AccountId],
    fresh: Collection[GroupId],
) -> None:
    """Write the first rows of groups, in one statement: a large file declares thousands."""
    if not definitions:
        return
    connection.execute(
        insert(groups),
        [
            {"id": each.group.id, "definition": each, "account": accounts[each.group.id]}
            | _FRESH
            | state_columns(GroupState(fresh=each.group.id in fresh))
            for each in definitions
        ],
    )
    _RAISE_SEQUENCE.write(connection, [{"group": each.group.id, "last": 0} for each in definitions])


def _redefine(
    connection: Connection, before: Row[Any, Any, Any, Any, Any], definition: Definition, account: AccountId
) -> None:
    """Write what is declared of a group that is there, unless its row says so already."""
    is_same = definition == before.definition and account == before.account
    if is_same and not before.orphaned and not before.deleting:
        return
    values: dict[str, object] = {
        "row": before.id,
        "definition": definition,
        "account": account,
        "orphaned": False,
        "deleting": False,
    }
    if before.orphaned:
        values["watched"] = ()  # its schedules begin anew: times that passed are over
    connection.execute(_GROUP, values)


def _gone_as(group: GroupId, over: DeclaredOverApi) -> tuple[str, str]:
    """Return what history calls the end of a group's declaration, and its message."""
    if group in over.quarantined:
        return "quarantined", over.quarantined[group]
    if group in over.deleted:
        return "delete", "deleted over the API: its members leave, then it is forgotten"
    return "orphaned", ""


def write_attachments(connection: Connection, definition: Definition, found: Sequence[Attachment]) -> None:
    """Replace a group's attachments, and its definition with them."""
    group = definition.group.id
    require(connection, group)
    connection.execute(update(groups).where(groups.c.id == group).values(definition=definition))
    connection.execute(delete(attachments).where(attachments.c.group == group))
    rows = [{name: getattr(each, name) for name in _ATTACHMENT} | {"group": group} for each in found]
    if rows:
        connection.execute(insert(attachments), rows)


def write_begun(
    connection: Connection, group: GroupId, begun: Mapping[MemberName, StateSince], over: Collection[MemberName]
) -> None:
    """Replace the instants at which these members entered their states, and forget the members that are gone."""
    require(connection, group)
    if begun:
        rows = [{"group": group, "member": name, "state": each.state, "at": each.at} for name, each in begun.items()]
        _BEGUN.write(connection, rows)
    if over:
        connection.execute(_OVER, [{"of": group, "who": name} for name in over])


def read_begun(connection: Connection) -> dict[GroupId, dict[MemberName, StateSince]]:
    """Read the instant at which each member of each group entered its state."""
    found: dict[GroupId, dict[MemberName, StateSince]] = {}
    for row in connection.execute(every(states)):
        found.setdefault(row.group, {})[row.member] = StateSince(state=row.state, at=row.at)
    return found


def desired_of(connection: Connection, group: GroupId) -> int | None:
    """Read the desired size, if the group exists and has one."""
    return connection.execute(select(groups.c.desired).where(groups.c.id == group)).scalar()


def state_columns(state: GroupState) -> dict[str, object]:
    """Return what a group's row has of its state."""
    return {name: getattr(state, name) for name in STATE}


def _lists(connection: Connection, table: Table, *order: str) -> Iterable[tuple[GroupId, list[dict[str, Any]]]]:
    """Read a table's rows for each group, in order."""
    found: dict[GroupId, list[dict[str, Any]]] = {}
    for row in connection.execute(every(table).order_by(table.c.group, *(table.c[name] for name in order))).mappings():
        found.setdefault(row["group"], []).append(named(row, leaving_out=("group", "ordinal")))
    return found.items()


# Members


def read_members(connection: Connection, group: GroupId) -> tuple[Record, ...]:
    """Members that are not GONE, sorted by sequence."""
    rows = connection.execute(_MEMBERS, {"of": group})
    return tuple(Record(**dict(zip(_RECORD, row, strict=True))) for row in rows)


def read_gone(connection: Connection, group: GroupId, names: Collection[MemberName]) -> Mapping[MemberName, Record]:
    """The last records of those of these names that are remembered as GONE."""
    asked = list(names)
    slices = (asked[first : first + _NAMES] for first in range(0, len(asked), _NAMES))
    rows = (row for some in slices for row in connection.execute(_GONE, {"of": group, "names": some}))
    records = (Record(**dict(zip(_RECORD, row, strict=True))) for row in rows)
    return {record.name: record for record in records}


def touch(connection: Connection, group: GroupId) -> None:
    """Note that this transaction changes the group's members, so that earlier reads are invalid."""
    connection.info.setdefault(_TOUCHED, {})[group] = None


def _note_written(connection: Connection, record: Record, cloud: CloudId) -> None:
    """Note a record that this transaction writes, so that earlier reads can be brought up to date."""
    some = connection.info.setdefault(_TOUCHED, {}).setdefault(record.group, [])
    if some is not None:
        some.append((record, cloud))


def touched(info: MutableMapping[Any, Any]) -> Mapping[GroupId, Sequence[Written] | None]:
    """Return the groups whose members changed on this connection since the last call.

    Of each the records that were written, in their order; ``None``: its members changed otherwise, too.
    """
    return cast("Mapping[GroupId, Sequence[Written] | None]", info.pop(_TOUCHED, {}))


def last_sequence(connection: Connection, group: GroupId) -> int:
    """Return the newest sequence ever used under this name."""
    return connection.execute(_LAST_SEQUENCE, {"of": group}).scalar() or 0


def raise_sequence(connection: Connection, group: GroupId, to: int) -> None:
    """Give out no sequence up to this one any more."""
    _RAISE_SEQUENCE.write(connection, {"group": group, "last": to})


def intended(
    installation: str, group: GroupId, sequence: int, balancers: tuple[tuple[BalancerId, int], ...], at: Instant
) -> Record:
    """The record of a member that is about to be created."""
    return Record(
        name=LaunchId(installation=installation, group=group, sequence=sequence).name,
        group=group,
        sequence=sequence,
        phase=Phase.INTENDED,
        intended_at=at,
        balancers=balancers,
    )


def write_members(connection: Connection, records: Sequence[Record], cloud: CloudId) -> None:
    """Insert or replace records, and raise the sequences of their groups to theirs."""
    if not records:
        return
    newest: dict[GroupId, int] = {}
    for record in records:
        newest[record.group] = max(record.sequence, newest.get(record.group, 0))
    for group, sequence in newest.items():
        last = connection.execute(_SEQUENCE_IF_KNOWN, {"of": group}).scalar()
        if last is None:
            raise _unknown(group)
        if sequence > last:
            raise_sequence(connection, group, sequence)
    for record in records:
        _note_written(connection, record, cloud)
    rows = [{**{name: getattr(record, name) for name in _RECORD}, "cloud": cloud} for record in records]
    _WRITE_MEMBER.write(connection, rows)


def read_creations(connection: Connection, group: GroupId | None, now: Instant) -> tuple[Creation, ...]:
    """Return the creations of one group, or of all (``None``), that are outstanding or of the past two hours.

    Two, so that a clock that is set back a little finds all of the hour that ends then.
    """
    since = {"since": now - 2 * HOUR}
    found = connection.execute(*((_ALL_CREATES, since) if group is None else (_CREATES, since | {"of": group})))
    return tuple(
        Creation(row.group, row.name, row.cloud, row.intended_at, outstanding=row.phase in _OUTSTANDING)
        for row in found
    )


def creation_of(record: Record, cloud: CloudId) -> Creation:
    """Return what a record counts as."""
    outstanding = record.phase in _OUTSTANDING
    return Creation(record.group, record.name, cloud, record.intended_at, outstanding=outstanding)
