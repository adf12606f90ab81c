from __future__ import annotations

import pytest

from collector.clients.circuits import Circuits
from collector.clients.http.pool import BoundedPool, Pool
from config.errors import Unsent
from tests.support.collector import real_clock
from tests.support.http_servers import a_response, in_a_thread, says
from tests.support.waiting import PATIENT

LOST = "this worker's lease is over"


def losing_the_lease(at: int) -> Circuits:
    """Circuits that hold everything back from their ``at``-th look on."""
    looks = iter(range(1, 1000))
    return Circuits(real_clock, lambda: LOST if next(looks) >= at else "")


@pytest.mark.parametrize("pool", [Pool, BoundedPool])
@pytest.mark.parametrize("at", [1, 2], ids=["before the call", "after it began, before its first byte"])
def test_nothing_is_sent_once_the_lease_is_lost_and_the_endpoint_is_not_blamed(pool: type[Pool], at: int) -> None:
    heard: list[str] = []
    circuits = losing_the_lease(at)
    with in_a_thread(says(a_response(b"made"), heard)) as port, pool(PATIENT, circuits=circuits) as session:
        with pytest.raises(Unsent, match=LOST):
            session.post(f"http://127.0.0.1:{port}/", data=b"make one")

        assert heard == []
        assert all(each.position.value == "closed" for each in circuits.statuses())


@pytest.mark.parametrize("pool", [Pool, BoundedPool])
def test_a_body_is_not_sent_once_the_lease_is_lost_though_its_head_was(pool: type[Pool]) -> None:
    heard: list[str] = []
    with in_a_thread(says(a_response(b"made"), heard)) as port, pool(PATIENT, circuits=losing_the_lease(3)) as session:
        with pytest.raises(Unsent, match=LOST):
            session.post(f"http://127.0.0.1:{port}/", data=b"make one")

        assert heard == []


@pytest.mark.parametrize("pool", [Pool, BoundedPool])
def test_a_call_under_the_lease_is_sent_and_answered_over_one_connection(pool: type[Pool]) -> None:
    heard: list[str] = []
    with (
        in_a_thread(says(a_response(b"made"), heard)) as port,
        pool(PATIENT, circuits=losing_the_lease(1000)) as session,
    ):
        answers = [session.post(f"http://127.0.0.1:{port}/", data=b"make one").content for _ in range(2)]

    assert answers == [b"made", b"made"]
    assert [each.rpartition("\r\n")[2] for each in heard] == ["make one", "make one"]
