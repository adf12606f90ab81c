from __future__ import annotations

import pytest

from handler.app.tables import plan_lines


@pytest.mark.parametrize(
    ("waits", "said"),
    [
        ({"building": 2}, "waiting: 2 building"),
        ({"no_desired": 0}, "waiting: a first desired size"),
        ({"paused": 3}, "waiting: a resume"),
        ({"protected": 0}, "waiting: protected"),
        ({"building": 1, "balancer_unknown": 3}, "waiting: 1 building, a balancer that can be read"),
    ],
    ids=["members", "no size yet", "a person", "without a number", "both"],
)
def test_a_plan_says_what_it_waits_for(waits: dict[str, int], said: str) -> None:
    assert list(plan_lines({"steps": [], "waits": waits})) == [said]
