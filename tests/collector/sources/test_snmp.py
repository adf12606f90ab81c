"""The SNMP source against a real snmpd; what must not answer is a bare UDP socket of ours."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from collector.samples import Reply, Scrape
from collector.sources.poll import Poller
from collector.sources.snmp import SnmpSource
from config.model.access import SecretRef, SnmpAccess, SnmpLibrary, SnmpVersion
from config.model.catalogue import Catalogue
from config.model.counters import Counter, CounterKind
from config.model.reductions import Reduce
from config.units import Moment
from tests.support.collector import (
    Answers,
    a_catalogue,
    a_column,
    a_moment,
    a_poller,
    an_object,
    answers,
    no_secret,
    real_clock,
    rosters,
)
from tests.support.ports import free_udp_port
from tests.support.snmp import a_column as a_table_column
from tests.support.snmp import scripted
from tests.support.snmp_relay import relayed
from tests.support.snmpd import Snmpd, running_snmpd
from tests.support.waiting import PATIENT, scaled, until

pytestmark = pytest.mark.real("snmpd")

FORTY_TWO = "1.3.6.1.4.1.8072.9999.1.0"
RISING = "1.3.6.1.4.1.8072.9999.2.0"
TEXT = "1.3.6.1.4.1.8072.9999.3.0"
WORD = "1.3.6.1.4.1.8072.9999.4.0"
MISSING = "1.3.6.1.4.1.8072.9999.99.0"
COLUMN = "1.3.6.1.4.1.8072.9999.5.1"
EMPTY = "1.3.6.1.4.1.8072.9999.6.1"
UPTIME = "1.3.6.1.2.1.1.3.0"
LOAD_AS_FLOAT = "1.3.6.1.4.1.2021.10.1.6.1"
OBJECT_ID = "1.3.6.1.2.1.1.2.0"
MANY = [f"127.0.0.{last}" for last in range(1, 51)]


@pytest.fixture(scope="module")
def snmpd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snmpd]:
    """One agent for all tests of this file, on fifty addresses."""
    lines = [
        f"override {FORTY_TWO} integer 42",
        f"override {RISING} counter 4294967295",
        f"override {TEXT} octet_str 0.42",
        f"override {WORD} octet_str idle",
        *(f"override {COLUMN}.{row} integer {value}" for row, value in ((2, 10), (1, 5), (10, 45))),
    ]
    with running_snmpd(tmp_path_factory.mktemp("snmpd"), addresses=MANY, community="s3cret", lines=lines) as agent:
        yield agent


SPOKEN = pytest.mark.parametrize(
    ("version", "engine"),
    [(version, engine) for engine in SnmpLibrary for version in (SnmpVersion.V1, SnmpVersion.V2C)],
    ids=lambda word: word.value,
)


def access(
    agent: Snmpd,
    *,
    port: int | None = None,
    community: str = "COMMUNITY",
    version: SnmpVersion = SnmpVersion.V2C,
    engine: SnmpLibrary = SnmpLibrary.GUFO,
) -> SnmpAccess:
    return SnmpAccess(port=port or agent.port, community=SecretRef(env=community), version=version, engine=engine)


def a_source(*, patience: Sequence[float] = (20.0, PATIENT)) -> SnmpSource:
    return SnmpSource(patience=patience)


def poller(source: SnmpSource) -> Poller:
    return a_poller(source, secrets={"COMMUNITY": "s3cret", "WRONG": "guess"})


async def polled(catalogue: Catalogue, members: dict[str, str], *, source: SnmpSource | None = None) -> Scrape:
    polling = poller(source or a_source())
    try:
        return await polling.poll(catalogue, rosters(members), timeout=PATIENT)
    finally:
        await polling.close()


def asked(agent: Snmpd, counters: Sequence[Counter], members: dict[str, str] | None = None) -> Answers:
    catalogue = a_catalogue(counters, snmp=access(agent))
    return answers(asyncio.run(polled(catalogue, members or {"a": agent.address})))


@contextlib.contextmanager
def silent_agents(addresses: Sequence[str], port: int = 0) -> Iterator[int]:
    """UDP sockets that take everything and answer nothing; all on the port of the first."""
    with contextlib.ExitStack() as opened:
        for address in addresses:
            agent = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            agent.bind((address, port))
            port = agent.getsockname()[1]
        yield port


@SPOKEN
def test_values_of_every_type_are_read_and_a_missing_object_spoils_none_of_them(
    snmpd: Snmpd, version: SnmpVersion, engine: SnmpLibrary
) -> None:
    oids = [FORTY_TWO, RISING, TEXT, WORD, MISSING, LOAD_AS_FLOAT, OBJECT_ID]
    catalogue = a_catalogue([an_object(oid) for oid in oids], snmp=access(snmpd, version=version, engine=engine))

    found = answers(asyncio.run(polled(catalogue, {"a": snmpd.address})))

    assert found["a", FORTY_TWO] == 42.0
    assert found["a", RISING] == 2.0**32 - 1
    assert found["a", TEXT] == 0.42
    assert found["a", WORD] is Reply.MALFORMED
    assert found["a", MISSING] is Reply.NO_SUCH_COUNTER
    assert 0.0 <= found["a", LOAD_AS_FLOAT] < 1000.0
    assert not isinstance(found["a", LOAD_AS_FLOAT], Reply)
    assert found["a", OBJECT_ID] is Reply.MALFORMED


def test_a_rising_counter_comes_with_the_uptime_of_its_agent(snmpd: Snmpd) -> None:
    counters = [an_object(FORTY_TWO), an_object(RISING, kind=CounterKind.RISING), an_object(TEXT), an_object(UPTIME)]

    scrape = asyncio.run(polled(a_catalogue(counters, snmp=access(snmpd)), {"a": snmpd.address}))

    ticks = answers(scrape)["a", UPTIME]
    assert scrape.uptime == pytest.approx(float(ticks) / 100)
    assert 0.0 <= ticks < 100 * 600


def test_without_a_rising_counter_the_uptime_is_not_asked(snmpd: Snmpd) -> None:
    scrape = asyncio.run(polled(a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd)), {"a": snmpd.address}))

    assert np.isnan(scrape.uptime).all()


def test_a_restart_of_the_agent_shows_in_its_uptime(tmp_path: Path) -> None:
    counters = [an_object("1.3.6.1.2.1.11.1.0", kind=CounterKind.RISING)]
    port = free_udp_port()

    def uptime() -> float:
        scrape = asyncio.run(polled(a_catalogue(counters, snmp=SnmpAccess(port=port)), {"a": "127.0.0.1"}))
        return float(scrape.uptime[0])

    with running_snmpd(tmp_path, port=port):
        until(lambda: uptime() >= 0.5)
    with running_snmpd(tmp_path, port=port):
        assert uptime() < 0.5


def test_a_wrong_community_is_silence(snmpd: Snmpd) -> None:
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd, community="WRONG"))

    scrape = asyncio.run(polled(catalogue, {"a": snmpd.address}, source=a_source(patience=[0.2])))

    assert answers(scrape) == {("a", FORTY_TWO): Reply.TIMEOUT}


def test_a_community_that_cannot_be_read_fails_its_own_group_only(snmpd: Snmpd) -> None:
    snmp = {"api": access(snmpd, community="UNSET"), "web": access(snmpd)}
    catalogue = a_catalogue([an_object(FORTY_TWO)], groups=["api", "web"], snmp=snmp)
    both = {**rosters({"a": snmpd.address}, group="api"), **rosters({"b": snmpd.address}, group="web")}

    async def scene() -> Scrape:
        polling = poller(a_source())
        scrape = await polling.poll(catalogue, both, timeout=PATIENT)
        await polling.close()
        return scrape

    assert answers(asyncio.run(scene())) == {("a", FORTY_TWO): Reply.AUTH, ("b", FORTY_TWO): 42.0}


def test_a_closed_port_is_refused_at_once_and_not_tried_again(snmpd: Snmpd) -> None:
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd, port=free_udp_port()))
    began = real_clock().steady

    scrape = asyncio.run(polled(catalogue, {"a": "127.0.0.1"}, source=a_source(patience=[PATIENT, PATIENT])))

    assert answers(scrape) == {("a", FORTY_TWO): Reply.REFUSED}
    assert real_clock().steady - began < PATIENT


def test_an_agent_whose_address_is_not_known_is_unheard_and_one_that_cannot_be_is_unreachable(snmpd: Snmpd) -> None:
    found = asked(snmpd, [an_object(FORTY_TWO)], {"a": "", "b": "no address", "c": snmpd.address})

    assert found == {
        ("a", FORTY_TWO): Reply.TIMEOUT,
        ("b", FORTY_TWO): Reply.UNREACHABLE,
        ("c", FORTY_TWO): 42.0,
    }


def test_an_answer_that_was_lost_is_asked_for_again(snmpd: Snmpd) -> None:
    async def scene() -> tuple[Answers, int]:
        async with relayed(snmpd, lose=1) as (port, relay):
            catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd, port=port))
            scrape = await polled(catalogue, {"a": "127.0.0.1"}, source=a_source(patience=[0.1, PATIENT]))
            return answers(scrape), relay.requests

    found, requests = asyncio.run(scene())

    assert found == {("a", FORTY_TWO): 42.0}
    assert requests == 2


def test_an_agent_is_asked_for_everything_in_one_request_even_by_several_groups(snmpd: Snmpd) -> None:
    async def scene() -> tuple[Answers, int]:
        async with relayed(snmpd) as (port, relay):
            catalogue = a_catalogue(
                [an_object(FORTY_TWO), an_object(RISING, kind=CounterKind.RISING), an_object(MISSING)],
                groups=["api", "web"],
                snmp=access(snmpd, port=port),
            )
            both = {**rosters({"a": "127.0.0.1"}, group="api"), **rosters({"b": "127.0.0.1"}, group="web")}
            polling = poller(a_source())
            scrape = await polling.poll(catalogue, both, timeout=PATIENT)
            await polling.close()
            return answers(scrape), relay.requests

    found, requests = asyncio.run(scene())

    assert found["a", FORTY_TWO] == found["b", FORTY_TWO] == 42.0
    assert requests == 1


def test_silent_agents_do_not_delay_the_others_even_when_they_fill_the_window(snmpd: Snmpd) -> None:
    silent = [f"127.1.{place // 250}.{place % 250 + 1}" for place in range(300)]
    members = {f"a{place:03}": address for place, address in enumerate(silent)} | {
        f"z{place:03}": address for place, address in enumerate(MANY)
    }
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd))

    patience = scaled(2.0)

    async def scene() -> list[Scrape]:
        polling = poller(a_source(patience=[patience]))
        scrapes = [await polling.poll(catalogue, rosters(members), timeout=PATIENT) for _ in range(2)]
        await polling.close()
        return scrapes

    with silent_agents(silent, port=snmpd.port):
        first, second = asyncio.run(scene())

    for scrape in (first, second):
        live = scrape.reply == Reply.OK
        assert live.sum() == len(MANY)
        assert (scrape.replied_at[live] - scrape.at.steady).max() < patience
        assert set(scrape.reply[~live]) == {Reply.TIMEOUT}


def test_a_poll_that_runs_out_of_time_keeps_what_came_and_leaves_nothing_behind(snmpd: Snmpd) -> None:
    source = a_source(patience=[PATIENT])

    async def scene() -> tuple[Answers, float, int]:
        polling = poller(source)
        began = real_clock().steady
        scrape = await polling.poll(catalogue, rosters({"a": "127.1.0.1", "b": snmpd.address}), timeout=scaled(0.3))
        took = real_clock().steady - began
        assert source.sessions == 2  # also that of the agent which was cut short
        await polling.close()
        return answers(scrape), took, len(asyncio.all_tasks())

    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd))
    before = open_files()
    with silent_agents(["127.1.0.1"], port=snmpd.port):
        found, took, tasks = asyncio.run(scene())

    assert found == {("a", FORTY_TWO): Reply.TIMEOUT, ("b", FORTY_TWO): 42.0}
    assert took < PATIENT
    assert tasks == 1
    assert open_files() <= before


def open_files() -> frozenset[str]:
    """What descriptors lead to: each socket has a number that none had before."""
    gc.collect()  # the traceback of a cancelled task holds its frames, and so the session, in a cycle
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the directory itself
            found.add(str(each.readlink()))
    return frozenset(found)


def test_sessions_are_kept_for_those_that_answer_and_given_back_when_they_leave(snmpd: Snmpd) -> None:
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd), interval=10.0)
    members = {f"m{place}": address for place, address in enumerate(MANY)}
    clock = Clock()

    async def scene() -> list[int]:
        source = a_source()
        polling = Poller(clock=clock, read_secret=lambda _: "s3cret", sources=[source])
        kept = []
        for clock.steady, roster in ((0.0, members), (10.0, {"m0": MANY[0]}), (35.0, {"m0": MANY[0]})):
            await polling.poll(catalogue, rosters(roster), timeout=PATIENT)
            kept.append(source.sessions)
        await polling.close()
        return [*kept, source.sessions]

    assert asyncio.run(scene()) == [50, 50, 1, 0]


def test_sockets_are_given_back_at_once_and_not_when_garbage_is_collected(snmpd: Snmpd) -> None:
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd))
    members = {f"m{place}": address for place, address in enumerate(MANY)}

    async def scene() -> tuple[int, int]:
        source = a_source()
        await poller(source).poll(catalogue, rosters(members), timeout=PATIENT)
        during = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
        await source.close()
        return during, len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    gc.collect()
    gc.disable()
    try:
        during, after = asyncio.run(scene())
    finally:
        gc.enable()

    assert during - after == len(MANY)


def test_with_few_descriptors_every_agent_is_still_heard_and_none_is_kept(snmpd: Snmpd) -> None:
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd))
    members = {f"m{place}": address for place, address in enumerate(MANY)}
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2 * len(MANY) - 2, limits[1]))
    try:
        source = a_source()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)

    async def scene() -> tuple[Scrape, int]:
        scrape = await poller(source).poll(catalogue, rosters(members), timeout=PATIENT)
        kept = source.sessions
        await source.close()
        return scrape, kept

    scrape, kept = asyncio.run(scene())

    assert set(scrape.reply) == {Reply.OK}
    assert kept == 0


def test_two_sources_of_one_process_share_its_descriptors(snmpd: Snmpd, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd))
    members = rosters({f"m{place}": address for place, address in enumerate(MANY)})
    few = 4 * len(MANY)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (few, few))

    async def scene() -> list[int]:
        north, south = a_source(), a_source()
        kept = []
        for source in (north, south, north):
            await poller(source).poll(catalogue, members, timeout=PATIENT)
            kept.append(source.sessions)
        await south.close()
        await poller(north).poll(catalogue, members, timeout=PATIENT)
        kept.append(north.sessions)
        await north.close()
        return kept

    assert asyncio.run(scene()) == [len(MANY), 0, 0, len(MANY)]


class Clock:
    """Stands still until it is told."""

    steady = 0.0

    def __call__(self) -> Moment:
        return a_moment(self.steady)


def test_an_agent_that_comes_back_is_heard_at_the_next_poll(tmp_path: Path) -> None:
    port = free_udp_port()
    catalogue = a_catalogue([an_object(UPTIME)], snmp=SnmpAccess(port=port))

    async def scene() -> list[Reply]:
        polling = Poller(clock=real_clock, read_secret=no_secret, sources=[a_source()])
        replies = []
        for running in (True, False, True):
            with running_snmpd(tmp_path, port=port) if running else contextlib.nullcontext():
                scrape = await polling.poll(catalogue, rosters({"a": "127.0.0.1"}), timeout=PATIENT)
                replies.append(Reply(scrape.reply[0]))
        await polling.close()
        return replies

    assert asyncio.run(scene()) == [Reply.OK, Reply.REFUSED, Reply.OK]


def test_an_answer_that_comes_after_the_poll_is_not_taken_for_the_next_one(snmpd: Snmpd) -> None:
    async def scene() -> list[Answers]:
        async with relayed(snmpd, hold=1) as (port, _):
            polling = poller(a_source(patience=[PATIENT]))
            found = []
            for oid, timeout in ((FORTY_TWO, 0.2), (TEXT, PATIENT)):
                catalogue = a_catalogue([an_object(oid)], snmp=access(snmpd, port=port))
                found.append(answers(await polling.poll(catalogue, rosters({"a": "127.0.0.1"}), timeout=timeout)))
            await polling.close()
            return found

    assert asyncio.run(scene()) == [{("a", FORTY_TWO): Reply.TIMEOUT}, {("a", TEXT): 0.42}]


def test_agents_that_answer_cost_no_task_each(snmpd: Snmpd) -> None:
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd))
    members = {f"m{place}": address for place, address in enumerate(MANY)}
    most = 0

    async def scene() -> Scrape:
        loop = asyncio.get_running_loop()

        def look() -> None:
            nonlocal most
            most = max(most, len(asyncio.all_tasks()))
            nonlocal looking
            looking = loop.call_soon(look)

        looking = loop.call_soon(look)
        scrape = await polled(catalogue, members)
        looking.cancel()
        return scrape

    scrape = asyncio.run(scene())

    assert set(scrape.reply) == {Reply.OK}
    assert most <= 5


def test_an_agent_that_was_cut_short_can_be_asked_by_the_next_poll(snmpd: Snmpd) -> None:
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd))

    async def scene() -> list[Answers]:
        polling = poller(a_source(patience=[30.0]))
        found = []
        for timeout in (0.1, 0.1, PATIENT):
            with contextlib.nullcontext() if timeout == PATIENT else silent_agents(["127.1.0.9"], port=snmpd.port):
                scrape = await polling.poll(catalogue, rosters({"a": "127.1.0.9"}), timeout=timeout)
                found.append(answers(scrape))
        await polling.close()
        return found

    silent = {("a", FORTY_TWO): Reply.TIMEOUT}
    assert asyncio.run(scene()) == [silent, silent, {("a", FORTY_TWO): Reply.REFUSED}]


def test_counters_of_another_kind_are_left_alone(snmpd: Snmpd) -> None:
    assert asked(snmpd, [a_column("scur")]) == {("a", "scur"): Reply.TIMEOUT}


@SPOKEN
def test_columns_are_walked_and_reduced(snmpd: Snmpd, version: SnmpVersion, engine: SnmpLibrary) -> None:
    counters = [a_table_column(COLUMN, how) for how in Reduce] + [a_table_column(EMPTY)]
    catalogue = a_catalogue(counters, snmp=access(snmpd, version=version, engine=engine))

    found = answers(asyncio.run(polled(catalogue, {"a": snmpd.address})))

    expected = {"avg": 20.0, "min": 5.0, "max": 45.0, "sum": 60.0, "last": 45.0, "count": 3.0}
    assert found == {("a", f"{COLUMN} {how}"): value for how, value in expected.items()} | {
        ("a", f"{EMPTY} sum"): Reply.NO_SUCH_COUNTER
    }


@pytest.mark.real("snmpwalk")
def test_interfaces_of_a_real_machine_are_added_up_as_snmpwalk_sees_them(snmpd: Snmpd) -> None:
    interfaces = "1.3.6.1.2.1.2.2.1.1"
    walk = ["snmpwalk", "-v2c", "-c", "s3cret", "-On", "-Oq", f"{snmpd.address}:{snmpd.port}", interfaces]
    lines = subprocess.run(walk, capture_output=True, text=True, check=True, env={"MIBS": "", **os.environ}).stdout

    found = asked(snmpd, [a_table_column(interfaces, Reduce.COUNT), a_table_column(interfaces, Reduce.SUM)])

    indexes = [int(line.split()[1]) for line in lines.splitlines()]
    assert list(found.values()) == [float(len(indexes)), float(sum(indexes))]


def test_failures_say_what_was_asked_and_what_came(snmpd: Snmpd) -> None:
    oids = [WORD, MISSING, OBJECT_ID]

    scrape = asyncio.run(
        polled(a_catalogue([an_object(oid) for oid in oids], snmp=access(snmpd)), {"a": snmpd.address})
    )

    assert sorted(scrape.details.values()) == [
        f"{OBJECT_ID}: an OID or an address where a number is due: 1.3.6.1.4.1.8072.3.2.10",
        f"{WORD}: a string where a number is due: 'idle'",
        f"{MISSING}: the agent has no such object",
    ]


@pytest.mark.parametrize(
    ("member", "community", "words"),
    [
        ("127.0.0.1", "WRONG", "wrong community"),
        ("127.0.0.1", "UNSET", "UNSET"),
        ("no.such.name.invalid", "COMMUNITY", "cannot be resolved"),
    ],
)
def test_failures_of_the_agent_say_what_they_may_be(snmpd: Snmpd, member: str, community: str, words: str) -> None:
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd, community=community))

    scrape = asyncio.run(polled(catalogue, {"a": member}, source=a_source(patience=[0.2])))

    assert words in scrape.details[0]
    assert "guess" not in scrape.details[0]


def test_a_name_is_resolved_and_one_that_takes_long_delays_no_other(
    snmpd: Snmpd, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, released = socket.getaddrinfo, threading.Event()

    def slow(host: str, *others: object, **more: object) -> object:
        if host == "slow.example":
            released.wait(PATIENT)
        return known("127.0.0.1", *others, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    catalogue = a_catalogue([an_object(FORTY_TWO)], snmp=access(snmpd))
    try:
        members = {"a": "slow.example", "b": "quick.example", "c": "127.0.0.2"}
        scrape = asyncio.run(polled(catalogue, members, source=a_source(patience=[scaled(0.5)])))
    finally:
        released.set()

    assert list(answers(scrape).values()) == [Reply.UNREACHABLE, 42.0, 42.0]
    assert (scrape.replied_at[1:] - scrape.at.steady).max() < 0.4
    assert "could not be resolved within" in scrape.details[0]


def test_rounds_side_by_side_ask_an_agent_they_share_one_after_the_other() -> None:
    async def scene() -> tuple[list[Answers], int]:
        async with scripted(lambda ask: [ask.answer([(oid, 7) for oid in ask.oids])], delay=0.05) as (port, agent):
            catalogue = a_catalogue([an_object(FORTY_TWO)], groups=["api", "web"], snmp=SnmpAccess(port=port))
            polling = poller(a_source())
            rounds = [rosters({"a": "127.0.0.1"}, group=group) for group in ("api", "web")]
            scrapes = await asyncio.gather(*(polling.poll(catalogue, each, timeout=PATIENT) for each in rounds))
            await polling.close()
            return [answers(scrape) for scrape in scrapes], agent.most_under_way

    found, at_once = asyncio.run(scene())

    assert found == [{("a", FORTY_TWO): 7.0}] * 2
    assert at_once == 1


def test_the_rate_of_a_rising_column_needs_no_more_than_its_uptime_twice(snmpd: Snmpd) -> None:
    async def scene() -> tuple[Scrape, Scrape, int]:
        async with relayed(snmpd) as (port, relay):
            counter = a_table_column("1.3.6.1.2.1.2.2.1.10", rising=True, bits=32)
            catalogue = a_catalogue([counter], snmp=access(snmpd, port=port))
            polling = poller(a_source())
            first, second = [await polling.poll(catalogue, rosters({"a": "127.0.0.1"}), timeout=PATIENT) for _ in "12"]
            await polling.close()
            return first, second, relay.requests

    first, second, requests = asyncio.run(scene())

    assert list(first.value) == [0.0]
    assert first.uptime[0] < 0.0 < second.uptime[0]
    assert second.reply[0] == Reply.OK
    assert requests == 6


def test_pysnmp_is_not_loaded_unless_it_is_used() -> None:
    script = "import sys, collector.sources.snmp; sys.exit(any(name.startswith('pysnmp') for name in sys.modules))"

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
