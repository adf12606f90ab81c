"""What can be said of a request that waits for the holder, whichever worker that is by now."""

from __future__ import annotations

import pytest

from handler.leasing.relaying import RelayOutcome, RelayProgress, outcome_of


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
