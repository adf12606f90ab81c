from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest

from handler.balancers.shared_listener.holder_socket import HolderSocket
from handler.balancers.shared_listener.port import ListeningPort
from handler.balancers.shared_listener.protocol import (
    Active,
    AskRegistrations,
    ChangeMessage,
    Dismiss,
    DoneMessage,
    EndMessage,
    Hello,
    LastOrder,
    Message,
    RefusedMessage,
    RegistrationsMessage,
    Start,
    State,
    Stop,
    Stopped,
    Verb,
    Welcome,
)
from handler.balancers.shared_listener.registrations import ListenerRegistration, ListenerRegistrations, resumed
from tests.support.waiting import PATIENT
from tests.support.wires import heard, running

NAME = "web-k3f9ab-1"


def an_attendance(listening: socket.socket | None, *, settling: bool = False) -> ListenerRegistrations:
    address = "127.0.0.1:1" if listening is None else "{}:{}".format(*listening.getsockname())
    port = ListeningPort(address=address, listening=listening, problem="" if listening else "in use")
    return ListenerRegistrations(holder="now", port=port, finish=lambda: None, settling=settling)


def a_hello(*, was: LastOrder | None = None, of: str | None = None, socket: bool = False) -> Hello:
    return Hello(registration=NAME, was=was, of=of, socket=socket)


def ask(attendance: ListenerRegistrations, *verbs: Verb) -> None:
    for verb in verbs:
        assert attendance.answer(ChangeMessage(ask=verb, registration=NAME)) == DoneMessage()


def row(attendance: ListenerRegistrations) -> tuple[str, int | None] | None:
    answer = attendance.answer(AskRegistrations())
    assert isinstance(answer, RegistrationsMessage)
    return next(((state, connections) for name, state, connections in answer.registrations if name == NAME), None)


@contextlib.asynccontextmanager
async def connected(
    attendance: ListenerRegistrations, hello: Hello, carried: socket.socket | None = None
) -> AsyncIterator[HolderSocket]:
    """A member that has said hello and been welcomed."""
    theirs, ours = socket.socketpair()
    wire = HolderSocket(ours)
    async with running(attendance.attend(theirs)):
        wire.send(hello, carried)
        assert await heard(wire) == Welcome(holder="now")
        try:
            yield wire
        finally:
            wire.close()


async def until_row(attendance: ListenerRegistrations, expected: tuple[str, int | None]) -> None:
    async with asyncio.timeout(PATIENT):
        while row(attendance) != expected:  # noqa: ASYNC110  what is waited for is the other end's
            await asyncio.sleep(0.001)


@pytest.fixture
def listening() -> socket.socket:  # type: ignore[misc]
    with socket.create_server(("127.0.0.1", 0)) as opened:
        opened.setblocking(False)
        yield opened


@pytest.mark.parametrize(
    ("state", "was", "of", "goes_on"),
    [
        pytest.param(None, None, None, None, id="newcomer"),
        pytest.param(None, "serving", "earlier", "serving", id="served-under-an-earlier-holder"),
        pytest.param(None, "draining", "earlier", "draining", id="drained-under-an-earlier-holder"),
        pytest.param("parked", "serving", "earlier", "serving", id="joined-before-it-came-back"),
        pytest.param("draining", "serving", "earlier", None, id="drained-before-it-came-back"),
        pytest.param("serving", "draining", "earlier", None, id="enabled-before-it-came-back"),
        pytest.param(None, "serving", "now", None, id="dismissed-by-this-holder"),
        pytest.param("parked", "serving", "now", None, id="parked-by-this-holder"),
    ],
)
def test_only_work_given_by_an_earlier_holder_goes_on(
    state: State | None, was: LastOrder | None, of: str | None, goes_on: LastOrder | None
) -> None:
    place = None if state is None else ListenerRegistration(state=state)
    assert resumed(place, a_hello(was=was, of=of, socket=was is not None), "now") == goes_on


@pytest.mark.parametrize(
    ("verbs", "was", "order"),
    [
        pytest.param(("join", "enable"), None, Start(), id="enabled"),
        pytest.param(("join", "enable"), "draining", Start(), id="enabled-again"),
        pytest.param(("join", "enable", "drain"), "serving", Stop(), id="drained"),
        pytest.param(("join",), "serving", Stop(), id="parked"),
        pytest.param((), "serving", Dismiss(), id="no-registration"),
        pytest.param((), "draining", Dismiss(), id="no-registration-any-more"),
    ],
)
def test_a_member_that_comes_back_is_brought_to_where_its_registration_is(
    listening: socket.socket, verbs: tuple[Verb, ...], was: LastOrder | None, order: Message
) -> None:
    async def scene() -> None:
        attendance = an_attendance(listening)
        ask(attendance, *verbs)
        hello = a_hello(was=was, of="now", socket=was is not None)
        async with connected(attendance, hello, listening if was else None) as wire:
            assert await heard(wire) == order

    asyncio.run(scene())


def test_connections_of_a_drained_member_are_unknown_until_it_has_stopped(listening: socket.socket) -> None:
    async def scene() -> None:
        attendance = an_attendance(listening)
        ask(attendance, "join", "enable")
        async with connected(attendance, a_hello()) as wire:
            assert await heard(wire) == Start()
            wire.send(Active(connections=0))
            await until_row(attendance, ("serving", 0))
            ask(attendance, "drain")
            assert row(attendance) == ("draining", None)
            wire.send(Active(connections=0))
            assert await heard(wire) == Stop()
            assert row(attendance) == ("draining", None)
            wire.send(Stopped(connections=1))
            await until_row(attendance, ("draining", 1))

    asyncio.run(scene())


def test_every_stop_must_be_answered_before_connections_are_known(listening: socket.socket) -> None:
    async def scene() -> None:
        attendance = an_attendance(listening)
        ask(attendance, "join")
        async with connected(attendance, a_hello()) as wire:
            ask(attendance, "enable", "drain", "enable", "drain")
            assert [await heard(wire) for _ in range(4)] == [Start(), Stop(), Start(), Stop()]
            wire.send(Stopped(connections=0))
            wire.send(Active(connections=7))
            await asyncio.sleep(0.01)
            assert row(attendance) == ("draining", None)
            wire.send(Stopped(connections=3))
            await until_row(attendance, ("draining", 3))

    asyncio.run(scene())


def test_a_member_whose_process_ends_keeps_its_registration_and_has_nothing_in_hand(listening: socket.socket) -> None:
    async def scene() -> None:
        attendance = an_attendance(listening)
        ask(attendance, "join", "enable")
        async with connected(attendance, a_hello()) as wire:
            assert await heard(wire) == Start()
            wire.send(Active(connections=5))
            await until_row(attendance, ("serving", 5))
        await until_row(attendance, ("serving", 0))

    asyncio.run(scene())


def test_a_second_process_of_one_name_is_turned_away(listening: socket.socket) -> None:
    async def scene() -> None:
        attendance = an_attendance(listening)
        ask(attendance, "join", "enable")
        async with connected(attendance, a_hello()) as first:
            assert await heard(first) == Start()
            theirs, ours = socket.socketpair()
            second = HolderSocket(ours)
            async with running(attendance.attend(theirs)):
                second.send(a_hello())
                assert isinstance(await heard(second), RefusedMessage)
            second.close()
            ask(attendance, "drain")
            assert await heard(first) == Stop()

    asyncio.run(scene())


def test_a_holder_that_has_just_restarted_answers_for_no_member_yet(listening: socket.socket) -> None:
    attendance = an_attendance(listening, settling=True)
    assert attendance.answer(AskRegistrations()) == RefusedMessage(
        why="the holder has just restarted and waits for its members to come back", final=False
    )


def test_a_holder_without_its_port_says_why() -> None:
    assert an_attendance(None).answer(AskRegistrations()) == RefusedMessage(why="in use", final=True)


def test_a_member_s_copy_opens_the_port_of_a_restarted_holder(listening: socket.socket) -> None:
    async def scene() -> None:
        attendance = an_attendance(listening)
        attendance.port.listening = None
        async with connected(attendance, a_hello(was="serving", of="earlier", socket=True), listening):
            await until_row(attendance, ("serving", None))
        opened = attendance.port.listening
        assert opened is not None
        with opened:
            assert opened.getsockname() == listening.getsockname()

    asyncio.run(scene())


def test_a_copy_of_another_port_is_dismissed(listening: socket.socket) -> None:
    async def scene() -> None:
        attendance = an_attendance(listening)
        with socket.create_server(("127.0.0.1", 0)) as other:
            hello = a_hello(was="serving", of="earlier", socket=True)
            async with connected(attendance, hello, other) as wire:
                assert await heard(wire) == Dismiss()
        assert row(attendance) is None

    asyncio.run(scene())


def test_the_end_dismisses_every_member(listening: socket.socket) -> None:
    async def scene() -> None:
        attendance = an_attendance(listening)
        async with connected(attendance, a_hello()) as wire:
            assert attendance.answer(EndMessage()) == DoneMessage()
            assert await heard(wire) == Dismiss()

    asyncio.run(scene())
