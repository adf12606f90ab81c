"""The protocol between the holder of a listening socket, its members and the driver.

Over the holder's unix stream socket, one JSON object a line, UTF-8, at most `LONGEST` bytes with the newline. Both ends
refuse what is not in this table, unknown fields included, by closing the connection.

======================================================  ==============================================================
member → holder
======================================================  ==============================================================
``{"say": "hello", "seat", "was", "of", "socket"}``     first line. ``seat``: the member's name. ``was``: null,
                                                        ``"serving"`` or ``"draining"``: its last order. ``of``:
                                                        null or the holder that gave it. ``socket``: a copy of the
                                                        listening socket comes with this line (SCM_RIGHTS); true for a
                                                        member that was serving
``{"say": "active", "connections"}``                    on change and now and then
``{"say": "stopped", "connections"}``                   the answer to every ``stop``: accepts no more, has so many left
------------------------------------------------------  --------------------------------------------------------------
holder → member
------------------------------------------------------  --------------------------------------------------------------
``{"say": "welcome", "holder"}``                        the answer to ``hello``; ``holder``: for the next hello's ``of``
``{"say": "start"}``                                    with the listening socket: accept from it
``{"say": "stop"}``                                     accept no more, finish what is in hand, answer ``stopped``
``{"say": "dismiss"}``                                  as ``stop``, not answered; forget the socket and the seat
``{"say": "refused", "why", "final"}``                  the name is taken by another process; the holder closes
------------------------------------------------------  --------------------------------------------------------------
driver → holder, one question a connection
------------------------------------------------------  --------------------------------------------------------------
``{"ask": V, "seat"}``                                  V: ``join``, ``enable``, ``drain`` or ``leave``
``{"ask": V}``                                          V: ``seats`` or ``end``
``{"say": "done"}``                                     the answer of all but ``seats``
``{"say": "seats", "holder", "listen", "seats"}``       ``seats``: a list of ``[name, state, connections or null]``
``{"say": "refused", "why", "final"}``                  not done; ``final``: trying again cannot help
======================================================  ==============================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Final, Literal, TypeGuard

LONGEST = 4096
"""Bytes of one line, newline included; the answer to ``registrations`` alone may be longer."""

LONGEST_ANSWER = 8 * 1024 * 1024
"""Bytes that a driver reads of one answer: some 80,000 registrations."""

State = Literal["parked", "serving", "draining"]
LastOrder = Literal["serving", "draining"]
Verb = Literal["join", "enable", "drain", "leave"]


class ProtocolError(Exception):
    """The other end sent a message that is not in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """A member presents itself."""

    registration: str = field(metadata={"wire": "seat"})
    was: LastOrder | None
    of: str | None
    socket: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Active:
    """A member counts its connections."""

    connections: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A member has stopped accepting."""

    connections: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """The holder names itself."""

    holder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Accept; the listening socket comes with the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Accept no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismiss:
    """Accept no more, and forget the socket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMessage:
    """The driver requests a change of one registration."""

    ask: Verb
    registration: str = field(metadata={"wire": "seat"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AskRegistrations:
    """The driver requests all registrations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndMessage:
    """The driver ends the listener: all members are dismissed, the port is freed, the holder exits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneMessage:
    """The change is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationsMessage:
    """All registrations: (name, state, connections; ``None`` while not known)."""

    holder: str
    listen: str
    registrations: tuple[tuple[str, State, int | None], ...] = field(metadata={"wire": "seats"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedMessage:
    """The request was refused. ``final``: trying again cannot help until a person changes something."""

    why: str
    final: bool


FromMember = Hello | Active | Stopped
ToMember = Welcome | Start | Stop | Dismiss | RefusedMessage
FromDriver = ChangeMessage | AskRegistrations | EndMessage
ToDriver = DoneMessage | RegistrationsMessage | RefusedMessage
Message = FromMember | ToMember | FromDriver | ToDriver

_NAMES: Final[Mapping[type[Message], str]] = {
    Hello: "hello",
    Active: "active",
    Stopped: "stopped",
    Welcome: "welcome",
    Start: "start",
    Stop: "stop",
    Dismiss: "dismiss",
    DoneMessage: "done",
    RegistrationsMessage: "seats",
    RefusedMessage: "refused",
}
"""Members and holders of other releases use these words, too."""


def encode(message: Message) -> bytes:
    """Write one message as a line, newline included."""
    head: dict[str, str]
    match message:
        case ChangeMessage():
            head = {}
        case AskRegistrations():
            head = {"ask": "seats"}
        case EndMessage():
            head = {"ask": "end"}
        case _:
            head = {"say": _NAMES[type(message)]}
    # By hand, not by `config.build.wire`: members have this module and the standard library, nothing else of Trimtab.
    body = {each.metadata.get("wire", each.name): getattr(message, each.name) for each in fields(message)}
    return json.dumps(head | body, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> Message:
    """Read one line.

    Raises:
        ProtocolError: it is not a message of the table.
    """
    try:
        document = json.loads(line)
    except ValueError as problem:
        raise ProtocolError(f"not JSON: {line[:80]!r}") from problem
    message = _plain(document) or _from_member(document) or _from_driver(document) or _from_holder(document)
    if message is None:
        raise ProtocolError(f"not a message: {line[:80]!r}")
    return message


# Mapping patterns ignore further keys: `**rest` catches them, and a message with any is refused.


def _plain(document: object) -> Message | None:
    match document:
        case {"say": str(word), **rest} if not rest:
            plain: dict[str, Message] = {"start": Start(), "stop": Stop(), "dismiss": Dismiss(), "done": DoneMessage()}
            return plain.get(word)
        case {"ask": str(word), **rest} if not rest:
            asked: dict[str, Message] = {"seats": AskRegistrations(), "end": EndMessage()}
            return asked.get(word)
    return None


def _from_member(document: object) -> FromMember | None:
    match document:
        case {
            "say": "hello",
            "seat": str(registration),
            "was": None | "serving" | "draining" as was,
            "of": None | str() as of,
            "socket": bool(socket),
            **rest,
        } if not rest and registration and (socket or was != "serving"):
            return Hello(registration=registration, was=was, of=of, socket=socket)
        case {"say": "active" | "stopped" as word, "connections": connections, **rest} if not rest and _is_count(
            connections
        ):
            return Active(connections=connections) if word == "active" else Stopped(connections=connections)
    return None


def _from_driver(document: object) -> FromDriver | None:
    match document:
        case {"ask": "join" | "enable" | "drain" | "leave" as ask, "seat": str(registration), **rest} if (
            not rest and registration
        ):
            return ChangeMessage(ask=ask, registration=registration)
    return None


def _from_holder(document: object) -> Message | None:
    match document:
        case {"say": "welcome", "holder": str(holder), **rest} if not rest:
            return Welcome(holder=holder)
        case {"say": "refused", "why": str(why), "final": bool(final), **rest} if not rest:
            return RefusedMessage(why=why, final=final)
        case {"say": "seats", "holder": str(holder), "listen": str(listen), "seats": list(rows), **rest} if not rest:
            return RegistrationsMessage(
                holder=holder, listen=listen, registrations=tuple(_registration(row) for row in rows)
            )
    return None


def _registration(row: object) -> tuple[str, State, int | None]:
    match row:
        case [str(name), "parked" | "serving" | "draining" as state, connections] if connections is None or _is_count(
            connections
        ):
            return name, state, connections
    raise ProtocolError(f"not a registration: {row!r:.80}")


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
