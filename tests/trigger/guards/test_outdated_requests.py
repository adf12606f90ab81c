"""A store that may be older than the fleet: what listings make of it, and what is decided meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.units import Instant
from tests.support.trigger import NOON, a_group, a_person, a_request, add, decided, remove
from trigger.guards.outdated_requests import ListingCheck, compared, confirmed
from trigger.reasons import Reason
from trigger.requests import GroupState, OlderStore

NOW = Instant(NOON)
GROUP = a_group(minimum=1, maximum=10)
RESTORED = OlderStore(since=NOW, stored=3)
AGREES = ListingCheck(found=3, ahead=0, agrees=True)


def doubted(found: int, sequence: int = 0) -> OlderStore:
    return replace(RESTORED, found=found, sequence=sequence)


@pytest.mark.parametrize(
    ("before", "seen", "after"),
    [
        pytest.param(None, AGREES, (3, None), id="nothing-is-wrong"),
        pytest.param(None, ListingCheck(found=8, ahead=0, agrees=False), (3, None), id="more-than-desired-is-no-sign"),
        pytest.param(None, ListingCheck(found=8, ahead=8, agrees=False), (8, doubted(8, 8)), id="a-later-launch"),
        pytest.param(
            None, ListingCheck(found=2, ahead=8, agrees=False), (3, doubted(2, 8)), id="never-fewer-than-stored"
        ),
        pytest.param(None, ListingCheck(found=14, ahead=20, agrees=False), (10, doubted(14, 20)), id="at-most-max"),
        pytest.param(RESTORED, AGREES, (3, None), id="restored-and-right"),
        pytest.param(
            RESTORED, ListingCheck(found=8, ahead=0, agrees=False), (8, doubted(8)), id="restored-and-surplus"
        ),
        pytest.param(RESTORED, ListingCheck(found=0, ahead=0, agrees=False), (3, RESTORED), id="restored-and-unseen"),
        pytest.param(doubted(8, 8), AGREES, (3, doubted(8, 8)), id="a-doubt-does-not-pass-by-itself"),
        pytest.param(
            doubted(8, 8), ListingCheck(found=9, ahead=9, agrees=False), (9, doubted(9, 9)), id="more-come-to-light"
        ),
    ],
)
def test_listings_raise_the_size_of_a_store_that_is_too_old_and_confirm_one_that_is_right(
    before: OlderStore | None, seen: ListingCheck, after: tuple[int, OlderStore | None]
) -> None:
    state = compared(GROUP, replace(GroupState(desired=3, revision=4), older=before), seen, NOW)
    assert (state.desired, state.older) == after


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(GroupState(), id="first-listing"),
        pytest.param(replace(GroupState(desired=3, revision=4), orphaned=True), id="orphaned"),
    ],
)
def test_a_group_that_takes_no_size_from_its_store_is_not_in_doubt(state: GroupState) -> None:
    assert compared(GROUP, state, ListingCheck(found=8, ahead=8, agrees=False), NOW) is state


def test_a_size_that_was_raised_is_a_revision_of_its_own() -> None:
    before = GroupState(desired=3, revision=4)
    raised = compared(GROUP, before, ListingCheck(found=8, ahead=8, agrees=False), NOW)
    assert raised.revision == before.revision + 1
    assert compared(GROUP, raised, ListingCheck(found=8, ahead=8, agrees=False), NOW) is raised


def test_what_was_raised_stays_when_the_store_is_confirmed() -> None:
    raised = compared(GROUP, GroupState(desired=3, revision=4), ListingCheck(found=8, ahead=8, agrees=False), NOW)
    assert (confirmed(raised).desired, confirmed(raised).older) == (8, None)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(a_request(add(2)), id="growth"),
        pytest.param(a_request(remove(1)), id="scale-in"),
        pytest.param(a_person(2, force=True), id="a-person-with-force"),
    ],
)
def test_no_size_changes_while_the_store_is_in_doubt(request_) -> None:
    decision = decided(request_, state=replace(GroupState(), older=RESTORED))
    assert (decision.desired_to, decision.reason, decision.answers[0].reason) == (
        4,
        Reason.OLDER_STORE,
        Reason.OLDER_STORE,
    )
