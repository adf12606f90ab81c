from __future__ import annotations

from typing import Any

from handler.cli.cluster import headlines, problem_lines

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


def answer(**rest: Any) -> dict[str, Any]:
    return {"worker": "b", "holder": "a", "epoch": 4, "left_s": 6.0, "unread_s": 0.0, **rest}


def test_the_headline_says_which_worker_holds_the_lease() -> None:
    (held,) = headlines(answer())
    assert held == "a holds the lease (epoch 4), which ends in 6 s if it is not renewed; asked b"
    assert list(headlines(answer(holder="", epoch=0))) == ["no worker has held the lease yet; asked b"]


def test_a_worker_that_cannot_read_the_database_says_so_first() -> None:
    first, second = headlines(answer(left_s=-17.0, unread_s=25.0))
    assert first == "b has not been able to read the database for 25s: roles and problems are as they were then"
    assert "which ended 17 s ago" in second
