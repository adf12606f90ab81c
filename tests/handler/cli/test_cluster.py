from __future__ import annotations

from typing import Any

from handler.cli.cluster import headlines, problem_lines, shard_columns, shard_lines

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


def shard(name: str, holder: str = "a", **rest: Any) -> dict[str, Any]:
    workers = [worker("a", "holder" if holder == "a" else "standby"), worker("b", "standby")]
    return {"shard": name, **answer(holder=holder, applied=0, api="http://a:8460", workers=workers), **rest}


SILENT = {"shard": "west", "error": "no daemon answers on /state/west/trimtab.sock"}


def test_a_line_of_a_shard_has_its_holder_lease_and_standbys() -> None:
    assert shard_columns(shard("north")) == ("a", "4", "6s", "-", "b", "-", "http://a:8460")
    assert shard_columns(shard("north", "", unread_s=25.0, applied=7)) == (
        "none",
        "4",
        "6s",
        "25s",
        "a, b",
        "7",
        "http://a:8460",
    )
    assert shard_columns(SILENT)[0] == "does not answer"
    assert shard_columns(shard("north", "", left_s=-5.0))[2] == "ended"


def test_what_is_wrong_with_shards_is_said_below_how_many_each_worker_holds() -> None:
    barred = shard("south", workers=[worker("a", "holder"), worker("b", "barred", ELSEWHERE)])
    assert list(shard_lines([shard("north"), barred, SILENT])) == [
        "held: a 2, b 0",
        f"south: b: {ELSEWHERE}",
        "west: no daemon answers on /state/west/trimtab.sock",
    ]
