"""The audit trail in pages, the newest request first: each request with its result, whichever row tells that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from handler.identity.audit import AuditRow, answered, is_whole
from handler.ports.identity import AuditStore

_AT_ONCE: Final = 500
"""Rows of one reading."""
_READINGS: Final = 10
"""Readings in one direction: more rows are not looked through for one page."""

Line = Mapping[str, Any]
"""The fields of a request's row, with ``number``, and ``result`` and ``outcome`` of its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrailPage:
    """Requests, the newest first."""

    lines: tuple[Line, ...]
    older: int | None
    """Requests of smaller numbers are on the next page; ``None``: there is no older row."""


def trail_page(store: AuditStore, before: int | None, limit: int, fits: Callable[[Line], bool]) -> TrailPage:
    """Read one page. Blocks.

    Args:
        store: has the trail.
        before: only requests with a smaller number; ``None``: the newest.
        limit: requests at most. There may be fewer though older ones fit: the page then says where to go on.
        fits: which requests are wanted.

    Raises:
        StoreError: the store cannot be read.
    """
    last = store.last_audit()
    end = 1 if last is None else last.number + 1
    end = end if before is None else min(before, end)
    ends: dict[int, Line] = {}
    found: list[Line] = []
    older: int | None = None
    for row in _backwards(store, end):
        fields = {**row.fields, "number": row.number}
        if of := fields.get("of"):
            ends[of] = fields
        elif is_whole(fields) and fits(fields):
            if len(found) == limit:
                older = found[-1]["number"]
                break
            found.append(fields)
        older = row.number if row.number > 1 else None
    _look_ahead(store, end, {line["number"] for line in found if line["result"] == "asked"} - ends.keys(), ends)
    return TrailPage(lines=tuple(answered(line, ends.get(line["number"])) for line in found), older=older)


def _backwards(store: AuditStore, end: int) -> Iterator[AuditRow]:
    """Yield rows below a number, the newest first: as many as a page may look through."""
    for _ in range(_READINGS):
        start = max(end - 1 - _AT_ONCE, 0)
        yield from reversed([row for row in store.audit_after(start, _AT_ONCE) if row.number < end])
        end = start + 1
        if end <= 1:
            return


def _look_ahead(store: AuditStore, begin: int, missing: set[int], ends: dict[int, Line]) -> None:
    """Find the rows from a number on that tell the results of these requests."""
    after = begin - 1
    for _ in range(_READINGS):
        rows = store.audit_after(after, _AT_ONCE) if missing else ()
        for row in rows:
            of = row.fields.get("of")
            if of in missing:
                ends[of] = row.fields
                missing.discard(of)
        if not rows:
            return
        after = rows[-1].number
