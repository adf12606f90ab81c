"""Rows of the audit trail: each is chained to the one before by its digest. Pure.

A digest is SHA-256 over the digest before and the row as canonical JSON, its number included. So a row that is
altered, removed or moved breaks the chain; where it ends, and a chain that was written anew, only a copy outside tells.
"""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from config.units import GroupId, Instant
from handler.identity.actors import Actor, Way

GENESIS = "0" * 64
"""The digest before the first row."""


class AuditResult(enum.Enum):
    """What became of a request."""

    ASKED = "asked"
    """It is about to be carried out; a later row that names this one has its result."""
    DONE = "done"
    REFUSED = "refused"
    """The daemon would not do it, and changed nothing."""
    FORBIDDEN = "forbidden"
    """The caller lacks the right, or what it names is not the caller's."""
    FAILED = "failed"
    """It could not be done, or not wholly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One line of the trail. It holds no secret: operations carry references, and their answers are not kept."""

    at: Instant
    who: str
    way: Way
    peer: str = ""
    credential: str = ""
    act: str
    """The operation's name, as in the OpenAPI document."""
    on: str = ""
    """What it acts on, as its path."""
    groups: tuple[GroupId, ...] = ()
    given: str = ""
    """The other fields of the request, as JSON."""
    because: str = ""
    """The reason that the caller gives."""
    result: AuditResult
    outcome: str = ""
    """What changed, as ``before → after``, or why nothing did."""
    of: int | None = None
    """The number of the row that asked."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One line with its place in the chain."""

    number: int
    line: str
    """Canonical JSON."""
    digest: str

    @property
    def fields(self) -> Mapping[str, Any]:
        """The line, read; empty if something else was put in its place."""
        try:
            read = json.loads(self.line)
        except ValueError:
            return {}
        return read if isinstance(read, dict) else {}


def is_whole(fields: Mapping[str, Any]) -> bool:
    """Tell whether a row has what every row has; one that was altered may not, and `broken` tells of it."""
    return fields.keys() >= {"at", "who", "way", "act", "result"}


def answered(asked: Mapping[str, Any], end: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a request's row with the result of the row that tells it; ``None``: there is no such row."""
    if end is None:
        return dict(asked)
    return {**asked, "result": end["result"], "outcome": end.get("outcome", ""), "ended": end["at"]}


def entry_by(actor: Actor, at: Instant, act: str, result: AuditResult, **more: Any) -> AuditEntry:  # noqa: ANN401  # as `AuditEntry` has them
    """Return an entry about an actor."""
    origin = actor.origin
    return AuditEntry(
        at=at,
        who=actor.name,
        way=origin.way,
        peer=origin.peer,
        credential=origin.credential,
        act=act,
        because=actor.because,
        result=result,
        **more,
    )


def line_of(number: int, entry: AuditEntry) -> str:
    """Write an entry as canonical JSON; fields that are empty are left out."""
    fields: dict[str, object] = {
        "number": number,
        "at": entry.at,
        "who": entry.who,
        "way": entry.way.value,
        "peer": entry.peer,
        "credential": entry.credential,
        "act": entry.act,
        "on": entry.on,
        "groups": list(entry.groups),
        "given": entry.given,
        "because": entry.because,
        "result": entry.result.value,
        "outcome": entry.outcome,
        "of": entry.of,
    }
    return canonical({key: value for key, value in fields.items() if value not in ("", None, [])})


def canonical(document: Mapping[str, object]) -> str:
    """Write JSON in its one form: sorted keys, no spaces, ASCII."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def digest_after(before: str, line: str) -> str:
    """Return the digest of a row that follows one."""
    return hashlib.sha256(f"{before}\n{line}".encode()).hexdigest()


def chained(last: AuditRow | None, entries: Iterable[AuditEntry]) -> Iterator[AuditRow]:
    """Yield entries as rows that follow the last one; ``None``: there is none."""
    number, digest = (0, GENESIS) if last is None else (last.number, last.digest)
    for entry in entries:
        number += 1
        line = line_of(number, entry)
        digest = digest_after(digest, line)
        yield AuditRow(number, line, digest)


def broken(rows: Iterable[AuditRow]) -> Iterator[str]:
    """Yield what is wrong with rows, which are in the order of their numbers."""
    number, digest = 0, GENESIS
    for row in rows:
        if row.number != number + 1:
            yield f"{_rows(number + 1, row.number - 1)} missing"
        elif digest_after(digest, row.line) != row.digest:
            yield f"row {row.number} was altered, or it or the row before stood elsewhere"
        if _number_of(row) != row.number:
            yield f"row {row.number} holds what was row {_number_of(row) or 'nothing'}"
        number, digest = row.number, row.digest


def differing(kept: Mapping[int, AuditRow], copied: Mapping[int, AuditRow]) -> Iterator[str]:
    """Yield where the store and the copy outside it differ, by the numbers of rows."""
    for number in sorted(kept.keys() & copied.keys()):
        if kept[number] != copied[number]:
            yield f"row {number} is not the same in the store and in the copy"
    for first, last in _runs(sorted(copied.keys() - kept.keys())):
        yield f"{_rows(first, last)} in the copy only: removed from the store, or the store was put back"
    for first, last in _runs(sorted(kept.keys() - copied.keys())):
        yield f"{_rows(first, last)} in the store only: removed from the copy"


def _number_of(row: AuditRow) -> int | None:
    found = row.fields.get("number")
    return found if isinstance(found, int) else None


def _rows(first: int, last: int) -> str:
    return f"row {first} is" if first == last else f"rows {first} to {last} are"


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of each run of consecutive numbers."""
    first: int | None = None
    for place, number in enumerate(numbers):
        first = number if first is None else first
        if place + 1 == len(numbers) or numbers[place + 1] != number + 1:
            yield first, number
            first = None
