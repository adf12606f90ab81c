from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from config.units import GroupId, Instant
from handler.identity.actors import Way
from handler.identity.audit import AuditEntry, AuditResult, AuditRow, chained
from handler.users import trail_pages
from handler.users.trail_pages import Line, TrailPage, trail_page
from tests.support.memory_users import MemoryUsers

ASKED, DONE = AuditResult.ASKED, AuditResult.DONE


def a_row(who: str, result: AuditResult = DONE, of: int | None = None, outcome: str = "") -> AuditEntry:
    groups = (GroupId("web"),) if who == "ada" else ()
    return AuditEntry(
        at=Instant(1.0), who=who, way=Way.SOCKET, act="scale", result=result, of=of, groups=groups, outcome=outcome
    )


def a_store(entries: Iterable[AuditEntry]) -> MemoryUsers:
    store = MemoryUsers()
    store.append_audit(tuple(entries), None)
    return store


def everything(_: Line) -> bool:
    return True


def numbers(page: TrailPage) -> list[int]:
    return [line["number"] for line in page.lines]


def read(store: MemoryUsers, limit: int) -> Iterator[TrailPage]:
    """Follow the pages from the newest to the oldest."""
    before = None
    while True:
        page = trail_page(store, before, limit, everything)
        yield page
        if page.older is None:
            return
        before = page.older


def test_requests_come_newest_first_each_with_its_result() -> None:
    store = a_store([a_row("ada", ASKED), a_row("bob"), a_row("ada", DONE, of=1, outcome="2 → 3"), a_row("eve", ASKED)])
    page = trail_page(store, None, 10, everything)
    assert [(line["number"], line["result"], line.get("outcome")) for line in page.lines] == [
        (4, "asked", None), (2, "done", None), (1, "done", "2 → 3"),
    ]  # fmt: skip
    assert page.older is None


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_lack_nothing_and_repeat_nothing(limit: int) -> None:
    store = a_store(
        a_row("ada", ASKED if number % 2 else DONE, of=None if number % 2 else number - 1) for number in range(1, 21)
    )
    pages = list(read(store, limit))
    assert [number for page in pages for number in numbers(page)] == list(range(19, 0, -2))
    assert {line["result"] for page in pages for line in page.lines} == {"done"}, (
        "also where the result is on a newer page"
    )
    assert all(len(page.lines) <= limit for page in pages)


def test_only_so_many_rows_are_looked_through_for_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail_pages, "_AT_ONCE", 3)
    monkeypatch.setattr(trail_pages, "_READINGS", 2)
    store = a_store([a_row("ada"), *(a_row("bob") for _ in range(9))])
    first = trail_page(store, None, 5, lambda line: line["who"] == "ada")
    assert (numbers(first), first.older) == ([], 5)
    assert numbers(trail_page(store, first.older, 5, lambda line: line["who"] == "ada")) == [1]


def test_a_row_that_was_altered_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    store = a_store([a_row("ada"), a_row("bob")])
    rows = [*chained(None, [a_row("ada")]), AuditRow(2, "no JSON", "")]
    monkeypatch.setattr(store, "audit_after", lambda number, limit: [row for row in rows if row.number > number])
    assert numbers(trail_page(store, None, 5, everything)) == [1]


def test_an_empty_trail_is_an_empty_page() -> None:
    assert trail_page(MemoryUsers(), None, 5, everything) == TrailPage(lines=(), older=None)
