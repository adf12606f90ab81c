"""What people see of workers: who acts, who could, and where to ask."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from handler.leasing.lease import LeaseRow
from handler.leasing.workers import (
    GONE_AFTER,
    SETTLED,
    Looked,
    Presence,
    SeenWorker,
    WorkerRole,
    cluster_status,
    preferred,
    priority_for,
    standby_words,
)

A = Presence(name="a", process="p1", url="http://a:8460", version="1.0")
B = replace(A, name="b", process="p2", url="http://b:8460")
ROW = LeaseRow(epoch=4, process="p1", renewals=7, span=10.0)


def looked(*workers: SeenWorker, row: LeaseRow = ROW) -> Looked:
    return Looked(
        row=row,
        worker="a",
        left=8.0,
        declaration="d1",
        applied=0,
        sealing="",
        schema="0038",
        workers=workers,
        clock=0.0,
    )


def seen(presence: Presence, age: float = 1.0) -> SeenWorker:
    return SeenWorker(presence=presence, age=age, up=60.0)


def test_each_worker_has_the_role_that_it_can_play() -> None:
    barred, gone = replace(B, name="c", process="p3", problem="its file differs"), replace(B, name="d", process="p4")
    status = cluster_status("b", looked(seen(A), seen(B), seen(barred), seen(gone, GONE_AFTER + 1)))
    assert [(each.name, each.role) for each in status.workers] == [
        ("a", WorkerRole.HOLDER),
        ("b", WorkerRole.STANDBY),
        ("c", WorkerRole.BARRED),
        ("d", WorkerRole.GONE),
    ]
    assert (status.worker, status.holder, status.api, status.standbys) == ("b", "a", "http://a:8460", 1)


def test_a_holder_that_was_killed_is_gone_and_its_lease_may_still_run() -> None:
    status = cluster_status("b", looked(seen(A, GONE_AFTER + 1), seen(B)))
    assert (status.workers[0].role, status.holder) == (WorkerRole.GONE, "a")


def test_a_standby_names_the_holder_or_says_that_there_is_none() -> None:
    held = cluster_status("b", looked(seen(A), seen(B)))
    free = cluster_status("b", looked(seen(A), seen(B), row=replace(ROW, process="")))
    assert "worker a holds the lease (epoch 4): ask it at http://a:8460" in standby_words(held)
    assert "no worker holds the lease now: try again in some seconds" in standby_words(free)


def test_workers_of_which_none_may_act_say_so_once_the_holder_is_gone() -> None:
    barred = replace(B, problem="clouds.local is on a, and this worker is b")
    held = cluster_status("b", looked(seen(A), seen(barred)))
    alone = cluster_status("b", looked(seen(A, GONE_AFTER + 1), seen(barred)))
    assert (held.is_stranded, alone.is_stranded) == (False, True)
    assert "worker b may not act, nor may any other that is there" in standby_words(alone)


def test_no_worker_is_stranded_while_one_could_take_over_or_none_is_there() -> None:
    barred = replace(A, problem="its file differs")
    assert not cluster_status("a", looked(seen(barred), seen(B), row=replace(ROW, process=""))).is_stranded
    assert not cluster_status("a", looked()).is_stranded


def test_what_was_read_ages_and_after_some_seconds_the_worker_says_that_it_cannot_read() -> None:
    fresh, later = (cluster_status("b", looked(seen(A), seen(B)), since) for since in (2.0, 25.0))
    assert (fresh.left_s, fresh.workers[0].age_s, fresh.unread_s) == (6.0, 3.0, 0.0)
    assert (later.left_s, later.workers[0].age_s, later.unread_s) == (-17.0, 26.0, 25.0)
    assert "b is a standby, and has not been able to read the database for 25 s: which" in standby_words(later)


def test_a_holder_with_a_long_lease_reads_seldom_and_is_not_said_to_be_cut_off() -> None:
    slow = looked(seen(A), row=replace(ROW, span=60.0))
    assert [cluster_status("a", slow, since).unread_s for since in (16.0, 31.0)] == [0.0, 31.0]


def test_a_lease_that_no_worker_ever_had_has_not_ended_since_1970() -> None:
    never = replace(looked(seen(B), row=LeaseRow(epoch=0, process="", renewals=0, span=10.0)), left=-1.8e9)
    assert cluster_status("b", never, 1.0).left_s == 0.0


C = replace(A, name="c", process="p3", priority=2)
FREE = replace(ROW, process="")


@pytest.mark.parametrize(
    ("own", "others", "row", "expected"),
    [
        pytest.param(B, [seen(A), seen(C)], FREE, "c", id="one of a higher priority"),
        pytest.param(A, [seen(C)], ROW, "c", id="also to the holder"),
        pytest.param(C, [seen(A), seen(B)], FREE, "", id="none above the highest"),
        pytest.param(B, [seen(A)], FREE, "", id="none where all are equal"),
        pytest.param(
            B, [seen(C), seen(replace(C, name="d", process="p4", priority=3))], FREE, "d", id="the highest of several"
        ),
        pytest.param(B, [seen(replace(C, problem="its file differs"))], FREE, "", id="none that is barred"),
        pytest.param(B, [seen(C, GONE_AFTER + 1)], FREE, "", id="none that is gone"),
        pytest.param(B, [seen(C)], replace(ROW, process="p3"), "", id="not the holder that has just failed"),
    ],
)
def test_the_lease_is_to_go_to_the_worker_of_the_highest_priority_that_could_take_it(
    own: Presence, others: list[SeenWorker], row: LeaseRow, expected: str
) -> None:
    assert preferred(own, looked(seen(own), *others, row=row)) == expected


def test_a_worker_that_has_just_started_is_not_preferred_yet_where_that_is_asked() -> None:
    before, then = (SeenWorker(presence=C, age=1.0, up=up) for up in (SETTLED - 1, SETTLED))
    assert [preferred(A, looked(seen(A), each), up=SETTLED) for each in (before, then)] == ["", "c"]


_SHARDS = [f"site{number}" for number in range(300)]


def first_of(*workers: str) -> dict[str, str]:
    """Shard → the worker of these with the highest priority for it."""
    return {shard: max(workers, key=lambda worker: priority_for(worker, shard)) for shard in _SHARDS}


def test_shards_spread_over_workers_by_their_names() -> None:
    held = Counter(first_of("box1", "box2", "box3").values())
    assert all(80 <= held[worker] <= 120 for worker in ("box1", "box2", "box3"))


def test_a_worker_that_is_lost_moves_only_its_own_shards_and_they_spread_over_the_others() -> None:
    before, after = first_of("box1", "box2", "box3"), first_of("box1", "box3")
    moved = Counter(after[shard] for shard in _SHARDS if before[shard] == "box2")
    assert all(before[shard] == after[shard] for shard in _SHARDS if before[shard] != "box2")
    assert min(moved["box1"], moved["box3"]) > sum(moved.values()) / 3
