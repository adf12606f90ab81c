from __future__ import annotations

import pytest

from handler.operations.plan_text import plan_lines


@pytest.mark.parametrize(
    ("waits", "text"),
    [
        ({"building": 2}, "waiting: 2 building"),
        ({"no_desired": 0}, "waiting: a first desired size"),
        ({"paused": 3}, "waiting: a resume"),
        ({"protected": 0}, "waiting: protected"),
        ({"building": 1, "balancer_unknown": 3}, "waiting: 1 building, a balancer that can be read"),
    ],
    ids=["members", "no size yet", "a person", "without a number", "both"],
)
def test_a_plan_says_what_it_waits_for(waits: dict[str, int], text: str) -> None:
    assert list(plan_lines({"steps": [], "waits": waits})) == [text]


def test_a_plan_names_the_members_that_are_stuck() -> None:
    lines = list(plan_lines({"group": "web", "steps": [], "waits": {}, "stuck": ["web-k3f9ab-1"]}))
    assert lines == [
        "stuck: web-k3f9ab-1 cannot be removed; trimtab converge web tries it again at once",
        "converged but for web-k3f9ab-1: nothing else to do",
    ]
