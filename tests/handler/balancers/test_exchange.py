from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from handler.balancers.exchange import Address, exchange
from handler.balancers.haproxy.conversation import conversation

NAMED: Address = ("balancer.example", 9999)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """When the name server answers, which it does not do before."""
    answers = threading.Event()

    def look(*_: Any, flags: int = 0, **__: Any) -> Any:
        if not flags:
            answers.wait(8.0)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look)
    yield answers
    answers.set()


def exchanged() -> None:
    exchange(NAMED, b"show info\n", within=0.2, at_most=100)


def conversed() -> None:
    with conversation(NAMED, within=0.2, at_most=100):
        pass


@pytest.mark.parametrize("call", [exchanged, conversed])
def test_a_call_ends_in_time_though_no_name_server_answers(call: Callable[[], None], answers: threading.Event) -> None:
    much_later = threading.Timer(4.0, answers.set)
    much_later.start()

    with pytest.raises(TimeoutError):
        call()

    assert not answers.is_set()
    much_later.cancel()
