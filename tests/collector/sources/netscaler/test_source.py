"""The NetScaler source against an appliance of our own, which a client that we did not write meets too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import pytest
from aiohttp import web

from collector.clients.http.client import HttpClient
from collector.samples import Reply, Scrape
from collector.sources.netscaler.source import NetscalerSource
from collector.sources.poll import Poller
from config.errors import TrimtabError
from config.model.access import NetscalerStats, SecretRef
from config.model.catalogue import Catalogue
from config.model.counters import Counter, CounterKind, NetscalerField, Per
from config.units import CounterId, Instant, Moment, Monotonic, SourceId
from tests.support.collector import Answers, a_catalogue, answers, rosters
from tests.support.netscaler import (
    PASSWORD,
    FakeNetscaler,
    a_group_member,
    a_service,
    a_source,
    a_virtual_server,
    nitro,
    running,
)
from tests.support.waiting import PATIENT

MEMBERS = {"a": "10.0.0.1", "b": "10.0.0.2"}
NS = SourceId("ns")


class Clock:
    """Steady seconds, by hand."""

    def __init__(self) -> None:
        self.steady = 1000.0

    def __call__(self) -> Moment:
        return Moment(wall=Instant(self.steady), steady=Monotonic(self.steady))


class Asking:
    """Polls one appliance, round after round."""

    def __init__(self, netscaler: FakeNetscaler) -> None:
        self.netscaler = netscaler
        self.clock = Clock()
        self.secret: str | None = PASSWORD
        http = HttpClient(clock=self.clock, read_secret=self._read)
        self._poller = Poller(clock=self.clock, read_secret=self._read, sources=[NetscalerSource(http)], http=http)

    def _read(self, ref: SecretRef) -> str:
        if self.secret is None:
            raise TrimtabError(f"{ref.env} is not set")
        return self.secret

    async def poll(
        self, *counters: Counter, source: NetscalerStats | None = None, after: float = 0.0, end: float = 5.0
    ) -> Scrape:
        self.clock.steady += after
        catalogue = self.catalogue(counters, source or a_source())
        return await self._poller.poll(catalogue, rosters(MEMBERS), timeout=end)

    def catalogue(self, counters: Sequence[Counter], *sources: NetscalerStats) -> Catalogue:
        there = {source.id: replace(source, url=self.netscaler.url) for source in sources}
        return replace(a_catalogue(counters), sources=there)

    async def close(self) -> None:
        await self._poller.close()


def a_field(field: str, per: Per = Per.MEMBER, *, kind: CounterKind = CounterKind.GAUGE) -> Counter:
    return Counter(id=CounterId(field), source=NetscalerField(field=field, server=NS), per=per, kind=kind)


CONNECTIONS = a_field("curclntconnections")
HITS = a_field("tothits", Per.GROUP)
REQUESTS = a_field("totalrequests", kind=CounterKind.RISING)


def a_netscaler() -> FakeNetscaler:
    """A service group of both members, and a virtual server that both are bound to as services too."""
    return FakeNetscaler(
        members={"web": [a_group_member("10.0.0.1", "10.0.0.1"), a_group_member("b", "10.0.0.2", avgsvrttfb="30")]},
        virtual_servers={"web-vip": a_virtual_server()},
        bound={"web-vip": {"service": [a_service("svc-a", "10.0.0.1"), a_service("svc-b", "10.0.0.2")]}},
    )


def played(scene: Callable[[Asking], Awaitable[None]], netscaler: FakeNetscaler | None = None) -> None:
    async def play() -> None:
        async with running(netscaler or a_netscaler()) as there:
            asking = Asking(there)
            try:
                await scene(asking)
            finally:
                await asking.close()

    asyncio.run(play())


def once(
    *counters: Counter, netscaler: FakeNetscaler | None = None, source: NetscalerStats | None = None
) -> tuple[Answers, Scrape]:
    scrapes: list[Scrape] = []

    async def scene(asking: Asking) -> None:
        scrapes.append(await asking.poll(*counters, source=source))

    played(scene, netscaler)
    return answers(scrapes[0]), scrapes[0]


def test_all_members_come_in_one_answer_and_the_group_in_another() -> None:
    netscaler = a_netscaler()

    found, _ = once(CONNECTIONS, a_field("avgsvrttfb"), HITS, netscaler=netscaler)

    assert found == {
        ("a", "curclntconnections"): 8.0,
        ("b", "curclntconnections"): 8.0,
        ("a", "avgsvrttfb"): 12.0,
        ("b", "avgsvrttfb"): 30.0,
        ("", "tothits"): 5000.0,
    }
    assert sorted(netscaler.paths("stat/")) == ["stat/lbvserver/web-vip", "stat/servicegroup/web?statbindings=yes"]


def test_without_a_service_group_one_answer_serves_members_and_group() -> None:
    netscaler = a_netscaler()

    found, _ = once(a_field("activetransactions"), HITS, netscaler=netscaler, source=a_source(service_group=None))

    assert found["a", "activetransactions"] == 2.0
    assert found["", "tothits"] == 5000.0
    assert netscaler.paths("stat/") == ["stat/lbvserver/web-vip?statbindings=yes"]


def test_members_of_groups_that_are_bound_to_the_virtual_server_count_too() -> None:
    netscaler = a_netscaler()
    netscaler.bound = {"web-vip": {"servicegroupmember": netscaler.members["web"]}}

    found, _ = once(CONNECTIONS, netscaler=netscaler, source=a_source(service_group=None))

    assert set(found.values()) == {8.0}


@pytest.mark.parametrize(
    ("counter", "change", "reply"),
    [
        (a_field("activetransactions"), {}, Reply.NO_SUCH_COUNTER),
        (CONNECTIONS, {"curclntconnections": "n/a"}, Reply.MALFORMED),
        (CONNECTIONS, {"curclntconnections": ""}, Reply.NO_SUCH_COUNTER),
        (CONNECTIONS, {"primaryipaddress": "10.0.0.3"}, Reply.REFUSED),
    ],
    ids=["only services have it", "text", "empty", "not bound"],
)
def test_a_member_without_a_number_says_why(counter: Counter, change: dict[str, object], reply: Reply) -> None:
    netscaler = a_netscaler()
    netscaler.members["web"][1] = {**a_group_member("x", "10.0.0.2"), **change}

    found, scrape = once(counter, netscaler=netscaler)

    assert found["b", counter.id] is reply
    assert scrape.details[1]


@pytest.mark.parametrize(
    ("source", "counter"),
    [(a_source(service_group="gone"), CONNECTIONS), (a_source(virtual_server="gone"), HITS)],
    ids=["service group", "virtual server"],
)
def test_an_object_that_the_appliance_lacks_is_refused_in_its_words(source: NetscalerStats, counter: Counter) -> None:
    found, scrape = once(counter, source=source)

    assert set(found.values()) == {Reply.REFUSED}
    assert "ns: error 258: No such resource" in scrape.details[0]


def test_names_are_escaped_in_addresses() -> None:
    netscaler = a_netscaler()
    netscaler.members["web #1/x?"] = netscaler.members["web"]

    found, _ = once(CONNECTIONS, netscaler=netscaler, source=a_source(service_group="web #1/x?"))

    assert set(found.values()) == {8.0}


def test_half_an_answer_counts_and_a_member_that_is_missing_is_incomplete() -> None:
    netscaler = a_netscaler()
    half = {"servicegroupname": "web", "servicegroupmember": netscaler.members["web"][:1]}

    def instead(path: str) -> web.StreamResponse | None:
        return nitro(207, 1243, "Bulk operation failed", servicegroup=[half]) if "servicegroup" in path else None

    netscaler.instead = instead
    found, scrape = once(CONNECTIONS, netscaler=netscaler)

    assert found == {("a", "curclntconnections"): 8.0, ("b", "curclntconnections"): Reply.INCOMPLETE}
    assert "Bulk operation failed" in scrape.details[1]


def test_an_appliance_that_hangs_is_unreachable_also_where_the_poll_ends_first() -> None:
    async def scene(asking: Asking) -> None:
        asking.netscaler.hold = asyncio.Event()
        scrape = await asking.poll(CONNECTIONS, HITS, end=0.2)
        assert set(answers(scrape).values()) == {Reply.UNREACHABLE}
        assert scrape.details[0] == "no answer yet from ns"

    played(scene)


def test_where_no_program_listens_no_member_is_to_blame() -> None:
    async def scene() -> Scrape:
        netscaler = a_netscaler()
        netscaler.url = "http://127.0.0.1:9"
        asking = Asking(netscaler)
        try:
            return await asking.poll(CONNECTIONS)
        finally:
            await asking.close()

    assert set(answers(asyncio.run(scene())).values()) == {Reply.UNREACHABLE}


def test_an_uptime_begins_when_the_appliance_is_first_seen_and_anew_when_it_restarts() -> None:
    async def scene(asking: Asking) -> None:
        uptimes = [float((await asking.poll(REQUESTS, after=30.0)).uptime[0]) for _ in range(3)]
        asking.netscaler.started = "Mon May  8 16:02:11 2017"
        uptimes += [float((await asking.poll(REQUESTS, after=30.0)).uptime[0]) for _ in range(2)]
        assert uptimes == [0.0, 30.0, 60.0, 0.0, 30.0]

    played(scene)


def test_an_appliance_is_asked_for_its_start_only_where_a_counter_rises() -> None:
    netscaler = a_netscaler()

    _, scrape = once(CONNECTIONS, netscaler=netscaler)

    assert netscaler.paths("stat/system") == []
    assert str(scrape.uptime[0]) == "nan"


@pytest.mark.parametrize("answer", [lambda: nitro(403, 2138, "Not authorized"), lambda: web.Response(text="?")])
def test_a_user_that_may_not_know_the_start_has_the_counters_all_the_same(answer: Callable[[], web.Response]) -> None:
    netscaler = a_netscaler()
    netscaler.instead = lambda path: answer() if "system" in path else None

    found, scrape = once(REQUESTS, netscaler=netscaler)

    assert set(found.values()) == {1000.0}
    assert str(scrape.uptime[0]) == "nan"


def test_ten_thousand_members_are_read_in_one_answer() -> None:
    names = {f"m{place}": f"10.{place // 65536}.{place // 256 % 256}.{place % 256}" for place in range(10_000)}
    netscaler = FakeNetscaler(members={"web": [a_group_member(address, address) for address in names.values()]})

    async def scene(asking: Asking) -> None:
        catalogue = asking.catalogue([CONNECTIONS], a_source())
        scrape = await asking._poller.poll(catalogue, rosters(names), timeout=PATIENT)
        assert set(answers(scrape).values()) == {8.0}

    played(scene, netscaler)


def test_an_appliance_that_is_declared_no_more_is_logged_out_of() -> None:
    async def scene(asking: Asking) -> None:
        await asking.poll(CONNECTIONS)
        assert len(asking.netscaler.sessions) == 1
        await asking._poller.poll(a_catalogue([CONNECTIONS]), rosters(MEMBERS), timeout=PATIENT)
        assert asking.netscaler.sessions == set()

    played(scene)


def test_rounds_share_one_session() -> None:
    async def scene(asking: Asking) -> None:
        for _ in range(3):
            assert set(answers(await asking.poll(CONNECTIONS, HITS, after=30.0)).values()) == {8.0, 5000.0}
        assert asking.netscaler.logins == 1

    played(scene)


def test_counters_of_another_kind_are_left_alone_and_not_asked_for() -> None:
    netscaler = a_netscaler()

    found, _ = once(
        Counter(id=CounterId("x"), source=NetscalerField(field="x", server=SourceId("y"))), netscaler=netscaler
    )

    assert set(found.values()) == {Reply.TIMEOUT}
    assert netscaler.asked == []
