"""Rows ↔ statements and edits of the file. Functions run inside their caller's transaction."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy import Connection, func, insert, select

from config.document.statement import Statement
from config.model.edits import Edit
from config.units import GroupId, Instant
from handler.ports.store import EDITED, FileChange, GroupEdit
from handler.store.schema import edits, notes, statements
from handler.store.upserts import insert_or_update

_STATE = insert_or_update(statements)
_NAMED = 10
"""The most keys that one line of history names; `edits` has them all."""


def read_statement(connection: Connection) -> Statement | None:
    """Read the content of the file that was last loaded."""
    body = connection.execute(select(statements.c.body)).scalar()
    return None if body is None else _read(body)


def read_edits(connection: Connection, group: GroupId, limit: int) -> tuple[GroupEdit, ...]:
    """The newest edits of the file that touched a group, newest first."""
    wanted = select(edits.c.at, edits.c.by, edits.c.edits).where(edits.c.group == group)
    rows = connection.execute(wanted.order_by(edits.c.at.desc(), edits.c.id.desc()).limit(limit))
    return tuple(GroupEdit(at=row.at, by=row.by, edits=row.edits) for row in rows)


def write_edited(connection: Connection, edited: FileChange, known: Collection[GroupId], at: Instant) -> None:
    """Replace the statement, and write the edits into the history of every group that existed before."""
    _STATE.write(connection, {"id": 1, "body": _written(edited.statement)})
    by_group: dict[GroupId, list[Edit]] = {}
    for edit in edited.edits:
        for group in edit.groups:
            if group in known:
                by_group.setdefault(group, []).append(replace(edit, groups=()))
    if not by_group:
        return
    by = {"at": at, "by": edited.by}
    connection.execute(
        insert(edits), [{"group": group, "edits": tuple(each), **by} for group, each in by_group.items()]
    )
    lines = [{"group": group, "name": EDITED, "message": _message(each), **by} for group, each in by_group.items()]
    connection.execute(insert(notes), lines)


def last_edits(connection: Connection) -> dict[GroupId, Instant]:
    """Read when the file was last edited for each group that has edits."""
    found = select(edits.c.group, func.max(edits.c.at)).group_by(edits.c.group)
    return {row[0]: row[1] for row in connection.execute(found)}


def _message(edited: Sequence[Edit]) -> str:
    named = "; ".join(f"{edit.words} ({edit.file}:{edit.line})" for edit in edited[:_NAMED])
    return named + (f"; and {len(edited) - _NAMED} more" if len(edited) > _NAMED else "")


def _written(statement: Statement) -> bytes:
    document = {
        "values": [[*where, text] for where, text in statement.values.items()],
        "used": {group: [list(entry) for entry in sorted(entries)] for group, entries in statement.used.items()},
    }
    return zlib.compress(json.dumps(document, separators=(",", ":")).encode("ascii"))


def _read(body: bytes) -> Statement:
    document = json.loads(zlib.decompress(body))
    return Statement(
        values={tuple(where): text for *where, text in document["values"]},
        used={GroupId(group): frozenset(map(tuple, entries)) for group, entries in document["used"].items()},
    )
