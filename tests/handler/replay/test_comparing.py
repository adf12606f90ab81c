from __future__ import annotations

import pytest

from config.units import Instant
from handler.replay.comparing import SizeComparison
from tests.support.replay import WEB, declared

Look = tuple[float, int, int]
"""Instant, size here, recorded size."""

GROUP = declared(("interval: 30s,", "interval: 30s, build_timeout: 10m, drain: 60s, grace: 120s,")).groups[WEB]

CASES: dict[str, tuple[bool, list[Look], float | None]] = {
    "they agree": (False, [(0, 2, 2), (30, 3, 3)], None),
    "members follow within the build timeout": (False, [(0, 3, 2), (570, 3, 2), (600, 3, 3)], None),
    "members do not follow": (False, [(0, 2, 2), (30, 3, 2), (600, 3, 2), (630, 3, 2)], 30),
    "the recording grew by itself": (False, [(0, 2, 2), (30, 2, 3)], 30),
    "members leave within drain and grace": (False, [(0, 3, 3), (30, 2, 3), (180, 2, 3), (200, 2, 2)], None),
    "members do not leave": (False, [(0, 3, 3), (30, 2, 3), (210, 2, 3)], 30),
    "a recorded size may differ for one tick": (True, [(0, 2, 2), (30, 3, 2), (60, 3, 3)], None),
    "a doubt that is over leaves nothing behind": (
        False,
        [(0, 2, 2), (30, 3, 2), (300, 3, 3), (330, 4, 3), (900, 4, 3), (930, 4, 3)],
        330,
    ),
    "a recorded size differs for good": (True, [(0, 2, 2), (30, 3, 2), (60, 3, 2), (90, 3, 2)], 30),
}


@pytest.mark.parametrize(("exact", "looks", "parted_at"), CASES.values(), ids=CASES.keys())
def test_two_sizes_are_of_one_fleet_until_they_part(exact: bool, looks: list[Look], parted_at: float | None) -> None:
    comparison = SizeComparison(GROUP, exact=exact)

    parted = [comparison.look(Instant(at), here, recorded) for at, here, recorded in looks]

    assert [one.at for one in parted if one is not None] == ([] if parted_at is None else [parted_at])
