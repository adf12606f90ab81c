"""Requests in a real PostgreSQL: each is taken up once, by the holder alone, while its caller still waits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.model.daemon import PostgresqlPlace
from handler.leasing.relaying import STALE_AFTER, PutDown, RelayProgress
from handler.runtime.store_place import lease_of, relay_of
from handler.store.postgresql_lease import PostgresqlLease
from handler.store.postgresql_relay import PostgresqlRelay
from tests.handler.store.test_postgresql_lease import SPAN, A, B
from tests.support.postgresql import Server

pytestmark = pytest.mark.real("postgres")
ONE, TWO = (PutDown(id=f"r{number}", worker="b", epoch=1, request=f"sealed {number}") for number in (1, 2))


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
