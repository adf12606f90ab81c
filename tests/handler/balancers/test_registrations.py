from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from config.errors import Permanent, Transient
from config.units import MemberName
from handler.balancers.registrations import one_by_one
from handler.ports.balancer import MemberMove, RegistrationChange

ONE, TWO = MemberName("web-k3f9ab-1"), MemberName("web-k3f9ab-2")


@dataclass
class Steered:
    refused: frozenset[MemberName] = frozenset()
    made: list[tuple[object, ...]] = field(default_factory=list)

    def join(self, member: MemberName, address: str, port: int) -> None:
        self._make("join", member, address, port)

    def enable(self, member: MemberName) -> None:
        self._make("enable", member)

    def drain(self, member: MemberName) -> None:
        self._make("drain", member)

    def leave(self, member: MemberName) -> None:
        self._make("leave", member)

    def _make(self, what: str, member: MemberName, *more: object) -> None:
        if member in self.refused:
            raise Transient("busy")
        self.made.append((what, member, *more))


@pytest.mark.parametrize("move", [MemberMove.ENABLE, MemberMove.DRAIN, MemberMove.LEAVE])
def test_every_move_is_the_call_of_its_name(move: MemberMove) -> None:
    steered = Steered()

    assert one_by_one(steered, [RegistrationChange(move=move, member=ONE)]) == [None]
    assert steered.made == [(move.value, ONE)]


def test_what_follows_a_change_that_failed_is_not_made_and_has_its_answer() -> None:
    steered = Steered(refused=frozenset({ONE}))

    answers = one_by_one(
        steered,
        [
            RegistrationChange(move=MemberMove.JOIN, member=ONE, at=("127.0.0.1", 80)),
            RegistrationChange(move=MemberMove.JOIN, member=TWO, at=("127.0.0.1", 81)),
            RegistrationChange(move=MemberMove.ENABLE, member=ONE),
        ],
    )

    assert steered.made == [("join", TWO, "127.0.0.1", 81)]
    assert isinstance(answers[0], Transient)
    assert answers[1] is None
    assert answers[2] is answers[0]


def test_no_member_joins_nowhere() -> None:
    (answer,) = one_by_one(Steered(), [RegistrationChange(move=MemberMove.JOIN, member=ONE)])

    assert isinstance(answer, Permanent)
