"""Requests in a real PostgreSQL: each is taken up once, by the holder alone, while its caller still waits."""

from __future__ import annotations

import re
import select
from collections.abc import Iterator
from dataclasses import replace

import pytest

from config.errors import StoreError
from config.model.daemon import PostgresqlPlace
from handler.leasing.relaying import A_REQUEST, ANY_EPOCH, STALE_AFTER, PutDown, RelayProgress
from handler.runtime.store_place import lease_of, relay_of, wakes_of
from handler.store import postgresql_relay
from handler.store.postgresql_lease import PostgresqlLease
from handler.store.postgresql_relay import PostgresqlRelay
from handler.store.postgresql_wakes import PostgresqlWakes
from tests.handler.store.test_postgresql_lease import SPAN, A, B
from tests.support.postgresql import Server
from tests.support.waiting import PATIENT

pytestmark = pytest.mark.real("postgres")
ONE, TWO = (PutDown(id=f"r{number}", worker="b", epoch=1, request=f"sealed {number}") for number in (1, 2))

KEPT = PutDown(id="k1", worker="b", epoch=ANY_EPOCH, request="sealed alert")


@pytest.fixture
def lease(place: PostgresqlPlace):
    lease = lease_of(place)
    lease.prepare()
    assert lease.take(lease.look(A).row, A, SPAN).epoch == 1
    yield lease
    lease.close()


@pytest.fixture
def relay(place: PostgresqlPlace, lease: PostgresqlLease):
    relay = relay_of(place)
    yield relay
    relay.close()


def test_a_holder_takes_each_request_up_once_and_its_caller_reads_the_answer(relay: PostgresqlRelay) -> None:
    relay.put_down(ONE)
    relay.put_down(TWO)
    assert relay.progress("r1") == RelayProgress(taken_up=None, answer=None, epoch=1)
    assert sorted(relay.take_up(1), key=lambda each: each.id) == [ONE, TWO]
    assert relay.take_up(1) == ()
    relay.answer("r2", "sealed answer")
    assert relay.progress("r1") == RelayProgress(taken_up=1, answer=None, epoch=1)
    assert relay.progress("r2") == RelayProgress(taken_up=1, answer="sealed answer", epoch=1)


def test_a_former_holder_takes_up_nothing_and_the_next_one_only_what_was_put_down_for_it(
    lease: PostgresqlLease, relay: PostgresqlRelay
) -> None:
    relay.put_down(ONE)
    assert (relay.epoch(), lease.take(lease.look(B).row, B, SPAN).epoch, relay.epoch()) == (1, 2, 2)
    three = replace(TWO, id="r3", epoch=2)
    relay.put_down(TWO)
    relay.put_down(three)
    assert (relay.take_up(1), relay.take_up(2)) == ((), (three,))
    assert relay.progress("r1") == RelayProgress(taken_up=None, answer=None, epoch=2)


def test_a_request_can_be_withdrawn_until_it_is_taken_up(relay: PostgresqlRelay) -> None:
    relay.put_down(ONE)
    relay.put_down(TWO)
    assert relay.withdraw("r1")
    assert relay.take_up(1) == (TWO,)
    assert not relay.withdraw("r2")


def test_a_request_that_waited_for_so_long_that_nothing_waits_for_its_answer_is_not_carried_out(
    relay: PostgresqlRelay, server: Server, place: PostgresqlPlace
) -> None:
    relay.put_down(ONE)
    server.execute(f"UPDATE relayed SET at = at - {STALE_AFTER}", place)  # noqa: S608
    assert relay.take_up(1) == ()


def test_a_kept_request_waits_for_whichever_holder_takes_it_up_and_is_taken_up_once(
    lease: PostgresqlLease, relay: PostgresqlRelay, server: Server, place: PostgresqlPlace
) -> None:
    assert relay.keep(KEPT)
    server.execute(f"UPDATE relayed SET at = at - {STALE_AFTER}", place)  # noqa: S608
    assert lease.take(lease.look(B).row, B, SPAN).epoch == 2
    assert (relay.take_up(1), relay.take_up(2, kept=False)) == ((), ())
    assert (relay.take_up(2), relay.take_up(2)) == ((KEPT,), ())
    for epoch, but, taken_up in [(1, (), ()), (2, ("k1",), ()), (2, (), (KEPT,))]:
        relay.put_back(epoch, but=but)
        assert relay.take_up(2) == taken_up


def test_a_request_of_one_epoch_is_not_put_back(relay: PostgresqlRelay) -> None:
    relay.put_down(ONE)
    assert relay.take_up(1) == (ONE,)
    relay.put_back(1, but=())
    assert relay.take_up(1) == ()


@pytest.mark.parametrize(("bound", "most"), [("KEPT_AT_MOST", 1), ("KEPT_BYTES", 2 * len(KEPT.request) - 1)])
def test_only_so_many_requests_are_kept(
    relay: PostgresqlRelay, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    monkeypatch.setattr(postgresql_relay, bound, most)
    assert [relay.keep(KEPT), relay.keep(replace(KEPT, id="k2"))] == [True, False]


@pytest.fixture
def wakes(place: PostgresqlPlace) -> Iterator[PostgresqlWakes]:
    wakes = wakes_of(place)
    yield wakes
    wakes.close()


def heard(wakes: PostgresqlWakes, descriptor: int) -> frozenset[str]:
    """Wait for what is notified next."""
    assert select.select([descriptor], [], [], PATIENT)[0]
    return wakes.read()


def test_a_worker_hears_of_a_request_and_of_its_answer_once_they_are_there(
    relay: PostgresqlRelay, wakes: PostgresqlWakes
) -> None:
    descriptor = wakes.connect()
    assert wakes.read() == frozenset()
    relay.put_down(ONE)
    assert (heard(wakes, descriptor), relay.take_up(1)) == ({A_REQUEST}, (ONE,))
    relay.answer("r1", "sealed answer")
    assert (heard(wakes, descriptor), relay.progress("r1").answer) == ({"r1"}, "sealed answer")


def test_a_worker_learns_that_its_session_was_ended(
    wakes: PostgresqlWakes, place: PostgresqlPlace, server: Server
) -> None:
    descriptor = wakes.connect()
    server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'trimtab wakes'")

    def until_lost() -> None:  # what the server says last may come before the end of the session
        for _ in range(3):
            heard(wakes, descriptor)

    with pytest.raises(StoreError, match=re.escape(place.url)):
        until_lost()
    assert wakes.connect()
