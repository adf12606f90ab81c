"""The chain of the audit trail: whatever is altered, removed, moved or cut off is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.units import GroupId, Instant
from handler.identity.actors import Way
from handler.identity.audit import AuditEntry, AuditResult, AuditRow, broken, chained, differing


def entries(count: int) -> list[AuditEntry]:
    return [
        AuditEntry(at=Instant(100.0 + number), who="ada", way=Way.TOKEN, act="scale", result=AuditResult.DONE)
        for number in range(count)
    ]


def rows(count: int = 9) -> list[AuditRow]:
    return list(chained(None, entries(count)))


def by_number(some: list[AuditRow]) -> dict[int, AuditRow]:
    return {row.number: row for row in some}


def found(store: list[AuditRow], copy: list[AuditRow]) -> list[str]:
    return [*broken(store), *differing(by_number(store), by_number(copy))]


@given(st.integers(min_value=0, max_value=30))
def test_an_untouched_trail_is_whole(count: int) -> None:
    assert found(rows(count), rows(count)) == []


def test_a_chain_goes_on_after_its_last_row() -> None:
    first = rows(3)
    assert [*first, *chained(first[-1], entries(5)[3:])] == rows(5)


@given(st.integers(min_value=0, max_value=8))
def test_an_altered_row_is_found_and_named(place: int) -> None:
    whole = rows()
    bad = [*whole]
    bad[place] = replace(bad[place], line=bad[place].line.replace("ada", "eve"))
    fault = found(bad, whole)
    assert f"row {place + 1} was altered, or it or the row before stood elsewhere" in fault
    assert f"row {place + 1} is not the same in the store and in the copy" in fault


@given(st.integers(min_value=0, max_value=8))
def test_a_removed_row_is_found_and_named(place: int) -> None:
    whole = rows()
    fault = found([row for row in whole if row.number != place + 1], whole)
    assert any(line.startswith(f"row {place + 1} is in the copy only") for line in fault)


@given(st.integers(min_value=0, max_value=8), st.integers(min_value=0, max_value=8))
def test_rows_that_changed_places_are_found(one: int, other: int) -> None:
    whole = rows()
    bad = [*whole]
    bad[one] = replace(whole[other], number=one + 1)
    bad[other] = replace(whole[one], number=other + 1)
    assert (found(bad, whole) == []) is (one == other)
    assert (list(broken(bad)) == []) is (one == other), "without the copy, too"


@given(st.integers(min_value=1, max_value=9))
def test_a_tail_that_was_cut_off_is_found_by_the_copy(kept: int) -> None:
    whole = rows()
    fault = found(whole[: kept - 1], whole)
    last = f"rows {kept} to 9 are" if kept < 9 else "row 9 is"
    assert fault == [f"{last} in the copy only: removed from the store, or the store was put back"]
    assert found(whole, whole[: kept - 1]) == [f"{last} in the store only: removed from the copy"]


@given(st.integers(min_value=0, max_value=8))
def test_a_chain_that_was_written_anew_is_found_by_the_copy(place: int) -> None:
    whole, forged = rows(), entries(9)
    forged[place] = replace(forged[place], who="eve")
    anew = list(chained(None, forged))
    assert list(broken(anew)) == []
    assert len(found(anew, whole)) == 9 - place


def test_a_row_says_only_what_there_is_to_say() -> None:
    entry = replace(entries(1)[0], groups=(GroupId("web"),), of=7)
    [row] = chained(None, [entry])
    assert row.line == (
        '{"act":"scale","at":100.0,"groups":["web"],"number":1,"of":7,"result":"done","way":"token","who":"ada"}'
    )


@pytest.mark.parametrize("line", ["", "[]", "{}", "null", '{"number":"1"}', "\x00"])
def test_a_row_that_is_no_row_is_a_problem_and_no_error(line: str) -> None:
    assert len(list(broken([AuditRow(1, line, "0")]))) == 2
