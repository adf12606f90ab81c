"""What snmpd would never do: agents of ours that answer late, wrongly, with garbage or without end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from pysnmp.proto import rfc1905  # type: ignore[import-untyped]

from collector.samples import Reply, Scrape
from config.model.access import SnmpLibrary, SnmpVersion
from config.model.counters import Counter
from config.model.reductions import Reduce
from tests.support.collector import Answers, a_catalogue, an_object, answers, real_clock, rosters
from tests.support.snmp import (
    V2C,
    Agent,
    Ask,
    Script,
    a_column,
    a_source,
    an_access,
    scripted,
    snmp_poller,
    table,
)
from tests.support.waiting import PATIENT

COLUMN = "1.3.6.1.2.1.2.2.1.10"
BEYOND = "1.3.6.1.2.1.2.2.1.11.1"
OBJECT = "1.3.6.1.4.1.8072.9999.1.0"
MANY = [f"1.3.6.1.4.1.8072.9999.1.{place}" for place in range(16)]
ENGINES = pytest.mark.parametrize("engine", SnmpLibrary, ids=lambda engine: engine.value)


def polls(
    script: Script,
    counters: Sequence[Counter],
    *,
    engine: SnmpLibrary = SnmpLibrary.GUFO,
    version: SnmpVersion = SnmpVersion.V2C,
    rounds: int = 1,
    patience: Sequence[float] = (PATIENT,),
) -> tuple[list[Scrape], Agent]:
    async def scene() -> tuple[list[Scrape], Agent]:
        async with scripted(script) as (port, agent):
            catalogue = a_catalogue(counters, snmp=an_access(port, version=version, engine=engine))
            polling = snmp_poller(a_source(*patience))
            scrapes = [
                await polling.poll(catalogue, rosters({"a": "127.0.0.1"}), timeout=PATIENT) for _ in range(rounds)
            ]
            await polling.close()
            return scrapes, agent

    return asyncio.run(scene())


def poll(
    script: Script, counters: Sequence[Counter], *, engine: SnmpLibrary = SnmpLibrary.GUFO
) -> tuple[Answers, Sequence[str]]:
    (scrape,), _ = polls(script, counters, engine=engine)
    return answers(scrape), list(scrape.details.values())


def rows(values: Sequence[int]) -> list[tuple[str, int]]:
    return [(f"{COLUMN}.{row}", value) for row, value in enumerate(values, start=1)]


@ENGINES
def test_a_column_is_walked_to_its_end_and_no_further(engine: SnmpLibrary) -> None:
    found, _ = poll(table([*rows([1] * 25), (BEYOND, 1000)]), [a_column(COLUMN)], engine=engine)

    assert found == {("a", f"{COLUMN} sum"): 25.0}


@ENGINES
def test_a_column_at_the_end_of_what_the_agent_shows_is_whole(engine: SnmpLibrary) -> None:
    found, _ = poll(table(rows([1] * 25)), [a_column(COLUMN)], engine=engine)

    assert found == {("a", f"{COLUMN} sum"): 25.0}


@ENGINES
def test_a_walk_that_ends_in_an_error_is_no_shorter_table(engine: SnmpLibrary) -> None:
    def script(ask: Ask) -> Sequence[bytes]:
        first = ask.oids[0] == COLUMN
        return [ask.answer(rows([5, 5])) if first else ask.refusal(5)]

    found, detail = poll(script, [a_column(COLUMN)], engine=engine)

    assert found == {("a", f"{COLUMN} sum"): Reply.INCOMPLETE}
    assert detail == [f"{COLUMN}: genErr: the agent could not read it"]


ENDLESS = {
    "the same row for ever": lambda ask: [ask.answer([(f"{COLUMN}.1", 1)])],
    "back to the first row": lambda ask: [ask.answer(rows([1, 2, 3]))],
    "back to before the column": lambda ask: [
        ask.answer(rows([1, 2]) if ask.oids[0] == COLUMN else [("1.3.6.1.2.1.1.3.0", 7)])
    ],
    "an order of texts": lambda ask: [ask.answer([(f"{COLUMN}.{row}", 1) for row in (1, 10, 2)])],
}


@ENGINES
@pytest.mark.parametrize("script", ENDLESS.values(), ids=ENDLESS)
def test_a_table_without_order_is_malformed_and_no_endless_loop(script: Script, engine: SnmpLibrary) -> None:
    found, (detail,) = poll(script, [a_column(COLUMN)], engine=engine)

    assert found == {("a", f"{COLUMN} sum"): Reply.MALFORMED}
    assert "without order" in detail


def test_a_table_without_end_is_given_up() -> None:
    def script(ask: Ask) -> Sequence[bytes]:
        at = 0 if ask.oids[0] == COLUMN else int(ask.oids[0].rpartition(".")[2])
        return [ask.answer([(f"{COLUMN}.{row}", 1) for row in range(at + 1, at + 41)])]

    found, (detail,) = poll(script, [a_column(COLUMN)])

    assert found == {("a", f"{COLUMN} sum"): Reply.MALFORMED}
    assert "more than 10,000 rows" in detail


@ENGINES
def test_rows_that_are_no_numbers_can_be_counted_but_not_added_up(engine: SnmpLibrary) -> None:
    names = [(f"{COLUMN}.{row}", f"eth{row}") for row in (1, 2, 10)]

    found, detail = poll(table(names), [a_column(COLUMN, Reduce.COUNT), a_column(COLUMN)], engine=engine)

    assert found == {("a", f"{COLUMN} count"): 3.0, ("a", f"{COLUMN} sum"): Reply.MALFORMED}
    assert detail == [f"{COLUMN}: row 1: a string where a number is due: 'eth1'"]


def test_a_column_that_two_counters_read_is_walked_once() -> None:
    _, agent = polls(table(rows([1, 2])), [a_column(COLUMN), a_column(COLUMN, Reduce.MAX)])

    assert [ask.oids for ask in agent.asked] == [[COLUMN], [f"{COLUMN}.2"]]


def test_rows_that_come_cut_off_are_asked_for_in_smaller_portions_and_so_from_then_on() -> None:
    long = [(f"{COLUMN}.{row}", "x" * 250) for row in range(1, 41)]

    def script(ask: Ask) -> Sequence[bytes]:
        most = int(ask._pdu.getComponentByPosition(2))
        at = tuple(map(int, ask.oids[0].split(".")))
        following = [row for row in long if tuple(map(int, row[0].split("."))) > at]
        answer = ask.answer(following[:most] or [(ask.oids[0], V2C.EndOfMibView())])
        return [answer[:4080]]

    scrapes, agent = polls(script, [a_column(COLUMN, Reduce.COUNT)], rounds=2)

    assert [answers(scrape) for scrape in scrapes] == [{("a", f"{COLUMN} count"): 40.0}] * 2
    assert [int(ask._pdu.getComponentByPosition(2)) for ask in agent.asked] == [40, 20, *[10] * 5, *[10] * 5]


def too_big_for(most: int) -> Script:
    def script(ask: Ask) -> Sequence[bytes]:
        if len(ask.oids) > most:
            return [ask.refusal(1)]
        return [ask.answer([(oid, 7) for oid in ask.oids])]

    return script


@ENGINES
def test_a_request_too_big_is_split_and_asked_for_so_from_then_on(engine: SnmpLibrary) -> None:
    scrapes, agent = polls(too_big_for(5), [an_object(oid) for oid in MANY], engine=engine, rounds=2)

    assert all(set(answers(scrape).values()) == {7.0} for scrape in scrapes)
    assert sorted(len(ask.oids) for ask in agent.asked) == [*[4] * 8, 8, 8, 16]


def test_an_answer_that_comes_cut_off_is_split() -> None:
    def script(ask: Ask) -> Sequence[bytes]:
        return [ask.answer([(oid, "7" + " " * 1000) for oid in ask.oids])[:4080]]

    found, _ = poll(script, [an_object(oid) for oid in MANY])

    assert set(found.values()) == {7.0}


def v1(missing: str) -> Script:
    def script(ask: Ask) -> Sequence[bytes]:
        if missing in ask.oids:
            return [ask.refusal(2)]
        return [ask.answer([(oid, 7) for oid in ask.oids])]

    return script


@ENGINES
def test_under_v1_one_missing_object_costs_the_others_nothing_and_is_asked_alone_from_then_on(
    engine: SnmpLibrary,
) -> None:
    scrapes, agent = polls(
        v1(MANY[5]), [an_object(oid) for oid in MANY], version=SnmpVersion.V1, engine=engine, rounds=3
    )

    for scrape in scrapes:
        found = answers(scrape)
        assert found["a", MANY[5]] is Reply.NO_SUCH_COUNTER
        assert [found["a", oid] for oid in MANY if oid != MANY[5]] == [7.0] * 15
    assert [len(ask.oids) for ask in agent.asked[-4:]] == [15, 1, 15, 1]


def test_an_object_that_comes_back_is_asked_for_together_with_the_others_again() -> None:
    async def scene() -> list[int]:
        async with scripted(v1(MANY[5])) as (port, agent):
            access = an_access(port, version=SnmpVersion.V1)
            catalogue = a_catalogue([an_object(oid) for oid in MANY], snmp=access)
            polling = snmp_poller(a_source(0.2))
            for script in (agent.script, v1("none"), v1("none")):
                agent.script = script
                await polling.poll(catalogue, rosters({"a": "127.0.0.1"}), timeout=PATIENT)
            await polling.close()
            return [len(ask.oids) for ask in agent.asked[-3:]]

    assert asyncio.run(scene()) == [15, 1, 16]


@ENGINES
def test_one_object_that_cannot_be_read_costs_the_others_nothing(engine: SnmpLibrary) -> None:
    def script(ask: Ask) -> Sequence[bytes]:
        return [ask.refusal(5) if MANY[3] in ask.oids else ask.answer([(oid, 7) for oid in ask.oids])]

    found, detail = poll(script, [an_object(oid) for oid in MANY], engine=engine)

    assert found["a", MANY[3]] is Reply.INCOMPLETE
    assert sorted(str(value) for value in found.values()).count("7.0") == 15
    assert detail == [f"{MANY[3]}: genErr: the agent could not read it"]


@ENGINES
def test_answers_that_are_late_or_to_another_request_are_not_taken(engine: SnmpLibrary) -> None:
    def script(ask: Ask) -> Sequence[bytes]:
        return [ask.answer([(OBJECT, 13)], other_id=True), ask.answer([(OBJECT, 42)]), ask.answer([(OBJECT, 14)])]

    scrapes, _ = polls(script, [an_object(OBJECT)], engine=engine, rounds=3)

    assert [answers(scrape) for scrape in scrapes] == [{("a", OBJECT): 42.0}] * 3


GARBAGE = {
    "one byte": lambda good: b"\x30",
    "text": lambda good: b"HTTP/1.1 400 Bad Request",
    "a length cut short": lambda good: b"\x30\x82\x01",
    "a value cut short": lambda good: good[:-2] + b"\x82" + good[-1:],
    "half": lambda good: good[: len(good) // 2],
    "its last byte missing": lambda good: good[:-1],
    "a length that is a lie": lambda good: good[:1] + b"\x84\xff\xff\xff\xff" + good[2:],
    "zeros": lambda good: bytes(len(good)),
    "much": lambda good: b"\x30\x82" * 20_000,
}


@pytest.mark.parametrize("spoilt", GARBAGE.values(), ids=GARBAGE)
def test_garbage_harms_only_the_agent_that_sends_it(spoilt: object) -> None:
    def script(ask: Ask) -> Sequence[bytes]:
        return [spoilt(ask.answer([(oid, 7) for oid in ask.oids]))]  # type: ignore[operator]

    (scrape,), _ = polls(script, [an_object(OBJECT), an_object(MANY[1])])

    assert set(scrape.reply) == {Reply.MALFORMED}


@pytest.mark.parametrize(
    "value", ["9f76ff" + "ff" * 255, "9f7aff" + "7f" * 255, "9f7600"], ids=["counter", "signed", "empty"]
)
def test_a_whole_number_that_has_no_64_bits_is_none_and_harms_no_other_object(value: str) -> None:
    objects = {MANY[0]: V2C.Opaque(hexValue=value), MANY[1]: V2C.Integer(7)}

    found, _ = poll(table(list(objects.items())), [an_object(oid) for oid in objects])

    assert found == {("a", MANY[0]): Reply.MALFORMED, ("a", MANY[1]): 7.0}


@pytest.mark.parametrize("oid", ["", "2b" + "ff" * 60 + "7f", "2b0681"], ids=["empty", "too-great", "cut-off"])
def test_a_walk_that_meets_what_is_no_oid_harms_no_other_object(oid: str) -> None:
    def script(ask: Ask) -> Sequence[bytes]:
        walked = ask.next or ask.bulk
        return [with_oid(ask, bytes.fromhex(oid)) if walked else ask.answer([(each, 7) for each in ask.oids])]

    column = a_column("1.3.6.1.2.1.2.2.1.10")
    found, _ = poll(script, [an_object(OBJECT), column])

    assert found == {("a", OBJECT): 7.0, ("a", column.id): Reply.MALFORMED}


def with_oid(ask: Ask, oid: bytes) -> bytes:
    """An answer with the number 5 for one object, whose OID is written so."""
    none = ask.answer([])
    binding = bytes([0x06, len(oid)]) + oid + b"\x02\x01\x05"
    objects = bytes([0x30, len(binding) + 2, 0x30, len(binding)]) + binding
    answer = bytearray(none[:-2] + objects)
    for length in (1, none.index(b"\xa2") + 1):
        answer[length] += len(objects) - 2
    return bytes(answer)


def test_an_agent_that_sends_garbage_now_and_then_is_heard_again() -> None:
    async def scene() -> list[Answers]:
        good: Script = lambda ask: [ask.answer([(oid, 7) for oid in ask.oids])]  # noqa: E731
        async with scripted(good) as (port, agent):
            catalogue = a_catalogue([an_object(OBJECT)], snmp=an_access(port))
            polling = snmp_poller(a_source(0.2))
            found = []
            for script in (good, lambda ask: [b"\x30\x05"], good):
                agent.script = script
                found.append(answers(await polling.poll(catalogue, rosters({"a": "127.0.0.1"}), timeout=PATIENT)))
            await polling.close()
            return found

    good, bad, again = asyncio.run(scene())

    assert good == again == {("a", OBJECT): 7.0}
    assert bad == {("a", OBJECT): Reply.MALFORMED}


def test_values_of_64_bits_and_below_zero_are_what_they_are() -> None:
    values = {
        MANY[0]: V2C.Counter64(2**64 - 1),
        MANY[1]: V2C.Integer(-(2**31)),
        MANY[2]: V2C.Gauge32(2**32 - 1),
        MANY[3]: V2C.TimeTicks(2**32 - 1),
        MANY[4]: V2C.Opaque(hexValue="9f780440490fdb"),
        MANY[5]: V2C.Opaque(hexValue="9f79083ff8000000000000"),
        MANY[6]: V2C.Opaque(hexValue="9f760400010000"),
        MANY[7]: V2C.IpAddress("192.0.2.1"),
        MANY[8]: rfc1905.noSuchInstance,
    }

    found, detail = poll(table(list(values.items())), [an_object(oid) for oid in values])

    assert [found["a", oid] for oid in values] == [
        2.0**64, -(2.0**31), 2.0**32 - 1, 2.0**32 - 1, pytest.approx(3.14159274), 1.5, 65536.0,
        Reply.MALFORMED, Reply.NO_SUCH_COUNTER,
    ]  # fmt: skip
    assert f"{MANY[7]}: an OID or an address where a number is due: 192.0.2.1" in detail


def test_a_restart_between_the_uptime_and_the_rows_is_seen() -> None:
    uptimes = iter([500_000, 100])

    def script(ask: Ask) -> Sequence[bytes]:
        if ask.bulk:
            return table([*rows([5, 6]), (BEYOND, 1)])(ask)
        return [ask.answer([(ask.oids[0], V2C.TimeTicks(next(uptimes)))])]

    found, (detail,) = poll(script, [a_column(COLUMN, rising=True, bits=32)])

    assert found == {("a", f"{COLUMN} sum"): Reply.INCOMPLETE}
    assert "restarted" in detail


def test_retries_wait_longer_each_time() -> None:
    began = real_clock().steady
    scrapes, agent = polls(lambda ask: [], [an_object(OBJECT)], patience=(0.1, 0.3))
    took = real_clock().steady - began

    assert answers(scrapes[0]) == {("a", OBJECT): Reply.TIMEOUT}
    assert len(agent.asked) == 2
    assert took >= 0.4
