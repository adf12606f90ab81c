"""A standby has room for so many requests of one address, and for so many in all."""

from __future__ import annotations

import contextlib
from ipaddress import ip_address

import pytest

from handler.web.edge import Address
from handler.web.problems import ProblemType
from handler.web.relay_room import AT_ONCE, OF_PEER, RelayRoom

ONE, TWO, NEAR = ip_address("192.0.2.7"), ip_address("192.0.2.8"), ip_address("127.0.0.1")


def refusals(room: RelayRoom, undo: contextlib.ExitStack, peer: Address | None, count: int) -> list[ProblemType]:
    """What becomes of so many requests, none of which ends."""
    taken = [undo.enter_context(room.taken(peer)) for _ in range(count)]
    return [each[0] for each in taken if each is not None]


def test_one_address_does_not_take_the_room_of_others() -> None:
    room = RelayRoom()
    with contextlib.ExitStack() as undo:
        assert refusals(room, undo, ONE, OF_PEER + 2) == [ProblemType.TOO_MANY] * 2
        assert refusals(room, undo, TWO, 1) == []


@pytest.mark.parametrize("peer", [NEAR, None])
def test_all_together_have_a_limit_also_the_loopback(peer: Address | None) -> None:
    room = RelayRoom()
    with contextlib.ExitStack() as undo:
        assert refusals(room, undo, peer, AT_ONCE + 1) == [ProblemType.BUSY]
        assert refusals(room, undo, ONE, 1) == [ProblemType.BUSY]


def test_a_request_that_is_answered_gives_its_room_back() -> None:
    room = RelayRoom()
    with contextlib.ExitStack() as undo:
        refusals(room, undo, NEAR, AT_ONCE)
    with contextlib.ExitStack() as undo:
        assert refusals(room, undo, ONE, OF_PEER) == []
