"""The first size of a group: its ``initial`` one if it is new and empty, else what the first listing shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.model.catalogue import Mode
from tests.support.trigger import a_fleet, a_floor, a_group, decided
from trigger.reasons import Reason
from trigger.requests import GroupState

GROUP = replace(a_group(minimum=2, maximum=10), initial=5)
NEW = GroupState(fresh=True)


@pytest.mark.parametrize(
    ("group", "state", "marked", "first"),
    [
        pytest.param(GROUP, NEW, 0, 5, id="new-and-empty"),
        pytest.param(GROUP, GroupState(), 0, 2, id="known-before"),
        pytest.param(GROUP, NEW, 1, 2, id="one-member-is-there"),
        pytest.param(GROUP, NEW, 7, 7, id="members-are-there"),
        pytest.param(replace(GROUP, initial=None), NEW, 0, 2, id="not-declared"),
        pytest.param(replace(GROUP, initial=1), NEW, 0, 2, id="below-min"),
        pytest.param(replace(GROUP, initial=50), NEW, 0, 10, id="above-max"),
        pytest.param(GROUP, replace(NEW, signals=(a_floor(8),)), 0, 8, id="below-an-alerts-floor"),
    ],
)
def test_a_group_begins_with_its_initial_size_only_if_it_is_new_and_has_no_member(group, state, marked, first) -> None:
    fleet = replace(a_fleet(), listed=True, marked=marked, in_service=marked)
    decision = decided(desired=None, group=group, state=state, fleet=fleet)
    assert (decision.desired_to, decision.reason) == (first, Reason.FIRST_LISTING)
    assert not decision.state.fresh


def test_before_a_complete_listing_there_is_no_size_and_the_group_stays_new() -> None:
    decision = decided(desired=None, group=GROUP, state=NEW, fleet=replace(a_fleet(), listed=False))
    assert (decision.desired_to, decision.state.fresh) == (None, True)


def test_a_group_that_is_only_advised_stays_new() -> None:
    fleet = replace(a_fleet(), listed=True, marked=0, in_service=0)
    decision = decided(desired=None, group=replace(GROUP, mode=Mode.ADVISE), state=NEW, fleet=fleet)
    assert (decision.advised_to, decision.state.fresh) == (5, True)


def test_a_size_that_is_there_is_never_changed_by_it() -> None:
    assert decided(desired=3, group=GROUP, state=NEW).desired_to == 3
