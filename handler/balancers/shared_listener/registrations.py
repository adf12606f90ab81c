"""The holder's logic without its process: registrations, connected members, and their orders."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import assert_never

from handler.balancers.shared_listener.holder_socket import ConnectionLost, HolderSocket
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
    ProtocolError,
    RefusedMessage,
    RegistrationsMessage,
    Start,
    State,
    Stop,
    Stopped,
    ToDriver,
    Welcome,
    encode,
)

_log = logging.getLogger("holder")


@dataclass(slots=True, kw_only=True)
class ListenerRegistration:
    """One registration, as the holder keeps it."""

    state: State
    reported: int | None = 0
    unanswered: int = 0
    """`Stop` orders that the member has not answered: until then its count may miss a connection."""

    @property
    def connections(self) -> int | None:
        """Return its open connections; ``None`` while they are not known."""
        return None if self.unanswered else self.reported


def resumed(place: ListenerRegistration | None, hello: Hello, holder: str) -> LastOrder | None:
    """Return what a member of an earlier holder goes on doing; ``None``: it did not serve or drain.

    A member with an order of *this* holder is not resumed: if its registration is gone, it was removed on purpose.
    """
    if hello.was is None or hello.of == holder:
        return None
    return hello.was if place is None or place.state == "parked" else None


@dataclass(slots=True, kw_only=True)
class ListenerRegistrations:
    """Registrations by name, connected members by name, and the port that they share."""

    holder: str
    """This holder's incarnation."""
    port: ListeningPort
    finish: Callable[[], None]
    settling: bool
    places: dict[str, ListenerRegistration] = field(default_factory=dict)
    wires: dict[str, HolderSocket] = field(default_factory=dict)
    """Connected members, registered or not."""

    async def attend(self, connection: socket.socket) -> None:
        """Serve one connection to its end, of a member or of the driver."""
        wire = HolderSocket(connection)
        try:
            message, carried = await wire.receive()
            match message:
                case Hello():
                    await self.attend_member(message, carried, wire)
                case ChangeMessage() | AskRegistrations() | EndMessage():
                    await asyncio.get_running_loop().sock_sendall(connection, encode(self.answer(message)))
                    if isinstance(message, EndMessage):
                        os.dup(connection.fileno())  # stays open until this process is gone: the driver waits for that
                        self.finish()
                case _:
                    raise ProtocolError(f"a connection must not begin with {type(message).__name__}")
        except (ConnectionLost, OSError) as problem:
            _log.debug("a connection has ended: %s", problem)
        except ProtocolError as problem:
            _log.warning("refused a connection: %s", problem)
        finally:
            wire.close()

    async def attend_member(self, hello: Hello, carried: socket.socket | None, wire: HolderSocket) -> None:
        """Serve one member until it goes."""
        name = hello.registration
        ours = carried is None or self.port.adopt(carried)
        if name in self.wires:
            wire.send(RefusedMessage(why=f"{name} is connected already", final=False))
            return
        self.wires[name] = wire
        _log.info("connected member=%s was=%s", name, hello.was)
        try:
            self.greet(hello, wire, ours=ours)
            while True:
                message, _ = await wire.receive()
                self.note(name, message)
        finally:
            del self.wires[name]
            if name in self.places:
                self.places[name].reported, self.places[name].unanswered = 0, 0
            _log.info("disconnected member=%s", name)

    def greet(self, hello: Hello, wire: HolderSocket, *, ours: bool) -> None:
        """Give a new connection the order of its registration."""
        wire.send(Welcome(holder=self.holder))
        was: LastOrder | None = hello.was
        if not ours:
            wire.send(Dismiss())
            was = None
        elif (state := resumed(self.places.get(hello.registration), hello, self.holder)) is not None:
            self.places[hello.registration] = ListenerRegistration(state=state, reported=None)
            return
        place = self.places.get(hello.registration)
        if place is None:
            if was is not None:
                wire.send(Dismiss())
            return
        place.reported = None
        if place.state == "serving" and was != "serving":
            wire.send(Start(), self.port.listening)
        elif place.state != "serving" and was == "serving":
            place.unanswered += 1
            wire.send(Stop())

    def note(self, name: str, message: Message) -> None:
        """Record a member's report."""
        place = self.places.get(name)
        match message:
            case Active(connections=connections):
                answered = 0
            case Stopped(connections=connections):
                answered = 1
            case _:
                raise ProtocolError(f"{name} sent {type(message).__name__}")
        if place is not None:
            place.reported = connections
            place.unanswered = max(0, place.unanswered - answered)

    def answer(self, question: ChangeMessage | AskRegistrations | EndMessage) -> ToDriver:
        """Carry out a request of the driver."""
        if isinstance(question, EndMessage):
            for wire in self.wires.values():
                self.send(wire, Dismiss())
            return DoneMessage()
        if self.settling:
            return RefusedMessage(
                why="the holder has just restarted and waits for its members to come back", final=False
            )
        if self.port.listening is None:
            return RefusedMessage(why=self.port.problem, final=True)
        match question:
            case AskRegistrations():
                rows = tuple((name, place.state, place.connections) for name, place in sorted(self.places.items()))
                return RegistrationsMessage(holder=self.holder, listen=self.port.address, registrations=rows)
            case ChangeMessage():
                return self.change(question)
            case _:
                assert_never(question)

    def change(self, wanted: ChangeMessage) -> ToDriver:
        """Change one registration."""
        name, place, wire = (
            wanted.registration,
            self.places.get(wanted.registration),
            self.wires.get(wanted.registration),
        )
        match wanted.ask:
            case "join":
                self.places.setdefault(name, ListenerRegistration(state="parked"))
            case "enable":
                if place is None:
                    return RefusedMessage(why=f"{name} is not registered: it must join first", final=False)
                self.enable(place, wire)
            case "drain":
                if place is not None:
                    self.drain(place, wire)
            case "leave":
                if self.places.pop(name, None) is not None and wire is not None:
                    self.send(wire, Dismiss())
            case _:
                assert_never(wanted.ask)
        _log.info("%s member=%s", wanted.ask, name)
        return DoneMessage()

    def enable(self, place: ListenerRegistration, wire: HolderSocket | None) -> None:
        """Give a member work."""
        if place.state != "serving" and wire is not None:
            self.send(wire, Start())
        place.state = "serving"

    def drain(self, place: ListenerRegistration, wire: HolderSocket | None) -> None:
        """Give a member no new work."""
        if place.state == "serving" and wire is not None:
            place.unanswered += 1
            self.send(wire, Stop())
        place.state = "draining"

    def send(self, wire: HolderSocket, order: Start | Stop | Dismiss) -> None:
        """Send an order; a member that cannot be reached is disconnected, and gets it when it reconnects."""
        try:
            wire.send(order, self.port.listening if isinstance(order, Start) else None)
        except ConnectionLost as problem:
            _log.warning("cut off a member: %s", problem)
            wire.hang_up()
