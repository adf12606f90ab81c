"""Messages between a daemon and its workers: a pickle, after its length in eight bytes."""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass
from typing import BinaryIO

from handler.what_if.member_question import MemberCourses, MembersQuestion
from handler.what_if.question import Answer, Question, Unanswerable

LENGTH = struct.Struct(">Q")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedQuestion:
    """A question with a number of its own."""

    number: int
    question: Question | MembersQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """No one waits for this question any more."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedAnswer:
    """What became of a question."""

    number: int
    answer: Answer | MemberCourses | Unanswerable


ToWorker = NumberedQuestion | Withdrawn


def packed(message: ToWorker | NumberedAnswer) -> bytes:
    """Write a message."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


def unpacked(body: bytes) -> ToWorker | NumberedAnswer:
    """Read a message without its length. It comes from a process that this one started, or was started by."""
    message: ToWorker | NumberedAnswer = pickle.loads(body)  # noqa: S301  # over a pipe that no other process has
    return message


def received(stream: BinaryIO) -> ToWorker | NumberedAnswer | None:
    """Wait for a message; ``None``: the other end is closed."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return unpacked(stream.read(LENGTH.unpack(head)[0]))
