"""Look up groups and members by name; the error of an unknown name suggests the nearest known one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from config.errors import Refused
from config.model.catalogue import Mode
from config.units import GroupId, MemberName
from handler.engine.engine import Engine
from handler.planning.world import Record
from handler.ports.store import Store
from handler.runtime.group_runtime import GroupRuntime


class NoSuch(LookupError):
    """There is no such group, policy or member; the message names the nearest one."""


def runtime_of(engine: Engine, group: GroupId) -> GroupRuntime:
    """Return one group's runtime.

    Raises:
        NoSuch: there is no such group.
    """
    runtime = engine.runtimes.get(group)
    if runtime is None:
        raise NoSuch(no_group(group, engine.runtimes))
    return runtime


def refuse_unkept(runtime: GroupRuntime) -> None:
    """Refuse a change of a member that no pass would carry out.

    Raises:
        Refused: its group is no longer declared, or not in mode act.
    """
    mode = runtime.definition.group.mode
    if runtime.state.orphaned and not runtime.deleting:
        raise Refused(f"group {runtime.id} is no longer declared: its members are not changed")
    if mode is not Mode.ACT:
        raise Refused(f"group {runtime.id} is in mode {mode.value}: its members are not changed")


def no_group(group: str, known: Iterable[str]) -> str:
    """Return the error of a group that does not exist, with the nearest of those that the caller may know of."""
    return f"there is no group {group}{nearest(group, known)}"


def record_of(store: Store, group: GroupId, member: MemberName) -> Record:
    """Return one member's record. Reads the store, so call it in a thread.

    Raises:
        NoSuch: the group has no such member.
        StoreError: the store cannot be read.
    """
    records = {record.name: record for record in store.members(group)}
    if member not in records:
        raise NoSuch(f"group {group} has no member {member}{nearest(member, records)}")
    return records[member]


def last_record_of(store: Store, group: GroupId, member: MemberName) -> Record:
    """Return one member's record, also of one that is gone, as long as the store remembers it. As `record_of`."""
    return store.gone(group, {member}).get(member) or record_of(store, group, member)


def nearest(wanted: str, names: Iterable[str]) -> str:
    """Return the end of a sentence that suggests the nearest name; empty if none is near."""
    close = difflib.get_close_matches(wanted, list(names), n=1)
    return f"; did you mean {close[0]}?" if close else ""
