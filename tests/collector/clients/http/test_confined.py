"""A confined request meets only addresses that it may, whatever they are called; each connection is judged anew."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from collector.clients.http import names
from collector.clients.http.client import HttpFailure, HttpRequest, HttpResponse
from collector.samples import Reply
from config.model.access import OPEN
from config.model.outbound import Outbound
from tests.support.http_servers import a_client, a_response, a_server, says
from tests.support.waiting import PATIENT

HERE = Outbound(allow_private=("127.0.0.0/8",))


def a_request(url: str, outbound: Outbound | None) -> HttpRequest:
    return HttpRequest(url=url, access=OPEN, timeout=PATIENT, outbound=outbound)


def asked(*requests: tuple[str, Outbound | None], response: bytes = a_response(b"1")) -> tuple[list[Any], list[str]]:
    """The answers of one client to requests at the port of a server on 127.0.0.1, and what the server heard."""
    heard = list[str]()

    async def scene() -> list[HttpResponse | HttpFailure]:
        async with a_server(says(response, heard)) as port, a_client() as client:
            return [await client.ask(a_request(f"http://{host}:{port}/", outbound)) for host, outbound in requests]

    return asyncio.run(scene()), heard


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f000001", "0x7f.1", "[::ffff:127.0.0.1]"])
def test_no_name_and_no_form_of_a_number_leads_to_an_address_that_is_not_allowed(host: str) -> None:
    (answer,), heard = asked((host, Outbound()))
    assert answer.reply is Reply.UNREACHABLE
    assert "outbound.allow_private" in answer.detail
    assert "127" not in answer.detail, "what a name stands for is not told"
    assert heard == []


def test_a_network_that_the_file_allows_is_asked() -> None:
    (answer,), heard = asked(("127.0.0.1", HERE))
    assert (answer.status, len(heard)) == (200, 1)


def test_no_connection_of_a_request_that_is_free_or_of_an_older_rule_is_used() -> None:
    answers, heard = asked(("127.0.0.1", None), ("127.0.0.1", HERE), ("127.0.0.1", Outbound()), ("127.0.0.1", None))
    assert [isinstance(answer, HttpResponse) for answer in answers] == [True, True, False, True]
    assert len(heard) == 3


def test_a_name_that_changes_to_another_address_does_not_lead_there(monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter(["127.0.0.2", "127.0.0.1"])

    def look_up(host: str, port: int, family: socket.AddressFamily) -> list[tuple[int, str]]:
        return [(socket.AF_INET, next(found))]

    monkeypatch.setattr(names, "_look_up", look_up)
    monkeypatch.setattr("collector.clients.http.client._NAMES_KEPT", 0)
    only_two = Outbound(allow_private=("127.0.0.2/32",))
    (first, second), heard = asked(("queue.example.org", only_two), ("queue.example.org", only_two))
    assert first.reply is Reply.REFUSED, "nothing listens there"
    assert "outbound.allow_private" in second.detail
    assert heard == []


def test_a_redirect_is_not_followed() -> None:
    moved = a_response(status="302 Found", headers={"Location": "http://169.254.169.254/latest/meta-data/"})
    (answer,), heard = asked(("127.0.0.1", HERE), response=moved)
    assert "redirects are not followed" in answer.detail
    assert len(heard) == 1
