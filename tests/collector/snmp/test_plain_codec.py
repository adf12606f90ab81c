"""The codec of v1 and v2c beside pysnmp and gufo-snmp, which read the same bytes."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from gufo.snmp._fast import SnmpV2cClientSocket
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pysnmp.proto import rfc1905  # type: ignore[import-untyped]

from collector.snmp.engine import Raw, Trouble
from collector.snmp.plain_codec import GARBAGE, QueryTemplate, number_of
from tests.support.fuzz import CHANGES, Change, damaged
from tests.support.snmp import V2C, Ask
from tests.support.waiting import PATIENT

V2C_VERSION = 1
ASKED = tuple(f"1.3.6.1.4.1.8072.9999.{place}.0" for place in range(4))

_ARC = st.integers(0, 2**32 - 1)
_OIDS = st.builds(
    lambda second, arcs: ".".join(map(str, [1, second, *arcs])), st.integers(0, 39), st.lists(_ARC, min_size=1)
)
_ASKED = st.lists(_OIDS, min_size=1, max_size=12, unique=True).map(tuple)
_NOTHING = (rfc1905.noSuchObject, rfc1905.noSuchInstance, rfc1905.endOfMibView)
Encoded = tuple[Raw, object]
"""A value as we should read it, and as pysnmp writes it."""
_ENCODED: st.SearchStrategy[Encoded] = st.one_of(
    st.integers(-(2**31), 2**31 - 1).map(lambda whole: (whole, V2C.Integer(whole))),
    st.integers(0, 2**32 - 1).map(lambda whole: (whole, V2C.Gauge32(whole))),
    st.integers(0, 2**32 - 1).map(lambda whole: (whole, V2C.Counter32(whole))),
    st.integers(0, 2**32 - 1).map(lambda whole: (whole, V2C.TimeTicks(whole))),
    st.integers(0, 2**64 - 1).map(lambda whole: (whole, V2C.Counter64(whole))),
    st.binary(max_size=300).map(lambda octets: (octets, V2C.OctetString(octets))),
    st.binary(max_size=20).map(lambda octets: (octets, V2C.Opaque(octets))),
    _OIDS.map(lambda oid: (oid, V2C.ObjectIdentifier(oid))),
    st.ip_addresses(v=4).map(lambda address: (str(address), V2C.IpAddress(str(address)))),
    st.sampled_from(_NOTHING).map(lambda nothing: (None, nothing)),
)


def a_question(oids: tuple[str, ...] = ASKED) -> QueryTemplate:
    return QueryTemplate(V2C_VERSION, "public", oids)


def answered(datagram: bytes, raws: Sequence[Encoded]) -> bytes:
    ask = Ask(datagram)
    return ask.answer(list(zip(ask.oids, (written for _, written in raws), strict=True)))


@st.composite
def _conversations(draw: st.DrawFn) -> tuple[tuple[str, ...], list[list[Encoded]]]:
    oids = draw(_ASKED)
    return oids, draw(st.lists(st.lists(_ENCODED, min_size=len(oids), max_size=len(oids)), min_size=1, max_size=3))


@given(_conversations(), st.integers(0))
def test_what_pysnmp_answers_is_read_as_it_was_meant_the_first_time_and_when_it_is_like_one_before(
    conversation: tuple[tuple[str, ...], list[list[Encoded]]], count: int
) -> None:
    oids, answers = conversation
    question = a_question(oids)
    for later, raws in enumerate([*answers, *answers]):
        number = number_of(count + later)

        answer = answered(question.request(number), raws)

        assert question.read(answer, number) == [raw for raw, _ in raws]
        assert question.read(answer, number_of(count + later + 1)) is None, "it answers another request"


@given(_ASKED, st.integers(0))
def test_what_is_asked_is_what_pysnmp_reads(oids: tuple[str, ...], count: int) -> None:
    question = a_question(oids)

    ask = Ask(question.request(number_of(count)))

    assert (tuple(ask.oids), ask.next, ask.bulk) == (oids, False, False)


class Gufo:
    """gufo-snmp as it reads one answer."""

    def __init__(self) -> None:
        self._agent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._agent.bind(("127.0.0.1", 0))
        self._agent.settimeout(PATIENT)
        address = f"127.0.0.1:{self._agent.getsockname()[1]}"
        self._caller = SnmpV2cClientSocket(address, "public", 0, 0, 0, 0)

    def asks(self, oids: Sequence[str]) -> bytes:
        self._caller.send_get_many(list(oids))
        self._request, self._from = self._agent.recvfrom(65536)
        return self._request

    def reads(self, answer: bytes) -> Mapping[str, Any]:
        self._agent.sendto(answer, self._from)
        found: Mapping[str, Any] = self._caller.recv_get_many()
        return found

    def close(self) -> None:
        self._agent.close()


@pytest.fixture(scope="module")
def gufo() -> Iterator[Gufo]:
    library = Gufo()
    yield library
    library.close()


@given(_conversations())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_gufo_reads_the_same_values(gufo: Gufo, conversation: tuple[tuple[str, ...], list[list[Encoded]]]) -> None:
    oids, answers = conversation
    question = a_question(oids)
    for raws in answers:
        request = gufo.asks(oids)
        number = int(Ask(request)._pdu.getComponentByPosition(0))
        answer = answered(request, raws)
        if len(answer) > 4080:
            return  # more than gufo-snmp can hold

        ours = question.read(answer, number)

        assert not isinstance(ours, Trouble)
        assert ours is not None
        theirs = gufo.reads(answer)
        assert {oid: raw for oid, raw in zip(oids, ours, strict=True) if raw is not None} == theirs


@given(st.lists(_ENCODED, min_size=4, max_size=4), CHANGES)
@example([(1, V2C.Integer(1))] * 4, [Change("cut off", 0.99, 0.0, b"")])
@example([(1, V2C.Integer(1))] * 4, [Change("insert", 1.0, 0.0, b"\x00")])
def test_an_answer_is_read_the_same_whether_or_not_one_like_it_came_before(
    raws: list[Encoded], changes: list[Change]
) -> None:
    number = number_of(7)
    knowing, fresh = a_question(), a_question()
    honest = answered(knowing.request(number), raws)
    knowing.read(honest, number)
    spoilt = damaged(honest, changes)

    assert knowing.read(spoilt, number) == fresh.read(spoilt, number)


@given(st.lists(_ENCODED, min_size=4, max_size=4), st.data())
def test_an_answer_with_one_changed_octet_is_never_believed(raws: list[Encoded], data: st.DataObject) -> None:
    number = number_of(7)
    knowing = a_question()
    honest = answered(knowing.request(number), raws)
    knowing.read(honest, number)
    place = data.draw(st.integers(0, len(honest) - 1))
    spoilt = honest[:place] + bytes([data.draw(st.integers(0, 255))]) + honest[place + 1 :]

    assert knowing.read(spoilt, number) == a_question().read(spoilt, number)


@given(st.binary(max_size=300))
def test_no_bytes_are_too_odd_to_be_read(datagram: bytes) -> None:
    assert a_question().read(datagram, number_of(1)) in (GARBAGE, None)


def test_what_is_learned_of_answers_is_bounded() -> None:
    question = a_question(ASKED[:1])
    for length in range(1000):
        answer = answered(question.request(number_of(length)), [(b"", V2C.OctetString(b"x" * length))])
        assert question.read(answer, number_of(length)) == [b"x" * length]

    assert len(question._shapes) <= 64
