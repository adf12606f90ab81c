from __future__ import annotations

import asyncio
import socket
from http import HTTPStatus

import pytest

from handler.demo.http import MemberHttpServer, Response
from tests.support.demo import Gate, asked, eventually, listening, with_server
from tests.support.waiting import PATIENT


async def echo(path: str) -> Response:
    return Response(body=path)


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200, id="plain"),
        pytest.param(b"GET / HTTP/1.0\r\n\r\n", 200, id="old"),
        pytest.param(b"POST / HTTP/1.1\r\n\r\n", 400, id="another method"),
        pytest.param(b"GET /\r\n\r\n", 400, id="no version"),
        pytest.param(b"\0\r\n\r\n", 400, id="not HTTP"),
        pytest.param(b"x" * 20_000, 400, id="endless"),
    ],
)
def test_only_a_plain_get_is_answered(request_bytes: bytes, status: int) -> None:
    async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
        try:
            answer = await asked(target, request_bytes)
        except ConnectionResetError:
            assert len(request_bytes) > 16_384  # what was not read makes the kernel reset
        else:
            assert answer.startswith(b"HTTP/1.1 %d " % status)

    asyncio.run(with_server(echo, scene))


def test_the_answer_says_how_long_it_is_and_that_it_is_the_last() -> None:
    async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
        head, _, body = (await asked(target, b"GET /%C3%A9?a=b HTTP/1.1\r\n\r\n")).partition(b"\r\n\r\n")
        assert body == b"/%C3%A9"
        assert {b"Content-Length: 7", b"Connection: close"} <= set(head.split(b"\r\n"))

    asyncio.run(with_server(echo, scene))


def test_a_status_has_its_phrase() -> None:
    async def closed(_: str) -> Response:
        return Response(status=HTTPStatus.SERVICE_UNAVAILABLE)

    async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
        assert (await asked(target)).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")

    asyncio.run(with_server(closed, scene))


def test_no_more_are_accepted_than_there_is_room_for() -> None:
    async def play() -> None:
        gate = Gate()

        async def scene(server: MemberHttpServer, target: tuple[str, int]) -> None:
            answers = [asyncio.create_task(asked(target)) for _ in range(5)]
            await eventually(lambda: gate.come == 2)
            await asyncio.sleep(0.05)
            assert (server.active, gate.come) == (2, 2)
            gate.open.set()
            assert all(answer.startswith(b"HTTP/1.1 200") for answer in await asyncio.gather(*answers))

        await with_server(gate, scene, room=2)

    asyncio.run(play())


def test_one_server_takes_connections_that_another_has_no_capacity_for() -> None:
    async def play() -> None:
        full, free = Gate(), Gate()
        free.open.set()

        async def scene(_: MemberHttpServer, target: tuple[str, int]) -> None:
            shared = socket.socket(fileno=own.dup().detach())
            first = asyncio.create_task(asked(target))
            await eventually(lambda: full.come == 1)
            second = MemberHttpServer(free)
            second.open(shared)
            assert (await asked(target)).startswith(b"HTTP/1.1 200")
            second.close()
            full.open.set()
            assert (await first).startswith(b"HTTP/1.1 200")

        own, target = listening()
        server = MemberHttpServer(full, room=1)
        server.open(own)
        await scene(server, target)
        server.close()
        assert await server.finished(within=PATIENT)

    asyncio.run(play())


@pytest.mark.parametrize(("last_call", "served"), [(True, 3), (False, 1)], ids=["last call", "at once"])
def test_a_last_call_serves_the_callers_that_wait(last_call: bool, served: int) -> None:
    async def play() -> None:
        gate = Gate()

        async def scene(server: MemberHttpServer, target: tuple[str, int]) -> None:
            first = asyncio.create_task(asked(target))
            await eventually(lambda: gate.come == 1)
            waiting = [socket.create_connection(target) for _ in range(2)]
            for connection in waiting:
                connection.sendall(b"GET / HTTP/1.1\r\n\r\n")

            server.close(last_call=last_call)

            gate.open.set()
            assert (await first).startswith(b"HTTP/1.1 200")
            assert await server.finished(within=PATIENT)
            assert gate.come == served
            for connection in waiting:
                connection.close()

        await with_server(gate, scene, room=1)

    asyncio.run(play())


def test_what_is_in_hand_is_finished_after_closing() -> None:
    async def play() -> None:
        gate = Gate()

        async def scene(server: MemberHttpServer, target: tuple[str, int]) -> None:
            answer = asyncio.create_task(asked(target))
            await eventually(lambda: gate.come == 1)
            server.close()
            assert not await server.finished(within=0.01)
            gate.open.set()
            assert await server.finished(within=PATIENT)
            assert (await answer).startswith(b"HTTP/1.1 200")
            with pytest.raises(ConnectionRefusedError):
                await asked(target)

        await with_server(gate, scene)

    asyncio.run(play())


def test_clients_that_leave_make_room() -> None:
    async def scene(server: MemberHttpServer, target: tuple[str, int]) -> None:
        for _ in range(3):
            socket.create_connection(target).close()
        assert (await asked(target)).startswith(b"HTTP/1.1 200")
        await eventually(lambda: server.active == 0)

    asyncio.run(with_server(echo, scene, room=1))
