"""What can be said of a request that waits for the holder, whichever worker that is by now."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.leasing.relaying import RelayOutcome, RelayProgress, TakenUp, numbered_id, outcome_of


@pytest.mark.parametrize(
    ("taken_up", "answer", "epoch", "expected"),
    [
        (None, None, 4, RelayOutcome.WAITING),
        (4, None, 4, RelayOutcome.UNDER_WAY),
        (4, None, 5, RelayOutcome.UNKNOWN),
        (4, "1.k.BOX", 4, RelayOutcome.ANSWERED),
        (4, "1.k.BOX", 5, RelayOutcome.ANSWERED),
        (4, "", 4, RelayOutcome.ANSWERED),
    ],
    ids=["waiting", "under way", "its holder is gone", "answered", "answered by a former holder", "not readable"],
)
def test_a_request_is_known_to_be_undone_only_until_a_holder_has_taken_it_up(
    taken_up: int | None, answer: str | None, epoch: int, expected: RelayOutcome
) -> None:
    assert outcome_of(RelayProgress(taken_up=taken_up, answer=answer, epoch=epoch)) is expected


@given(st.lists(st.tuples(st.sampled_from("bc"), st.integers(0, 1023)), max_size=60))
def test_a_request_is_new_once_in_whatever_order_those_of_the_standbys_are_taken_up(
    requests: list[tuple[str, int]],
) -> None:
    taken_up, before = TakenUp(), set()
    for request in requests:
        assert taken_up.is_new(numbered_id(*request)) is (request not in before)
        before.add(request)


def test_an_old_request_is_not_new_again_however_many_came_since_and_those_take_no_more_memory() -> None:
    taken_up = TakenUp()
    assert all(taken_up.is_new(numbered_id("b", number)) for number in range(5_000))
    assert not any(taken_up.is_new(numbered_id("b", number)) for number in range(5_000))
    assert max(value.bit_length() for value in taken_up._before.values()) <= 1024
