"""A store older than its fleet: passes keep what is there until a person confirms, whatever the store remembers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from handler.planning.claims import inventory_of
from handler.planning.steps import Create, Destroy, Forget, MarkLeaving, Wait
from handler.planning.world import Phase, ServerState
from tests.support.beds import grown
from tests.support.worlds import WEB, a_member, a_world, name_of

_TAKES_OR_MAKES = (Create, Destroy, Forget, MarkLeaving)


class OldStore:
    """A fleet of eight, and the store that it had when it was three."""

    def __init__(self) -> None:
        self.bed = grown(3)
        store = self.bed.store
        kept = dict(store.kept), dict(store.records), dict(store.sequences)
        self.bed.desire(8)
        self.bed.settle()
        store.kept, store.records, store.sequences = kept
        self.bed.restart()

    def passes(self, count: int = 20) -> None:
        """Make passes, of which none takes a member away or makes one."""
        for _ in range(count):
            done = self.bed.run()
            assert not [outcome for outcome in done.outcomes if isinstance(outcome.step, _TAKES_OR_MAKES)]
            self.bed.clock.advance(30.0)


def test_no_member_leaves_and_none_is_made_until_a_person_confirms() -> None:
    old = OldStore()
    old.passes()
    assert old.bed.machines == {name_of(number) for number in range(1, 9)}
    assert old.bed.store.kept[WEB].state.desired == 8
    assert dict(old.bed.run().plan.waits)[Wait.OLDER_STORE] == 8
    old.bed.adopt_store()
    old.bed.settle()
    old.bed.expect(8)


def test_a_member_that_fails_meanwhile_is_replaced_after_the_confirmation_under_a_name_that_was_never_used() -> None:
    old = OldStore()
    old.passes(3)
    old.bed.cloud.die(name_of(2))
    old.passes(3)
    assert len(old.bed.cloud.created) == 8
    old.bed.adopt_store()
    old.bed.settle()
    assert old.bed.machines == {name_of(number) for number in (1, 3, 4, 5, 6, 7, 8, 9)}


def test_the_first_pass_over_an_older_store_writes_nothing_down() -> None:
    old = OldStore()
    before = old.bed.instants.count
    done = old.bed.run()
    assert (done.outcomes, old.bed.instants.count) == ((), before)


def test_a_lost_store_takes_its_size_from_the_listing_and_waits_for_no_person() -> None:
    bed = grown(4)
    bed.store.records.clear()
    bed.store.sequences.clear()
    bed.desire(None)
    bed.run()
    bed.desire(4)
    bed.settle()
    bed.expect(4)


MEMBER = a_member(1)


@pytest.mark.parametrize(
    ("world", "desired", "agrees"),
    [
        pytest.param(a_world(MEMBER), 1, True, id="exactly"),
        pytest.param(a_world(MEMBER), 2, False, id="fewer"),
        pytest.param(a_world(MEMBER, a_member(2)), 1, False, id="more"),
        pytest.param(replace(a_world(MEMBER), complete=False), 1, False, id="partial"),
        pytest.param(a_world(MEMBER, a_member(2, None)), 2, False, id="unknown"),
        pytest.param(a_world(a_member(1, state=None)), 1, False, id="not-listed"),
        pytest.param(a_world(a_member(1, state=ServerState.DELETING)), 1, False, id="being-deleted"),
        pytest.param(a_world(a_member(1, Phase.LEAVING)), 1, False, id="leaving"),
        pytest.param(replace(a_world(MEMBER), untraced=(name_of(9),)), 1, False, id="served-and-unseen"),
    ],
)
def test_a_listing_agrees_with_the_store_only_if_both_know_exactly_the_same_members(world, desired, agrees) -> None:
    assert inventory_of(world, desired).agrees is agrees
