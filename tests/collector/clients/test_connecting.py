"""Connecting to names: a name server that is silent delays only what asks it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from collector.clients.connecting import connected, own_name_threads
from tests.support.waiting import PATIENT

SILENT = "edge.silent.example"


@pytest.fixture
def goes_on(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A name server that says nothing of one zone until then, and knows every other name as the loopback."""
    asked: Callable[..., Any] = socket.getaddrinfo
    event = threading.Event()

    def answered(host: str, port: int, **more: Any) -> Any:
        if "flags" in more:
            return asked(host, port, **more)
        if host == SILENT:
            event.wait(PATIENT)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return asked("127.0.0.1", port, **more)

    monkeypatch.setattr(socket, "getaddrinfo", answered)
    return event


def test_names_of_a_silent_server_hold_up_no_look_up_of_another_part_of_the_process(goes_on: threading.Event) -> None:
    async def there(name: str, port: int, times: int) -> None:
        with own_name_threads():
            found = await asyncio.gather(*(connected((name, port)) for _ in range(times)), return_exceptions=True)
        for each in found:
            if isinstance(each, socket.socket):
                each.close()
            else:
                assert name == SILENT, each

    async def side_by_side() -> bool:
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listening:
            port = listening.getsockname()[1]
            hanging = asyncio.create_task(there(SILENT, port, 100))
            await asyncio.sleep(0)
            await there("edge.example", port, 1)
            is_hanging = not hanging.done()
            goes_on.set()
            await hanging
        return is_hanging

    assert asyncio.run(side_by_side())
