"""What can be said of a request that waits for the holder, whichever worker that is by now."""

from __future__ import annotations

import pytest

from handler.leasing.relaying import Fate, Progress, fate


@pytest.mark.parametrize(
    ("taken_up", "answer", "epoch", "expected"),
    [
        (None, None, 4, Fate.WAITING),
        (4, None, 4, Fate.UNDER_WAY),
        (4, None, 5, Fate.UNKNOWN),
        (4, "1.k.BOX", 4, Fate.ANSWERED),
        (4, "1.k.BOX", 5, Fate.ANSWERED),
        (4, "", 4, Fate.ANSWERED),
    ],
    ids=["waiting", "under way", "its holder is gone", "answered", "answered by a former holder", "not readable"],
)
def test_a_request_is_known_to_be_undone_only_until_a_holder_has_taken_it_up(
    taken_up: int | None, answer: str | None, epoch: int, expected: Fate
) -> None:
    assert fate(Progress(taken_up=taken_up, answer=answer, epoch=epoch)) is expected
