from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from handler.balancers.shared_listener.holder_socket import HolderSocket
from handler.balancers.shared_listener.member import keep_registered
from handler.balancers.shared_listener.protocol import (
    Active,
    Dismiss,
    Hello,
    RefusedMessage,
    Start,
    Stop,
    Stopped,
    Welcome,
)
from tests.support.waiting import PATIENT
from tests.support.wires import a_listening_socket, heard, running


class Program:
    """What a member program would be told."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.listening: socket.socket | None = None
        self.connections = 0

    async def start(self, listening: socket.socket) -> None:
        self.calls.append("start")
        self.listening = listening

    async def stop(self) -> None:
        self.calls.append("stop")
        assert self.listening is not None
        self.listening.close()

    def active(self) -> int:
        return self.connections


class Gate:
    """A holder's control socket, played by the test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._socket.setblocking(False)

    @contextlib.asynccontextmanager
    async def visitor(self) -> AsyncIterator[HolderSocket]:
        async with asyncio.timeout(PATIENT):
            connection, _ = await asyncio.get_running_loop().sock_accept(self._socket)
        wire = HolderSocket(connection)
        try:
            yield wire
        finally:
            wire.close()

    def close(self) -> None:
        self._socket.close()


@contextlib.asynccontextmanager
async def registered(tmp_path: Path, program: Program) -> AsyncIterator[Gate]:
    gate = Gate(tmp_path / "s")
    kept = keep_registered(gate.path, "web-k3f9ab-1", start=program.start, stop=program.stop, active=program.active)
    try:
        async with running(kept):
            yield gate
    finally:
        gate.close()
        if program.listening is not None:
            program.listening.close()


def a_hello(*, was: str | None = None, of: str | None = None, socket: bool = False) -> Hello:
    return Hello(registration="web-k3f9ab-1", was=was, of=of, socket=socket)  # type: ignore[arg-type]


async def report(wire: HolderSocket) -> Active | Stopped:
    message = await heard(wire)
    assert isinstance(message, Active | Stopped)
    return message


def test_a_member_gives_its_name_and_waits(tmp_path: Path) -> None:
    async def scene() -> None:
        program = Program()
        async with registered(tmp_path, program) as gate, gate.visitor() as wire:
            assert await heard(wire) == a_hello()
            wire.send(Welcome(holder="h1"))
            assert await report(wire) == Active(connections=0)
        assert program.calls == []

    asyncio.run(scene())


def test_start_hands_the_socket_over_and_stop_is_answered_with_the_connections_left(tmp_path: Path) -> None:
    async def scene() -> None:
        program = Program()
        with a_listening_socket() as listening:
            async with registered(tmp_path, program) as gate, gate.visitor() as wire:
                await heard(wire)
                wire.send(Welcome(holder="h1"))
                wire.send(Start(), listening)
                await report(wire)
                assert program.listening is not None
                assert program.listening.getsockname() == listening.getsockname()
                program.connections = 2
                assert await report(wire) == Active(connections=2)
                wire.send(Stop())
                assert await report(wire) == Stopped(connections=2)
        assert program.calls == ["start", "stop"]

    asyncio.run(scene())


def test_a_connection_that_arrives_with_the_order_to_stop_is_answered_or_left_to_others(tmp_path: Path) -> None:
    class Server(Program):
        async def start(self, listening: socket.socket) -> None:
            self.server = await asyncio.start_server(self.answer, sock=listening)

        async def stop(self) -> None:
            self.server.close()

        async def answer(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"ok")
            writer.close()

    async def stop_as_a_client_comes(wire: HolderSocket, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        wire.send(Start(), listening)
        await report(wire)
        wire.send(Stop())
        with socket.create_connection(listening.getsockname()) as client:
            client.setblocking(False)
            while not isinstance(await report(wire), Stopped):
                pass
            try:
                listening.accept()[0].close()
            except BlockingIOError:
                async with asyncio.timeout(PATIENT):
                    assert await loop.sock_recv(client, 10) == b"ok"

    async def scene() -> None:
        with a_listening_socket() as listening:
            async with registered(tmp_path, Server()) as gate, gate.visitor() as wire:
                await heard(wire)
                wire.send(Welcome(holder="h1"))
                await stop_as_a_client_comes(wire, listening)

    asyncio.run(scene())


def test_a_lost_holder_changes_nothing_and_the_next_is_given_the_socket(tmp_path: Path) -> None:
    async def scene() -> None:
        program = Program()
        with a_listening_socket() as listening:
            async with registered(tmp_path, program) as gate:
                async with gate.visitor() as wire:
                    await heard(wire)
                    wire.send(Welcome(holder="h1"))
                    wire.send(Start(), listening)
                    await report(wire)
                async with gate.visitor() as wire:
                    async with asyncio.timeout(PATIENT):
                        message, carried = await wire.receive()
                    assert message == a_hello(was="serving", of="h1", socket=True)
                    assert carried is not None
                    with carried:
                        assert carried.getsockname() == listening.getsockname()
        assert program.calls == ["start"]

    asyncio.run(scene())


def test_a_dismissed_member_stops_and_gives_nothing_back(tmp_path: Path) -> None:
    async def scene() -> None:
        program = Program()
        with a_listening_socket() as listening:
            async with registered(tmp_path, program) as gate:
                async with gate.visitor() as wire:
                    await heard(wire)
                    wire.send(Welcome(holder="h1"))
                    wire.send(Start(), listening)
                    await report(wire)
                    wire.send(Dismiss())
                    while program.calls != ["start", "stop"]:
                        await report(wire) if program.connections else await asyncio.sleep(0.01)
                async with gate.visitor() as wire:
                    assert await heard(wire) == a_hello(of="h1")

    asyncio.run(scene())


@pytest.mark.parametrize(
    "order", [Active(connections=1), RefusedMessage(why="taken", final=False)], ids=["nonsense", "refused"]
)
def test_a_holder_that_cannot_be_obeyed_is_left_and_tried_again(tmp_path: Path, order: Active | RefusedMessage) -> None:
    async def scene() -> None:
        async with registered(tmp_path, Program()) as gate:
            async with gate.visitor() as wire:
                await heard(wire)
                wire.send(order)
            async with gate.visitor() as wire:
                assert await heard(wire) == a_hello()

    asyncio.run(scene())


def test_a_member_may_come_before_the_holder(tmp_path: Path) -> None:
    async def scene() -> None:
        program = Program()
        kept = keep_registered(
            tmp_path / "s", "web-k3f9ab-1", start=program.start, stop=program.stop, active=program.active
        )
        async with running(kept):
            await asyncio.sleep(0)
            gate = Gate(tmp_path / "s")
            async with gate.visitor() as wire:
                assert await heard(wire) == a_hello()
            gate.close()

    asyncio.run(scene())


def test_what_the_program_raises_passes_through(tmp_path: Path) -> None:
    class Broken(Program):
        def active(self) -> int:
            raise RuntimeError("cannot count")

    async def scene() -> None:
        async with registered(tmp_path, Broken()) as gate, gate.visitor() as wire:
            await heard(wire)
            wire.send(Welcome(holder="h1"))
            await heard(wire)

    with pytest.raises(RuntimeError, match="cannot count"):
        asyncio.run(scene())
