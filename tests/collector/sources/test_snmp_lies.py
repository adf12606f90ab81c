"""Agents that answer something else than they were asked: no value of theirs is believed, whatever the version."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from pyasn1.codec.ber import decoder, encoder  # type: ignore[import-untyped]
from pysnmp.proto import rfc1905  # type: ignore[import-untyped]

from collector.samples import Reply
from config.model.access import AuthProtocol, PrivProtocol, SnmpAccess, SnmpLibrary, SnmpVersion
from config.model.counters import Counter
from tests.support.collector import Answers, a_catalogue, an_object, answers, rosters
from tests.support.snmp import V2C, Ask, a_column, a_source, a_user, an_access, scripted, snmp_poller
from tests.support.snmp_users import ENCRYPTED, OPEN, SIGNED, lying
from tests.support.waiting import PATIENT

BASE = "1.3.6.1.4.1.8072.9999.1"
ZERO, SEVEN, TWO, COLUMN = f"{BASE}.0", f"{BASE}.7", f"{BASE}.2", "1.3.6.1.2.1.2.2.1.10"
ENGINES = pytest.mark.parametrize("engine", SnmpLibrary, ids=lambda engine: engine.value)
PLAIN = pytest.mark.parametrize("version", [SnmpVersion.V1, SnmpVersion.V2C], ids=lambda version: f"v{version.value}")
USERS: Mapping[str, tuple[AuthProtocol | None, PrivProtocol | None]] = {
    OPEN: (None, None),
    SIGNED: (AuthProtocol.SHA, None),
    ENCRYPTED: (AuthProtocol.SHA, PrivProtocol.AES),
}

NitroAnswer = Callable[[Sequence[str]], Sequence[tuple[str, Any]]]


async def polled(access: SnmpAccess, counters: Sequence[Counter], patience: float = PATIENT) -> tuple[Answers, str]:
    """Wait long where an answer is expected: a busy machine answers late."""
    polling = snmp_poller(a_source(patience))
    scrape = await polling.poll(a_catalogue(counters, snmp=access), rosters({"a": "127.0.0.1"}), timeout=PATIENT)
    await polling.close()
    return answers(scrape), " ".join(scrape.details.values())


def of_community(
    answer: NitroAnswer, counters: Sequence[Counter], version: SnmpVersion, engine: SnmpLibrary
) -> tuple[Answers, str]:
    async def scene() -> tuple[Answers, str]:
        async with scripted(lambda ask: [ask.answer(answer(ask.oids))]) as (port, _):
            return await polled(an_access(port, version=version, engine=engine), counters)

    return asyncio.run(scene())


def of_user(answer: NitroAnswer, counters: Sequence[Counter], user: str, engine: SnmpLibrary) -> tuple[Answers, str]:
    async def scene() -> tuple[Answers, str]:
        async with lying(answer, user) as port:
            auth, priv = USERS[user]
            return await polled(a_user(port, user, auth=auth, priv=priv, engine=engine), counters)

    return asyncio.run(scene())


GETS: Mapping[str, tuple[NitroAnswer, str]] = {
    "another instance": (lambda oids: [(SEVEN, 5) for _ in oids], "answers"),
    "a row below the one asked for": (lambda oids: [(f"{oid}.1", 5) for oid in oids], "not asked for"),
    "the object above": (lambda oids: [(BASE, 5) for _ in oids], "not asked for"),
    "one of its own beside the right one": (lambda oids: [*((oid, 5) for oid in oids), (SEVEN, 5)], "not asked for"),
    "twice, with two values": (lambda oids: [(oid, value) for oid in oids for value in (5, 95)], "twice"),
    "nothing at all": (lambda oids: [], "answers 0 of the"),
}
"""What an agent answers to a question for objects, and a word of the reason."""


@ENGINES
@PLAIN
@pytest.mark.parametrize(("answer", "reason"), GETS.values(), ids=GETS)
def test_an_answer_with_other_objects_is_not_heard(
    answer: NitroAnswer, reason: str, version: SnmpVersion, engine: SnmpLibrary
) -> None:
    found, why = of_community(answer, [an_object(ZERO), an_object(TWO)], version, engine)

    assert found == {("a", ZERO): Reply.MALFORMED, ("a", TWO): Reply.MALFORMED}
    assert reason in why


@ENGINES
@pytest.mark.parametrize(
    ("case", "user"),
    [
        *((name, SIGNED) for name in GETS if name != "nothing at all"),
        *(("another instance", user) for user in USERS if user != SIGNED),  # what is encrypted is read by the same code
    ],
)
def test_a_user_s_answer_with_other_objects_is_not_heard(case: str, user: str, engine: SnmpLibrary) -> None:
    answer, reason = GETS[case]
    found, why = of_user(answer, [an_object(ZERO), an_object(TWO)], user, engine)

    assert found == {("a", ZERO): Reply.MALFORMED, ("a", TWO): Reply.MALFORMED}
    assert reason in why


@ENGINES
@pytest.mark.parametrize("user", USERS)
def test_a_user_s_answer_with_the_right_objects_is_heard(user: str, engine: SnmpLibrary) -> None:
    found, _ = of_user(lambda oids: [(oid, 42) for oid in oids], [an_object(ZERO), an_object(TWO)], user, engine)

    assert found == {("a", ZERO): 42.0, ("a", TWO): 42.0}


@ENGINES
@pytest.mark.parametrize("user", USERS)
def test_what_a_user_s_agent_does_not_have_is_absent_beside_what_it_has(user: str, engine: SnmpLibrary) -> None:
    def answer(oids: Sequence[str]) -> Sequence[tuple[str, Any]]:
        return [(oid, 42 if oid == ZERO else rfc1905.noSuchInstance) for oid in oids]

    assert of_user(answer, [an_object(ZERO), an_object(TWO)], user, engine)[0] == {
        ("a", ZERO): 42.0,
        ("a", TWO): Reply.NO_SUCH_COUNTER,
    }
    assert of_user(answer, [an_object(TWO)], user, engine)[0] == {("a", TWO): Reply.NO_SUCH_COUNTER}


@ENGINES
@PLAIN
def test_objects_in_another_order_are_asked_for_one_by_one(version: SnmpVersion, engine: SnmpLibrary) -> None:
    found, _ = of_community(
        lambda oids: [(oid, int(oid[-1])) for oid in reversed(oids)], [an_object(ZERO), an_object(TWO)], version, engine
    )

    assert found == {("a", ZERO): 0.0, ("a", TWO): 2.0}


@ENGINES
def test_one_object_that_is_answered_wrongly_spoils_no_other(engine: SnmpLibrary) -> None:
    def answer(oids: Sequence[str]) -> Sequence[tuple[str, Any]]:
        return [(SEVEN if oid == ZERO else oid, 5) for oid in oids]

    found, why = of_community(answer, [an_object(ZERO), an_object(TWO)], SnmpVersion.V2C, engine)

    assert found == {("a", ZERO): Reply.MALFORMED, ("a", TWO): 5.0}
    assert f"the agent answers {SEVEN}, which was not asked for, and not {ZERO}" in why


WALKS: Mapping[str, tuple[NitroAnswer, str]] = {
    "one row twice, with two values": (lambda oids: [(f"{COLUMN}.1", 5), (f"{COLUMN}.1", 95)], "twice"),
    "more rows than were asked for": (lambda oids: [(f"{COLUMN}.{row}", 5) for row in range(1, 60)], "were asked for"),
    "the row that was asked after": (lambda oids: [(oids[0], 5)], "without order"),
    "a row of before": (lambda oids: [("1.3.6.1.2.1.2.2.1.9.1", 5)], "without order"),
}


@ENGINES
@pytest.mark.parametrize(("answer", "reason"), WALKS.values(), ids=WALKS)
def test_a_walk_that_is_answered_wrongly_is_not_heard(answer: NitroAnswer, reason: str, engine: SnmpLibrary) -> None:
    found, why = of_community(answer, [a_column(COLUMN)], SnmpVersion.V2C, engine)

    assert found == {("a", f"{COLUMN} sum"): Reply.MALFORMED}
    assert reason in why


@ENGINES
def test_more_than_one_object_after_another_is_not_heard_under_v1(engine: SnmpLibrary) -> None:
    def answer(_: Sequence[str]) -> Sequence[tuple[str, Any]]:
        return [(f"{COLUMN}.1", 5), (f"{COLUMN}.2", 5)]

    found, why = of_community(answer, [a_column(COLUMN)], SnmpVersion.V1, engine)

    assert found == {("a", f"{COLUMN} sum"): Reply.MALFORMED}
    assert "2 objects where 1 were asked for" in why


TYPES: Mapping[str, object] = {
    "a null": None,
    "an address": V2C.IpAddress("192.0.2.1"),
    "an OID": V2C.ObjectIdentifier("1.3.6.1.4.1.5"),
    "text": "five",
    "no text": "",
}


@ENGINES
@pytest.mark.parametrize("value", TYPES.values(), ids=TYPES)
def test_a_value_of_a_type_that_is_no_number_is_not_heard(value: object, engine: SnmpLibrary) -> None:
    found, _ = of_community(lambda oids: [(oid, value) for oid in oids], [an_object(ZERO)], SnmpVersion.V2C, engine)

    assert found == {("a", ZERO): Reply.MALFORMED}


@ENGINES
@PLAIN
def test_an_answer_to_another_request_is_not_heard(version: SnmpVersion, engine: SnmpLibrary) -> None:
    async def scene() -> tuple[Answers, str]:
        async with scripted(lambda ask: [ask.answer([(oid, 5) for oid in ask.oids], other_id=True)]) as (port, _):
            return await polled(an_access(port, version=version, engine=engine), [an_object(ZERO)], patience=0.4)

    assert asyncio.run(scene())[0] == {("a", ZERO): Reply.TIMEOUT}


@ENGINES
@PLAIN
def test_values_beside_an_error_are_not_heard(version: SnmpVersion, engine: SnmpLibrary) -> None:
    async def scene() -> tuple[Answers, str]:
        async with scripted(lambda ask: [ask.answer([(oid, 5) for oid in ask.oids], status=5)]) as (port, _):
            return await polled(an_access(port, version=version, engine=engine), [an_object(ZERO)])

    assert asyncio.run(scene())[0] == {("a", ZERO): Reply.INCOMPLETE}


def as_another(change: Callable[[bytes], bytes]) -> Callable[[Ask], Sequence[bytes]]:
    return lambda ask: [change(ask.answer([(oid, 5) for oid in ask.oids]))]


def of_another_version(answer: bytes) -> bytes:
    message, _ = decoder.decode(answer, asn1Spec=V2C.Message())
    message.setComponentByPosition(0, 0)
    return bytes(encoder.encode(message))


MESSAGES = {
    "of another version": of_another_version,
    "a question": lambda answer: answer.replace(b"\xa2", b"\xa0", 1),
    "a report": lambda answer: answer.replace(b"\xa2", b"\xa8", 1),
    "cut off": lambda answer: answer[:-1],
    "with something behind it": lambda answer: answer[:1] + bytes([answer[1] - 3]) + answer[2:],
}


@pytest.mark.parametrize("change", MESSAGES.values(), ids=MESSAGES)
def test_a_message_that_is_no_answer_of_ours_is_not_heard(change: Callable[[bytes], bytes]) -> None:
    async def scene() -> tuple[Answers, str]:
        async with scripted(as_another(change)) as (port, _):
            return await polled(an_access(port), [an_object(ZERO)], patience=0.4)

    assert asyncio.run(scene())[0]["a", ZERO] in {Reply.MALFORMED, Reply.TIMEOUT}
