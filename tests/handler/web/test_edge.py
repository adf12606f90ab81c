from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handler.ingest.request_rates import PEER, Allowances, Rate, RequestRates
from handler.web.edge import STREAM, STREAMS, Edge
from handler.web.gate import Message, Receive, Scope, Send

PROXIES = ("192.0.2.0/28", "2001:db8::10/128")


class Asked:
    """An application behind the edge, and what reaches it."""

    def __init__(self, *, headers: tuple[tuple[bytes, bytes], ...] = (), **edge: Any) -> None:
        self.clients: list[object] = []
        self._headers = headers
        self._now = 0.0
        self._edge = Edge(self._app, **{"rates": RequestRates(), "clock": lambda: self._now, **edge})

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.clients.append(scope["client"][0] if scope["client"] else None)
        await send({"type": "http.response.start", "status": 200, "headers": list(self._headers)})
        await send({"type": "http.response.body", "body": b""})

    def __call__(self, peer: str | None, *forwarded: str, later: float = 0.0) -> tuple[int, dict[bytes, bytes]]:
        self._now += later
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": "/",
            "client": None if peer is None else (peer, 1234),
            "headers": [(b"x-forwarded-for", each.encode("latin-1")) for each in forwarded],
        }
        asyncio.run(self._edge(scope, receive, send))
        return sent[0]["status"], dict(sent[0]["headers"])


# Proxies


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", ("198.51.100.7",), "198.51.100.7"),
        ("192.0.2.1", ("10.9.9.9, 198.51.100.7",), "198.51.100.7"),
        ("192.0.2.1", ("10.9.9.9", "198.51.100.7, 192.0.2.3"), "198.51.100.7"),
        ("192.0.2.1", (), "192.0.2.1"),
        ("192.0.2.1", ("198.51.100.7, unknown",), "192.0.2.1"),
        ("192.0.2.1", ("192.0.2.3",), "192.0.2.3"),
        ("2001:db8::10", ("2001:db8:1::7",), "2001:db8:1::7"),
        ("::ffff:192.0.2.1", ("198.51.100.7",), "198.51.100.7"),
    ],
)
def test_a_trusted_proxy_says_which_client_it_speaks_for(peer: str, forwarded: tuple[str, ...], client: str) -> None:
    asked = Asked(trusted=PROXIES)
    assert asked(peer, *forwarded)[0] == 200
    assert asked.clients == [client]


@pytest.mark.parametrize("peer", ["192.0.2.16", "127.0.0.1", "2001:db8::11", "198.51.100.7", "nonsense", None])
def test_where_proxies_are_declared_no_other_peer_connects(peer: str | None) -> None:
    asked = Asked(trusted=PROXIES)
    assert asked(peer, "192.0.2.1")[0] == 403
    assert asked.clients == []


def test_without_proxies_what_a_client_says_of_its_address_is_not_believed() -> None:
    asked = Asked()
    asked("198.51.100.7", "127.0.0.1")
    assert asked.clients == ["198.51.100.7"]


# Headers


def test_every_answer_has_security_headers_also_a_refusal() -> None:
    for asked, peer in ((Asked(), "127.0.0.1"), (Asked(trusted=PROXIES), "198.51.100.7")):
        _, headers = asked(peer)
        assert headers[b"x-content-type-options"] == b"nosniff"
        assert headers[b"x-frame-options"] == b"DENY"
        assert headers[b"referrer-policy"] == b"no-referrer"
        assert b"frame-ancestors 'none'" in headers[b"content-security-policy"]


def test_what_an_answer_says_itself_stays() -> None:
    own = ((b"content-security-policy", b"default-src 'self'"),)
    assert Asked(headers=own)("127.0.0.1")[1][b"content-security-policy"] == b"default-src 'self'"


@pytest.mark.parametrize(
    ("edge", "peer", "strict"),
    [({}, "127.0.0.1", False), ({"encrypted": True}, "127.0.0.1", True), ({"trusted": PROXIES}, "192.0.2.1", True)],
)
def test_browsers_are_bound_to_https_only_where_there_is_https(edge: dict[str, Any], peer: str, strict: bool) -> None:
    assert (b"strict-transport-security" in Asked(**edge)(peer)[1]) is strict


# Rates


def test_a_peer_that_asks_too_often_waits_and_others_do_not() -> None:
    asked = Asked()
    burst = int(PEER.burst)
    assert {asked("198.51.100.7")[0] for _ in range(burst)} == {200}
    status, headers = asked("198.51.100.7")
    assert (status, headers[b"retry-after"]) == (429, b"1")
    assert asked("198.51.100.8")[0] == 200
    assert asked("198.51.100.7", later=1.0)[0] == 200


def test_clients_of_a_proxy_are_told_apart() -> None:
    asked = Asked(trusted=PROXIES, rates=RequestRates(Rate(per_second=1.0, burst=1.0)))
    assert [asked("192.0.2.1", client)[0] for client in ("198.51.100.7", "198.51.100.7", "198.51.100.8")] == [
        200, 429, 200,
    ]  # fmt: skip


def test_this_machine_has_no_limit_of_its_own() -> None:
    asked = Asked(rates=RequestRates(Rate(per_second=1.0, burst=1.0)))
    assert {asked(peer)[0] for peer in ("127.0.0.1", "127.0.0.1", "::1", "::1", "::ffff:127.0.0.1")} == {200}


def test_addresses_of_one_network_of_ipv6_share_an_allowance() -> None:
    asked = Asked(rates=RequestRates(Rate(per_second=1.0, burst=1.0)))
    assert [asked(f"2001:db8:{net}::{host}")[0] for net, host in ((1, 1), (1, 2), (2, 1))] == [200, 429, 200]


def test_an_allowance_fills_up_evenly_to_its_burst() -> None:
    left = Allowances(Rate(per_second=2.0, burst=3.0))
    assert [left.wait("a", 0.0) for _ in range(4)] == [None, None, None, 1]
    assert [left.wait("a", 0.5), left.wait("a", 0.5)] == [None, 1]
    assert [left.wait("a", 1000.0) for _ in range(4)] == [None, None, None, 1]


def test_a_clock_that_goes_back_takes_nothing_away() -> None:
    left = Allowances(Rate(per_second=1.0, burst=2.0))
    assert [left.wait("a", 10.0), left.wait("a", 0.0), left.wait("a", 0.0)] == [None, None, 1]


def test_only_so_many_peers_are_remembered() -> None:
    left = Allowances(Rate(per_second=1.0, burst=1.0), kept=2)
    assert [left.wait(key, 0.0) for key in ("a", "b", "a", "c", "b")] == [None, None, 1, None, None]


# Streams


def test_one_peer_has_only_so_many_streams_and_one_that_ends_makes_room() -> None:
    async def scene() -> None:
        over = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await over.wait()

        edge = Edge(app, rates=RequestRates(), clock=lambda: 0.0)

        def begun(peer: str) -> tuple[list[int], asyncio.Task[None]]:
            statuses: list[int] = []

            async def send(message: Message) -> None:
                if message["type"] == "http.response.start":
                    statuses.append(message["status"])

            async def receive() -> Message:
                return {"type": "http.disconnect"}

            scope = {"type": "http", "method": "GET", "path": STREAM, "client": (peer, 1), "headers": []}
            return statuses, asyncio.create_task(edge(scope, receive, send))

        streams = [begun("198.51.100.7") for _ in range(STREAMS)]
        more, other = begun("198.51.100.7"), begun("198.51.100.8")
        here = [begun("127.0.0.1") for _ in range(STREAMS + 1)]
        await asyncio.sleep(0)
        assert [each[0] for each in (*streams, *here)] == [[200]] * (2 * STREAMS + 1)
        assert (more[0], other[0]) == ([429], [200])
        over.set()
        await asyncio.gather(*(task for _, task in (*streams, more, other, *here)))
        again, task = begun("198.51.100.7")
        await task
        assert again == [200]

    asyncio.run(scene())
