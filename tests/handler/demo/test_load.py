from __future__ import annotations

import asyncio
import socket
from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.demo import load
from handler.demo.http import MemberHttpServer, Response
from handler.demo.load import Day, LoadTally, drive
from tests.support.demo import Gate, eventually, listening, with_server


async def done(_: str) -> Response:
    return Response(body="done\n")


def a_day(length: float = 150.0, low: float = 25.0, high: float = 150.0) -> Day:
    return Day(length=length, low=low, high=high)


@pytest.mark.parametrize(
    ("share", "rate"), [(0.0, 10), (0.1, 10), (0.2, 30), (0.3, 50), (0.6, 50), (0.675, 30), (0.75, 10), (1.0, 10)]
)
def test_a_day_rises_and_falls(share: float, rate: float) -> None:
    assert a_day(80.0, 10.0, 50.0)(share * 80.0) == pytest.approx(rate)


@given(st.floats(-10.0, 400.0))
def test_a_rate_stays_between_low_and_high(at: float) -> None:
    assert 25.0 <= a_day()(at) <= 150.0


def test_the_default_day_needs_six_members_and_brings_ten_thousand_requests() -> None:
    day = a_day()
    requests = sum(day(at / 10) / 10 for at in range(1500))
    member = 3 / 0.1

    assert requests > 10_000
    assert day(75.0) / (6 * member) > 0.7
    assert day(0.0) / (2 * member) < 0.7


def test_every_request_is_answered_and_counted() -> None:
    tally = LoadTally()

    async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
        await drive(target, lambda _: 400.0, 0.5, tally)

    asyncio.run(with_server(done, scene))

    assert tally.failures == {}
    assert 120 < tally.ok == tally.sent < 300
    assert 0.0 < (tally.latency(50) or 0.0) <= (tally.latency(99) or 0.0) < 5.0


def test_no_more_are_sent_than_the_limit() -> None:
    tally = LoadTally()

    async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
        await drive(target, lambda _: 1000.0, 60.0, tally, limit=7)

    asyncio.run(with_server(done, scene))

    assert tally.ok == tally.sent == 7


def test_requests_come_when_due_however_long_the_answers_take() -> None:
    async def play() -> None:
        tally, gate = LoadTally(), Gate()

        async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
            driving = asyncio.create_task(drive(target, lambda _: 1000.0, 60.0, tally, limit=20))
            await eventually(lambda: gate.come == 20)
            assert (tally.in_flight, tally.latency(50)) == (20, None)
            gate.open.set()
            await driving
            assert (tally.in_flight, tally.ok) == (0, 20)

        await with_server(gate, scene)

    asyncio.run(play())


def one(target: tuple[str, int]) -> LoadTally:
    tally = LoadTally()
    asyncio.run(drive(target, lambda _: 1000.0, 60.0, tally, limit=1))
    return tally


def test_a_port_without_a_listener_is_refused() -> None:
    gone, target = listening()
    gone.close()

    assert one(target).failures == {"refused": 1}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(b"", "cut short", id="nothing"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", "cut short", id="half a head"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ndon", "cut short", id="half a body"),
        pytest.param(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", "status 503", id="503"),
        pytest.param(b"nonsense\r\n\r\n", "status ?", id="nonsense"),
    ],
)
def test_anything_but_a_whole_answer_has_failed(answer: bytes, why: str) -> None:
    async def play() -> LoadTally:
        async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            writer.close()

        tally = LoadTally()
        async with await asyncio.start_server(speak, "127.0.0.1", 0) as server:
            await drive(server.sockets[0].getsockname(), lambda _: 1000.0, 60.0, tally, limit=1)
        return tally

    tally = asyncio.run(play())

    assert (tally.ok, tally.failures) == (0, {why: 1})


def test_a_wrong_status_is_a_failure() -> None:
    async def busy(_: str) -> Response:
        return Response(status=HTTPStatus.SERVICE_UNAVAILABLE)

    tally = LoadTally()

    async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
        await drive(target, lambda _: 1000.0, 60.0, tally, limit=3)

    asyncio.run(with_server(busy, scene))

    assert (tally.sent, tally.failed, tally.failures) == (3, 3, {"status 503": 3})


def test_a_reset_is_a_failure() -> None:
    async def play() -> LoadTally:
        own, target = listening()
        own.setblocking(False)
        tally = LoadTally()
        driving = asyncio.create_task(drive(target, lambda _: 1000.0, 60.0, tally, limit=1))
        connection, _ = await asyncio.get_running_loop().sock_accept(own)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        connection.close()
        await driving
        own.close()
        return tally

    assert asyncio.run(play()).failures == {"reset": 1}


def test_an_answer_that_takes_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "TIMEOUT", 0.05)
    silent, target = listening()

    assert one(target).failures == {"timeout": 1}
    silent.close()
