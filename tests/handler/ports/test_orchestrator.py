from __future__ import annotations

import pytest

from handler.ports.orchestrator import ending_of
from tests.support.beds import grown
from tests.support.worlds import name_of


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "ended by itself with status 0"),
        (-9, "ended by signal 9 (SIGKILL): from outside, for want of memory, or at the end of its grace"),
        (-25, "ended by signal 25 (SIGXFSZ): its limit file_size"),
        (-6, "ended by signal 6 (SIGABRT)"),
        (-40, "ended by signal 40"),
    ],
)
def test_an_ending_is_described_in_words(status: int, words: str) -> None:
    assert ending_of(status) == words


@pytest.mark.parametrize("tells", [True, False])
def test_history_has_how_a_member_ended_where_its_cloud_can_tell(tells: bool) -> None:
    bed = grown(2)
    if tells:
        bed.cloud.ending = lambda name: f"{name} ended by signal 24"  # type: ignore[attr-defined]
    gone = name_of(1)
    bed.cloud.destroy(gone, grace=0.0)

    bed.settle()

    (event,) = (each for each in bed.store.events.values() if (each.name, each.by) == ("forget", gone))
    assert event.message == (f"{gone} ended by signal 24" if tells else "")
