"""What a group declared is numbered and kept; an earlier profile may be pinned, until the file has a newer one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import StoreError
from config.model.catalogue import Profile
from config.model.rolling import Allowance, RollBudgets
from config.units import GroupId
from handler.planning.declared import KEPT, Converged, Pinned, Revision, essence
from handler.planning.desired import Definition
from handler.planning.rolls import Roll, RollState
from handler.ports.stored import Event, EventKind, StoredGroup
from handler.store.sqlite import SqliteStore
from tests.support.store import WEB, a_definition, at, opened

ROLL = Roll(
    target="abc",
    budgets=RollBudgets(surge=Allowance(number=25, percent=True)),
    started_at=at(5),
    by="ada",
    state=RollState.HALTED,
    because="3 builds failed",
    failed=3,
    ended_at=at(9),
)
PIN = Pinned(revision=1, at=at(5), by="ada")
ACT = Event(at=at(5), group=WEB, kind=EventKind.NOTE, name="rollback", by="ada", message="to revision 1")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = opened(tmp_path / "trimtab.sqlite")
    store.declare((a_definition(),), at(0))
    yield store
    store.close()


def other(number: int = 1, *, maximum: int = 10) -> Definition:
    """A definition whose profile is another one."""
    declared = a_definition(maximum=maximum)
    snmp = replace(declared.profile.snmp, port=1000 + number)
    return replace(declared, profile=replace(declared.profile, snmp=snmp))


def numbers(store: SqliteStore) -> list[int]:
    return [each.number for each in store.revisions(WEB)]


def stored(store: SqliteStore) -> StoredGroup:
    return store.groups()[0]


def profile(store: SqliteStore) -> Profile:
    return stored(store).definition.profile


def test_every_different_definition_is_a_revision(store: SqliteStore) -> None:
    store.declare((a_definition(),), at(1))
    store.declare((a_definition(maximum=20),), at(2))
    store.declare((a_definition(),), at(3))
    assert store.revisions(WEB) == (
        Revision(number=3, at=at(3), definition=essence(a_definition())),
        Revision(number=2, at=at(2), definition=essence(a_definition(maximum=20))),
        Revision(number=1, at=at(0), definition=essence(a_definition())),
    )
    assert (stored(store).declared, stored(store).in_force) == (3, 3)


def test_revisions_are_bounded_and_those_that_a_rollback_needs_are_kept(store: SqliteStore) -> None:
    store.save_converged(WEB, Converged(size=1, definition=1, at=at(1)), wholly=True)
    for number in range(2, KEPT + 8):
        store.declare((other(number),), at(number))
    newest = KEPT + 7
    assert numbers(store) == [*range(newest, newest - KEPT, -1), 1]


def test_the_pinned_revision_is_kept(store: SqliteStore) -> None:
    store.steer(ACT, PIN, None)
    for number in range(2, KEPT + 8):
        store.declare((a_definition(maximum=number),), at(number))
    assert numbers(store)[-1] == 1
    assert profile(store) == a_definition().profile


def test_a_pinned_revision_gives_its_profile_and_nothing_else(store: SqliteStore) -> None:
    store.declare((other(maximum=20),), at(1))
    store.steer(ACT, PIN, None)
    group = stored(store)
    assert (group.pinned, group.declared, group.in_force) == (PIN, 2, 1)
    assert group.definition == replace(other(maximum=20), profile=a_definition().profile)
    assert store.history(WEB, before=None, limit=1) == (ACT,)
    store.steer(replace(ACT, at=at(6)), None, None)
    assert (profile(store), stored(store).pinned) == (other().profile, None)


def test_a_pin_survives_a_restart_and_whatever_leaves_the_profile_alone(store: SqliteStore, tmp_path: Path) -> None:
    store.declare((other(),), at(1))
    store.steer(ACT, PIN, None)
    store.close()
    again = opened(tmp_path / "trimtab.sqlite")
    again.declare((other(),), at(2))
    again.declare((other(maximum=30),), at(3))
    assert (stored(again).pinned, profile(again)) == (PIN, a_definition().profile)
    assert stored(again).definition.group.maximum == 30
    again.close()


def test_a_newer_profile_in_the_file_overrules_the_pin_and_says_so(store: SqliteStore) -> None:
    store.declare((other(1),), at(1))
    store.steer(ACT, PIN, ROLL)
    store.declare((other(2),), at(6))
    assert (stored(store).pinned, profile(store)) == (None, other(2).profile)
    assert stored(store).roll == ROLL
    assert [(event.name, event.by) for event in store.history(WEB, before=None, limit=1)] == [("rollback_over", "file")]


def test_a_roll_is_read_back_whole(store: SqliteStore) -> None:
    store.steer(ACT, None, ROLL)
    assert stored(store).roll == ROLL
    store.save_roll(WEB, ROLL.resumed("def"))
    assert stored(store).roll == replace(ROLL.resumed("def"))


def test_a_roll_is_written_with_its_line_of_history_and_leaves_the_pin_alone(store: SqliteStore) -> None:
    store.steer(ACT, PIN, ROLL)
    halted = replace(ACT, at=at(6), name="roll_halted")
    store.save_roll(WEB, ROLL.resumed("def"), halted)
    assert (stored(store).pinned, stored(store).roll) == (PIN, ROLL.resumed("def"))
    assert store.history(WEB, before=None, limit=1) == (halted,)


def test_what_converged_is_known_and_good_to_go_back_to_only_if_all_is_made_of_it(store: SqliteStore) -> None:
    store.save_converged(WEB, Converged(size=4, definition=1, at=at(7)), wholly=False)
    assert stored(store).converged == Converged(size=4, definition=1, at=at(7))
    assert store.revisions(WEB)[0].converged_at is None
    store.save_converged(WEB, Converged(size=4, definition=1, at=at(8)), wholly=True)
    assert store.revisions(WEB)[0].converged_at == at(8)


def test_a_group_that_is_not_there_cannot_be_steered(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="group ghost is not in the store"):
        store.steer(replace(ACT, group=GroupId("ghost")), None, ROLL)


def test_all_of_it_goes_with_the_group(store: SqliteStore) -> None:
    store.steer(ACT, PIN, ROLL)
    store.drop_group(WEB)
    store.declare((other(),), at(9))
    assert numbers(store) == [1]
    assert (stored(store).pinned, stored(store).roll) == (None, None)


def test_balancers_that_members_are_still_behind_make_no_revision(store: SqliteStore) -> None:
    """They stay in a definition for as long as a member is registered with them."""
    store.declare((replace(a_definition(), balancers={**essence(a_definition()).balancers}),), at(1))
    assert numbers(store) == [1]


def test_attaching_during_a_rollback_does_not_end_it(store: SqliteStore) -> None:
    store.declare((other(),), at(1))
    store.steer(ACT, PIN, None)
    store.attach(replace(ACT, name="attach"), stored(store).definition, (), ())
    store.declare((other(),), at(2))
    assert (stored(store).pinned, numbers(store)) == (PIN, [2, 1])


def test_after_a_rollback_during_which_something_was_attached_the_file_is_in_force_again(store: SqliteStore) -> None:
    store.declare((other(),), at(1))
    store.steer(ACT, PIN, None)
    store.attach(replace(ACT, name="attach"), stored(store).definition, (), ())
    store.steer(ACT, None, None)
    assert profile(store) == other().profile
