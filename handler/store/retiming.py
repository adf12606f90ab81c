"""Move every persisted instant from which a span counts; functions run inside their caller's transaction.

History stays as it was written: only instants of waits move.
"""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select, update

from config.units import Instant, Seconds
from handler.planning.desired import Builds
from handler.planning.limits import limited_builds, limited_record, limited_state
from handler.planning.provisioning import BalancerProvision
from handler.planning.rolls import Roll
from handler.planning.world import Record
from handler.ports.held_clock import ClockDifference
from handler.ports.stored import StoredGroup
from handler.store import rows
from handler.store.access_schema import hooks, keyed_calls
from handler.store.schema import bindings, every, groups, members, notices, rolls, states
from handler.store.state_rows import write_states
from trigger.moving import moved
from trigger.requests import GroupState

_MEMBER = update(members).where(members.c.group == bindparam("of"), members.c.name == bindparam("called"))
_NOTICE_LASTS: Seconds = 900.0
"""The longest pause between two attempts to deliver a notice (`handler.ports.notices`)."""


def retime(connection: Connection, step: Seconds, now: Instant) -> int:
    """Move spans by a step of the clock, and let none end later than its declared length from ``now``.

    Returns:
        How many groups and members have changed.
    """
    found = rows.read_groups(connection)
    changed = sum(_group(connection, stored, step, now) for stored in found)
    for stored in found:
        changed += _members(connection, stored, step, now)
    for row in connection.execute(every(bindings)).all():
        of = (bindings.c.group == row.group) & (bindings.c.balancer == row.balancer)
        connection.execute(update(bindings).where(of).values(binding=moved(row.binding, BalancerProvision, step)))
    for row in connection.execute(every(rolls)).all():
        connection.execute(update(rolls).where(rolls.c.group == row.group).values(roll=moved(row.roll, Roll, step)))
    if step:
        connection.execute(update(notices).values(next_at=notices.c.next_at + step))
        connection.execute(update(hooks).values(old_until=hooks.c.old_until + step))
        connection.execute(update(states).values(at=states.c.at + step))
        connection.execute(update(keyed_calls).values(at=keyed_calls.c.at + step))
    latest = now + _NOTICE_LASTS
    connection.execute(update(notices).where(notices.c.next_at > latest).values(next_at=latest))
    for begun in (states, keyed_calls):
        connection.execute(update(begun).where(begun.c.at > now).values(at=now))
    return changed


def _group(connection: Connection, stored: StoredGroup, step: Seconds, now: Instant) -> bool:
    state = limited_state(moved(stored.state, GroupState, step), now)
    before = Builds(failed=stored.failed_builds, back_off_until=stored.back_off_until)
    builds = limited_builds(moved(before, Builds, step), now)
    if state == stored.state and builds == before:
        return False
    write_states(connection, {stored.id: state}, {stored.id: stored.state})
    values = {"back_off_until": builds.back_off_until}
    connection.execute(update(groups).where(groups.c.id == stored.id).values(values))
    return True


def _members(connection: Connection, stored: StoredGroup, step: Seconds, now: Instant) -> int:
    """Move the records of a group's members, those that are gone and still count for budgets included."""
    columns = [members.c[name] for name in Record.__slots__]
    changed: list[dict[str, object]] = []
    for row in connection.execute(select(*columns).where(members.c.group == stored.id)):
        before = Record(**dict(zip(Record.__slots__, row, strict=True)))
        after = limited_record(moved(before, Record, step), stored.definition.group.grace, now)
        if after != before:
            instants = {name: getattr(after, name) for name in Record.__slots__ if name not in {"group", "name"}}
            changed.append({"of": stored.id, "called": before.name, **instants})
    if changed:
        connection.execute(_MEMBER, changed)
        rows.touch(connection, stored.id)
    return len(changed)


def difference_of(text: str | None) -> ClockDifference | None:
    """Read the text of `difference_text`; ``None``: there is none, or it is invalid."""
    boot, _, seconds = (text or "").partition(" ")
    try:
        return ClockDifference(boot=boot, seconds=float(seconds)) if boot else None
    except ValueError:
        return None


def difference_text(difference: ClockDifference) -> str:
    """Write the difference of the clocks as text.

    >>> difference_text(ClockDifference(boot="7c1b", seconds=12.5))
    '7c1b 12.5'
    """
    return f"{difference.boot} {difference.seconds!r}"
