from __future__ import annotations

import asyncio
import os
import socket

import pytest

from handler.balancers.shared_listener.holder_socket import ConnectionLost, HolderSocket
from handler.balancers.shared_listener.protocol import LONGEST, Active, Hello, ProtocolError, Start, Stop, encode
from tests.support.wires import a_listening_socket, heard, two_ends


def test_a_socket_arrives_with_its_message() -> None:
    async def conversation() -> None:
        with two_ends() as (ours, theirs), a_listening_socket() as listening:
            ours.send(Stop())
            ours.send(Start(), listening)
            assert await heard(theirs) == Stop()
            message, carried = await theirs.receive()
            assert message == Start()
            assert carried is not None
            with carried:
                assert carried.getsockname() == listening.getsockname()
                assert not os.get_inheritable(carried.fileno())

    asyncio.run(conversation())


def test_messages_in_pieces_and_together_are_read_one_by_one() -> None:
    async def conversation() -> None:
        raw, end = socket.socketpair()
        wire = HolderSocket(end)
        with raw:
            lines = encode(Active(connections=1)) + encode(Active(connections=2))
            raw.sendall(lines[:5])
            waiting = asyncio.create_task(wire.receive())
            await asyncio.sleep(0)
            raw.sendall(lines[5:])
            assert await waiting == (Active(connections=1), None)
            assert await heard(wire) == Active(connections=2)
        wire.close()

    asyncio.run(conversation())


def test_giving_up_waiting_loses_nothing() -> None:
    async def conversation() -> None:
        with two_ends() as (ours, theirs):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await theirs.receive()
            ours.send(Active(connections=3))
            assert await heard(theirs) == Active(connections=3)

    asyncio.run(conversation())


def test_a_closed_end_is_noticed_by_both() -> None:
    async def conversation() -> None:
        with two_ends() as (ours, theirs):
            ours.close()
            with pytest.raises(ConnectionLost):
                await theirs.receive()
            with pytest.raises(ConnectionLost):
                theirs.send(Stop())

    asyncio.run(conversation())


def test_hanging_up_wakes_the_caller_that_waits_at_the_same_end() -> None:
    async def conversation() -> None:
        with two_ends() as (ours, _):
            waiting = asyncio.create_task(ours.receive())
            await asyncio.sleep(0)
            ours.hang_up()
            with pytest.raises(ConnectionLost):
                await waiting

    asyncio.run(conversation())


@pytest.mark.parametrize("line", [b"x" * LONGEST, b"x" * 3 * LONGEST + b"\n"], ids=["without-end", "too-long"])
def test_a_line_is_bounded(line: bytes) -> None:
    async def conversation() -> None:
        raw, end = socket.socketpair()
        wire = HolderSocket(end)
        with raw:
            raw.sendall(line)
            with pytest.raises(ProtocolError, match="more than 4096 bytes"):
                await wire.receive()
        wire.close()

    asyncio.run(conversation())


def test_a_message_that_promises_a_socket_must_bring_it() -> None:
    async def conversation() -> None:
        with two_ends() as (ours, theirs):
            ours.send(Hello(registration="a", was="serving", of="1", socket=True))
            with pytest.raises(ProtocolError, match="no socket came"):
                await theirs.receive()

    asyncio.run(conversation())


def test_a_client_that_does_not_read_is_given_up() -> None:
    def send_on(wire: HolderSocket) -> None:
        for _ in range(100_000):
            wire.send(Stop())

    with two_ends() as (ours, _), pytest.raises(ConnectionLost):
        send_on(ours)
