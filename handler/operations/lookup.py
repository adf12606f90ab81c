"""Groups and members by name, for whoever is asked for one: what is not there names the nearest that is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from config.units import GroupId, MemberName
from handler.engine.engine import Engine
from handler.operations.outcomes import NoSuch
from handler.planning.world import Record
from handler.ports.store import Store
from handler.runtime.group_runtime import GroupRuntime


def room_of(engine: Engine, group: GroupId) -> GroupRuntime:
    """One group's room.

    Raises:
        NoSuch: there is no such group.
    """
    room = engine.rooms.get(group)
    if room is None:
        raise NoSuch(f"there is no group {group}{nearest(group, engine.rooms)}")
    return room


def record_of(store: Store, group: GroupId, member: MemberName) -> Record:
    """What is remembered of one member. Reads the store, so it is asked for in a thread.

    Raises:
        NoSuch: the group has no such member.
        StoreError: the store cannot be read.
    """
    records = {record.name: record for record in store.members(group)}
    if member not in records:
        raise NoSuch(f"group {group} has no member {member}{nearest(member, records)}")
    return records[member]


def nearest(wanted: str, names: Iterable[str]) -> str:
    """The end of a sentence that says which name was perhaps meant; empty if none is near."""
    close = difflib.get_close_matches(wanted, list(names), n=1)
    return f"; did you mean {close[0]}?" if close else ""
