"""Rows ↔ the notices of `handler.ports.notices`. Functions run inside their caller's transaction.

A row is an outbox entry until it has no ``next_at``: then it was delivered, or given up. The last row of a group is
also the record of its last notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from config.model.observability import NotifyTarget
from config.units import GroupId, Instant
from handler.ports.notices import DecisionNotice, Filed, News, Notice, Tried, channel, words_of
from handler.store.schema import groups, notes, notices
from handler.store.upserts import insert_or_ignore

_FILE = insert_or_ignore(notices)
_TROUBLE, _DECISION, _ENDED = "trouble", "decision", "ended"
"""``ended``: a decision of a group that was to send no more of them. Its later ones do not go on from there."""
_REDIRECT = (
    update(notices)
    .where(notices.c.group == bindparam("of_group"), notices.c.next_at.is_not(None))
    .values(target=bindparam("to_target", type_=notices.c.target.type))
)
_END = update(notices).where(notices.c.group == bindparam("of_group"), notices.c.kind == _DECISION).values(kind=_ENDED)


def write_notices(connection: Connection, filed: Sequence[Filed]) -> None:
    """Insert notices, due at once; a notice that was filed before stays as it is."""
    rows = [
        {
            "id": each.notice.id,
            "group": each.notice.group,
            "at": each.notice.at,
            "kind": _DECISION if isinstance(each.notice, DecisionNotice) else _TROUBLE,
            "notice": each.notice,
            "target": each.target,
            "attempts": each.attempts,
            "next_at": each.notice.at,
        }
        for each in filed
    ]
    if rows:
        _FILE.write(connection, rows)


def read_last(connection: Connection) -> tuple[Notice, ...]:
    """Read the last notice of trouble of each existing group, sorted by group."""
    return tuple(notice for notice in _last(connection, _TROUBLE) if isinstance(notice, Notice))


def read_last_decided(connection: Connection) -> Mapping[GroupId, Instant]:
    """Read when each existing group made the decision of its last notice of one."""
    return {notice.group: notice.at for notice in _last(connection, _DECISION)}


def _last(connection: Connection, kind: str) -> Sequence[News]:
    newest = select(func.max(notices.c.number)).where(notices.c.kind == kind).group_by(notices.c.group)
    wanted = select(notices.c.notice).where(notices.c.number.in_(newest), notices.c.group.in_(select(groups.c.id)))
    return connection.execute(wanted.order_by(notices.c.group)).scalars().all()


def read_waiting_targets(connection: Connection) -> Sequence[tuple[GroupId, NotifyTarget]]:
    """Read where unsent notices would go: each target of each group once."""
    wanted = select(notices.c.group, notices.c.target).where(notices.c.next_at.is_not(None)).distinct()
    return [(row.group, row.target) for row in connection.execute(wanted)]


def write_targets(connection: Connection, targets: Mapping[GroupId, NotifyTarget]) -> None:
    """Write another target to the unsent notices of each of these groups."""
    rows = [{"of_group": group, "to_target": target} for group, target in targets.items()]
    if rows:
        connection.execute(_REDIRECT, rows)


def end_decisions(connection: Connection, groups: Sequence[GroupId]) -> None:
    """Have no decision of these groups be their last."""
    if groups:
        connection.execute(_END, [{"of_group": group} for group in groups])


def read_due(connection: Connection, now: Instant, limit: int, besides: Sequence[NotifyTarget]) -> tuple[Filed, ...]:
    """Read due notices, in order of filing. A group that waits for a retry has none, so notices stay in order."""
    waiting = select(notices.c.group).where(notices.c.next_at > now)
    wanted = (
        select(notices.c.notice, notices.c.target, notices.c.attempts)
        .where(notices.c.next_at <= now, notices.c.group.not_in(waiting), notices.c.target.not_in(list(besides)))
        .order_by(notices.c.number)
        .limit(limit)
    )
    return tuple(Filed(**row) for row in connection.execute(wanted).mappings())


def write_tried(connection: Connection, id: str, tried: Tried) -> None:
    """Write an attempt; the last one also becomes a line of history, unless it delivers what is a line already."""
    row = connection.execute(select(notices.c.notice, notices.c.target).where(notices.c.id == id)).first()
    if row is None:
        return
    notice: News = row.notice
    changed = {"attempts": notices.c.attempts + 1, "next_at": tried.next_at}
    if tried.delivered:
        changed["delivered_at"] = tried.at
    connection.execute(update(notices).where(notices.c.id == id).values(changed))
    if tried.next_at is None and not (tried.delivered and isinstance(notice, DecisionNotice)):
        words = words_of(notice)
        line = {
            "group": notice.group,
            "at": tried.at,
            "name": "notified" if tried.delivered else "notice_given_up",
            "by": channel(row.target),
            "message": words if tried.delivered else f"{words}: {tried.because}",
        }
        connection.execute(insert(notes).values(line))


def delete_sent(connection: Connection, group: GroupId) -> None:
    """Delete a group's sent notices; unsent ones stay."""
    connection.execute(delete(notices).where(notices.c.group == group, notices.c.next_at.is_(None)))
