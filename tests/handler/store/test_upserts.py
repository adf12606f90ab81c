"""Rows that may be there already: the same outcome on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from sqlalchemy import Connection, Engine, create_engine, select

from config.units import GroupId, HookId, MemberName
from handler.planning.garbage import Abandoned
from handler.planning.launches import Claim
from handler.planning.status import MemberState, StateSince
from handler.planning.world import Phase
from handler.store import alert_rows, fleet, member_rows, rows, state_rows
from handler.store.schema import METADATA, deliveries, sequences
from handler.store.upserts import insert_or_ignore, insert_or_update
from tests.support.postgresql import Server
from tests.support.store import LOCAL, NOW, WEB, a_definition, a_delivery, a_hook, a_record, a_signal, a_state, at


@pytest.fixture(scope="session")
def engine_of_server(server: Server) -> Iterator[Engine]:
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(server.place("postgres").url))
    yield engine
    engine.dispose()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", id="on_server@", marks=pytest.mark.real("postgres"))])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """An empty store of either kind; nothing of it is committed."""
    engine = create_engine("sqlite://") if request.param == "sqlite" else request.getfixturevalue("engine_of_server")
    with engine.connect() as connection, connection.begin() as transaction:
        METADATA.create_all(connection)
        yield connection
        transaction.rollback()


@pytest.fixture
def declared(connection: Connection) -> Connection:
    """A store with the group ``web``."""
    rows.declare(connection, (a_definition(),), NOW, None)
    return connection


# The statements


def test_a_row_that_is_new_is_inserted(connection):
    insert_or_update(sequences).write(connection, {"group": WEB, "last": 3})
    assert rows.last_sequence(connection, WEB) == 3


def test_a_row_that_is_there_is_updated_and_others_stay(connection):
    write = insert_or_update(sequences)
    write.write(connection, [{"group": WEB, "last": 3}, {"group": "worker", "last": 5}])
    write.write(connection, {"group": WEB, "last": 1})
    assert {tuple(row) for row in connection.execute(select(sequences))} == {(WEB, 1), ("worker", 5)}


def test_a_row_that_is_there_stays_as_it_is_where_it_is_ignored(connection):
    write = insert_or_ignore(sequences)
    write.write(connection, {"group": WEB, "last": 3})
    write.write(connection, [{"group": WEB, "last": 7}, {"group": "worker", "last": 5}])
    assert {tuple(row) for row in connection.execute(select(sequences))} == {(WEB, 3), ("worker", 5)}


@pytest.mark.parametrize(("before", "new", "after"), [(3, 7, 7), (7, 3, 7)], ids=["higher", "lower"])
def test_a_rising_column_is_never_lowered(connection, before, new, after):
    write = insert_or_update(sequences, rising=("last",))
    write.write(connection, {"group": WEB, "last": before})
    write.write(connection, {"group": WEB, "last": new})
    assert rows.last_sequence(connection, WEB) == after


# What the store writes by them


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [(5, 9, 9), (9, 5, 9), (None, 5, 5), (5, None, 5), (None, None, None)],
    ids=["later", "earlier", "first", "not-used-again", "never"],
)
def test_saving_a_webhook_moves_its_last_use_only_forward(connection, before, new, after):
    for seconds in (before, new):
        alert_rows.write_hook(connection, replace(a_hook(), last_used_at=None if seconds is None else at(seconds)))
    assert alert_rows.read_hooks(connection)[0].last_used_at == (None if after is None else at(after))


@pytest.mark.parametrize(("before", "used", "after"), [(None, 5, 5), (5, 9, 9), (9, 5, 9)])
def test_using_a_webhook_moves_its_last_use_only_forward(connection, before, used, after):
    alert_rows.write_hook(connection, replace(a_hook(), last_used_at=None if before is None else at(before)))
    alert_rows.write_uses(connection, {HookId("h1"): at(used)})
    assert alert_rows.read_hooks(connection)[0].last_used_at == at(after)


def deliveries_of(connection, delivery):
    return alert_rows.read_deliveries(connection, delivery.group, delivery.alert, delivery.fingerprint)


def test_a_delivery_keeps_its_first_decision_and_is_remembered_for_longer(connection):
    first, again = replace(a_delivery(), at=at(0)), replace(a_delivery(), at=at(60), decision="another")
    alert_rows.write_deliveries(connection, [first])
    alert_rows.write_deliveries(connection, [again])
    assert deliveries_of(connection, first) == (first,)
    assert connection.execute(select(deliveries.c.last_at)).scalar_one() == at(60)


def test_two_deliveries_of_one_alert_in_one_message_are_one(connection):
    first, again = a_delivery(), replace(a_delivery(), decision="another")
    alert_rows.write_deliveries(connection, [first, again])
    assert deliveries_of(connection, first) == (first,)


def test_a_record_is_replaced_whole(declared):
    before = a_record()
    after = replace(before, phase=Phase.LEAVING, server_id=None, balancers=())
    for record in (before, after):
        rows.write_members(declared, [record], LOCAL)
    assert rows.read_members(declared, WEB) == (after,)
    assert rows.last_sequence(declared, WEB) == after.sequence


def test_a_signal_is_replaced_and_its_key_tells_it_from_others(declared):
    old, other = a_signal(), a_signal(key="f2")
    new = replace(old, until=at(900))
    for signals in ((old, other), (new, other)):
        before = {WEB: a_state(signals=(old, other))} if signals[0] is new else None
        state_rows.write_states(declared, {WEB: a_state(signals=signals)}, before)
    assert rows.read_groups(declared)[0].state.signals == (new, other)


def test_a_member_is_in_one_state_at_a_time(declared):
    for state, moment in ((MemberState.BUILDING, at(0)), (MemberState.IN_SERVICE, at(60))):
        rows.write_begun(declared, WEB, {MemberName("web-1"): StateSince(state=state, at=moment)}, ())
    assert rows.read_begun(declared)[WEB] == {"web-1": StateSince(state=MemberState.IN_SERVICE, at=at(60))}


def test_what_was_abandoned_first_holds(connection):
    what = Abandoned(name=MemberName("web-1"), group=WEB, cloud=LOCAL, server_id=None, at=at(0), by="alice")
    for by in ("alice", "bob"):
        member_rows.write_abandoned(connection, replace(what, by=by))
    assert member_rows.read_abandoned(connection) == (what,)


def test_the_newest_claim_replaces_the_one_before(connection):
    for claim in (Claim(counter=1, nonce="aaaaaaaa"), Claim(counter=2, nonce="bbbbbbbb")):
        fleet.write_generation(connection, claim)
    assert fleet.read_generation(connection) == Claim(counter=2, nonce="bbbbbbbb")


def test_a_group_that_is_not_there_has_no_sequence(connection):
    assert rows.last_sequence(connection, GroupId("none")) == 0
