"""The file that was applied is stored with the groups that it declares, and its revision is given out once."""

from __future__ import annotations

from dataclasses import replace

from config.document.statement import Statement
from handler.ports.declarations import AppliedFile
from handler.ports.store import FileChange
from handler.store.sql_store import SqlStore
from tests.support.store import a_definition, at

FIRST = AppliedFile(revision=1, at=at(1), by="ada", source="fleet.yaml", sealed="1.0a1b2c3d.AAAA")
SECOND = replace(FIRST, revision=2, at=at(2), by="bob", sealed="1.0a1b2c3d.BBBB")


def edited(applied: AppliedFile | None) -> FileChange:
    return FileChange(by="ada", statement=Statement(values={}, used={}), edits=(), applied=applied)


def test_a_file_is_there_with_its_groups_until_another_is_applied_and_other_declarations_leave_it(
    empty: SqlStore,
) -> None:
    assert (empty.applied_file(), empty.last_applied()) == (None, 0)
    empty.declare((a_definition("web"),), at(1), edited(FIRST))
    empty.declare((a_definition("web"),), at(2), edited(None))
    assert (empty.applied_file(), [group.id for group in empty.groups()]) == (FIRST, ["web"])
    empty.declare((a_definition("web"),), at(3), edited(SECOND))
    assert empty.applied_file() == SECOND


def test_a_withdrawn_file_is_gone_and_its_revision_is_not_given_out_again(empty: SqlStore) -> None:
    empty.declare((), at(1), edited(FIRST))
    empty.withdraw_applied_file()
    assert (empty.applied_file(), empty.last_applied()) == (None, 1)
