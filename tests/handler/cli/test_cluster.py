from __future__ import annotations

from typing import Any

from handler.cli.cluster import problem_lines

ELSEWHERE = "clouds.box is on a, and this worker is b"


def worker(name: str, role: str, problem: str = "") -> dict[str, Any]:
    return {"name": name, "role": role, "problem": problem}


def test_each_worker_that_does_not_take_over_says_why() -> None:
    workers = [worker("a", "holder"), worker("b", "barred", ELSEWHERE), worker("c", "standby")]
    assert list(problem_lines(workers)) == [f"b: {ELSEWHERE}"]


def test_a_fleet_on_which_no_worker_may_act_says_so_first() -> None:
    workers = [worker("a", "gone"), worker("b", "barred", ELSEWHERE)]
    assert list(problem_lines(workers)) == [
        "no worker that is there may act, so nothing is decided until one may:",
        f"b: {ELSEWHERE}",
    ]
