"""The HAProxy source: against a scripted socket for what is rare, against a real HAProxy for what must be true."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from collector.clients.http.client import HttpClient
from collector.samples import Reply, Scrape
from collector.sources.haproxy import origins as haproxy_origins
from collector.sources.haproxy.source import HaproxySource
from collector.sources.poll import Poller
from config.model.balancers import ServerTemplate
from config.model.counters import CounterKind, Per
from tests.support.collector import (
    Answers,
    a_balancer,
    a_catalogue,
    a_column,
    an_object,
    answers,
    no_secret,
    real_clock,
    rosters,
)
from tests.support.haproxy import Haproxy, requests, running_haproxy, two_servers
from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, until

MEMBERS = {"a": "127.0.0.1", "b": "127.0.0.2"}


def an_answer(rows: Mapping[str, str], *, uptime: int = 61, backend: str = "web") -> str:
    """What a socket says: scur, slim (empty), rtime and status of each server, and of the backend as a whole."""
    lines = "".join(f"{backend},{server},{scur},,{scur}0,UP,2,\n" for server, scur in rows.items())
    lines += f"{backend},BACKEND,{len(rows)},200,{len(rows)}0,UP,1,\n"
    return f"Name: HAProxy\nPid: 1\nUptime_sec: {uptime}\n\n# pxname,svname,scur,slim,rtime,status,type,\n{lines}\n"


def a_source(patience: float = PATIENT) -> HaproxySource:
    return HaproxySource(HttpClient(clock=real_clock, read_secret=no_secret), patience=patience)


def a_poller(source: HaproxySource) -> Poller:
    return Poller(clock=real_clock, read_secret=no_secret, sources=[source])


@contextlib.asynccontextmanager
async def sockets(directory: Path, texts: Mapping[str, str | None]) -> AsyncIterator[dict[str, int]]:
    """One runtime socket per text, its whole answer; ``None`` never answers. Yields how often each was asked."""
    asked = dict.fromkeys(texts, 0)
    release = asyncio.Event()

    async def serve(name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        asked[name] += 1
        text = texts[name]
        if text is None:
            await release.wait()
        else:
            writer.write(text.encode())
        writer.close()

    async with contextlib.AsyncExitStack() as opened:
        for name in texts:
            server = await asyncio.start_unix_server(
                lambda reader, writer, name=name: serve(name, reader, writer), directory / name
            )
            await opened.enter_async_context(server)
        yield asked
        release.set()


def scraped(
    directory: Path, texts: Mapping[str, str | None], *fields: str, timeout: float = PATIENT, patience: float = PATIENT
) -> Scrape:
    """Poll members a and b of one group whose balancers are the sockets of that name."""

    async def scene() -> Scrape:
        async with sockets(directory, texts):
            catalogue = a_catalogue(
                [a_column(field) for field in fields],
                balancers=[a_balancer(directory / name, id=name) for name in texts],
            )
            return await a_poller(a_source(patience)).poll(catalogue, rosters(MEMBERS), timeout=timeout)

    return asyncio.run(scene())


def whole(directory: Path, texts: Mapping[str, str | None], *fields: str) -> Answers:
    """Poll the group as a whole."""

    async def scene() -> Scrape:
        async with sockets(directory, texts):
            catalogue = a_catalogue(
                [replace(a_column(field), per=Per.GROUP) for field in fields],
                balancers=[a_balancer(directory / name, id=name) for name in texts],
            )
            return await a_poller(a_source()).poll(catalogue, rosters(MEMBERS), timeout=PATIENT)

    return answers(asyncio.run(scene()))


def read(directory: Path, texts: Mapping[str, str | None], *fields: str) -> Answers:
    return answers(scraped(directory, texts, *fields))


def test_each_member_has_the_cell_of_its_own_server_line(tmp_path: Path) -> None:
    scrape = scraped(tmp_path, {"edge": an_answer({"a": "3", "b": "0"})}, "scur")

    assert answers(scrape) == {("a", "scur"): 3.0, ("b", "scur"): 0.0}
    assert list(scrape.uptime) == [61.0, 61.0]
    assert (scrape.replied_at > 0).all()


@pytest.mark.parametrize(
    ("field", "reply"),
    [
        ("slim", Reply.NO_SUCH_COUNTER),
        ("scurr", Reply.NO_SUCH_COUNTER),
        ("status", Reply.MALFORMED),
    ],
    ids=["an empty cell", "an unknown column", "text"],
)
def test_a_cell_without_a_number_says_why(tmp_path: Path, field: str, reply: Reply) -> None:
    found = read(tmp_path, {"edge": an_answer({"a": "3", "b": "0"})}, field, "scur")

    assert found["a", field] is reply
    assert found["a", "scur"] == 3.0


def test_a_member_that_is_registered_nowhere_is_refused(tmp_path: Path) -> None:
    found = read(tmp_path, {"edge": an_answer({"a": "3"})}, "scur")

    assert found == {("a", "scur"): 3.0, ("b", "scur"): Reply.REFUSED}


def test_the_server_of_that_name_in_another_backend_is_another(tmp_path: Path) -> None:
    found = read(tmp_path, {"edge": an_answer({"a": "3"}, backend="api")}, "scur")

    assert found["a", "scur"] is Reply.REFUSED


def test_a_member_on_several_balancers_is_the_sum_of_those_that_register_it(tmp_path: Path) -> None:
    texts = {"edge": an_answer({"a": "3", "b": "5"}), "inner": an_answer({"a": "4"}, uptime=7)}

    scrape = scraped(tmp_path, texts, "scur")

    assert answers(scrape) == {("a", "scur"): 7.0, ("b", "scur"): 5.0}
    assert list(scrape.uptime) == [7.0, 61.0]


def test_half_of_a_sum_is_no_answer(tmp_path: Path) -> None:
    texts = {"edge": an_answer({"a": "3", "b": "5"}), "inner": "Permission denied\n"}

    assert read(tmp_path, texts, "scur")["a", "scur"] is Reply.MALFORMED


def test_times_of_several_balancers_are_the_worst_and_never_a_sum(tmp_path: Path) -> None:
    texts = {"edge": an_answer({"a": "3"}), "inner": an_answer({"a": "4"})}

    assert read(tmp_path, texts, "rtime")["a", "rtime"] == 40.0


def test_the_group_as_a_whole_is_the_lines_of_its_backends(tmp_path: Path) -> None:
    texts = {"edge": an_answer({"a": "3", "b": "5"}), "inner": an_answer({"a": "4"})}

    assert whole(tmp_path, texts, "scur", "rtime") == {("", "scur"): 3.0, ("", "rtime"): 20.0}


def test_a_group_is_no_sum_while_one_of_its_backends_is_missing(tmp_path: Path) -> None:
    texts = {"edge": an_answer({"a": "3", "b": "5"}), "inner": an_answer({"a": "4"}, backend="api")}

    assert whole(tmp_path, texts, "scur") == {("", "scur"): Reply.REFUSED}


def test_a_group_behind_no_haproxy_is_refused(tmp_path: Path) -> None:
    assert whole(tmp_path, {}, "scur") == {("", "scur"): Reply.REFUSED}


@pytest.mark.parametrize(
    ("texts", "detail"),
    [
        ({"edge": an_answer({"a": "3"})}, "no server web/b"),
        ({"edge": "Permission denied\n"}, "edge: the answer begins with 'Permission denied'"),
        ({"edge": an_answer({"b": "3"})[:-20]}, "edge: the answer was cut short"),
        ({"edge": an_answer({"b": "up"})}, "scur of server web/b is not a number"),
    ],
    ids=["not registered", "foreign", "cut short", "text"],
)
def test_a_failure_says_what_was_found(tmp_path: Path, texts: Mapping[str, str], detail: str) -> None:
    assert detail in scraped(tmp_path, texts, "scur").details[1]


def test_a_socket_that_is_missing_is_unreachable(tmp_path: Path) -> None:
    catalogue = a_catalogue([a_column("scur")], balancers=[a_balancer(tmp_path / "none")])

    scrape = asyncio.run(a_poller(a_source()).poll(catalogue, rosters(MEMBERS), timeout=PATIENT))

    assert set(answers(scrape).values()) == {Reply.UNREACHABLE}


@pytest.mark.parametrize(("timeout", "patience"), [(5.0, 0.1), (0.1, 5.0)], ids=["its own limit", "the poll's"])
def test_a_socket_that_does_not_answer_in_time_is_unreachable(tmp_path: Path, timeout: float, patience: float) -> None:
    scrape = scraped(tmp_path, {"edge": None}, "scur", timeout=timeout, patience=patience)

    assert set(answers(scrape).values()) == {Reply.UNREACHABLE}


def test_a_socket_that_hangs_holds_no_other_group_back(tmp_path: Path) -> None:
    async def scene() -> Answers:
        async with sockets(tmp_path, {"edge": an_answer({"a": "3"}), "dead": None}):
            catalogue = a_catalogue(
                [a_column("scur")],
                groups=["api", "web"],
                balancers=[a_balancer(tmp_path / name, id=name) for name in ("dead", "edge")],
                uses={"api": ["dead"], "web": ["edge"]},
            )
            both = {**rosters({"x": "127.0.0.1"}, group="api"), **rosters({"a": "127.0.0.1"}, group="web")}
            return answers(await a_poller(a_source(60.0)).poll(catalogue, both, timeout=0.2))

    assert asyncio.run(scene()) == {("x", "scur"): Reply.UNREACHABLE, ("a", "scur"): 3.0}


def test_a_socket_is_asked_once_for_all_groups(tmp_path: Path) -> None:
    async def scene() -> dict[str, int]:
        async with sockets(tmp_path, {"edge": an_answer({"a": "3"})}) as asked:
            catalogue = a_catalogue(
                [a_column("scur"), a_column("slim")], groups=["api", "web"], balancers=[a_balancer(tmp_path / "edge")]
            )
            both = {**rosters(MEMBERS, group="api"), **rosters(MEMBERS, group="web")}
            await a_poller(a_source()).poll(catalogue, both, timeout=PATIENT)
            return asked

    assert asyncio.run(scene()) == {"edge": 1}


def test_an_endless_answer_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(haproxy_origins, "_LARGEST", 100)

    found = read(tmp_path, {"edge": an_answer({"a": "3", "b": "5"}) * 10}, "scur")

    assert set(found.values()) == {Reply.UNREACHABLE}


def test_ten_thousand_servers_are_read_without_holding_the_loop(tmp_path: Path) -> None:
    members = {f"m{place}": "127.0.0.1" for place in range(10_000)}
    text = an_answer(dict.fromkeys(members, "3"))

    async def scene() -> Answers:
        async with sockets(tmp_path, {"edge": text}):
            catalogue = a_catalogue([a_column("scur")], balancers=[a_balancer(tmp_path / "edge")])
            return answers(await a_poller(a_source()).poll(catalogue, rosters(members), timeout=PATIENT))

    assert set(asyncio.run(scene()).values()) == {3.0}


def test_counters_of_another_kind_are_left_alone_and_not_asked_for(tmp_path: Path) -> None:
    async def scene() -> tuple[Answers, dict[str, int]]:
        async with sockets(tmp_path, {"edge": an_answer({"a": "3"})}) as asked:
            catalogue = a_catalogue([an_object("1.1")], balancers=[a_balancer(tmp_path / "edge")])
            scrape = await a_poller(a_source()).poll(catalogue, rosters({"a": "127.0.0.1"}), timeout=PATIENT)
            return answers(scrape), asked

    assert asyncio.run(scene()) == ({("a", "1.1"): Reply.TIMEOUT}, {"edge": 0})


# Against a real HAProxy.


@pytest.fixture
def balanced(tmp_path: Path) -> Iterator[Haproxy]:
    """A real HAProxy in front of two real servers, a and b."""
    with two_servers() as ports, running_haproxy(tmp_path, {"web": ports}) as running:
        yield running


def measured(running: Haproxy, *fields: str) -> Scrape:
    catalogue = a_catalogue(
        [a_column(field, kind=CounterKind.RISING) for field in fields], balancers=[a_balancer(running.socket)]
    )
    return asyncio.run(a_poller(a_source()).poll(catalogue, rosters(MEMBERS), timeout=PATIENT))


@pytest.mark.real("haproxy")
def test_rising_columns_rise_with_real_requests(balanced: Haproxy) -> None:
    requests(balanced, 4)
    first = answers(measured(balanced, "stot", "bout", "hrsp_5xx", "scur"))
    requests(balanced, 6)
    second = answers(measured(balanced, "stot", "bout", "hrsp_5xx", "scur"))

    assert [first[name, "stot"] for name in "ab"] == [2.0, 2.0]
    assert [second[name, "stot"] for name in "ab"] == [5.0, 5.0]
    assert second["a", "bout"] > first["a", "bout"] > 0
    assert second["a", "hrsp_5xx"] == second["a", "scur"] == 0.0


@pytest.mark.real("haproxy")
@pytest.mark.parametrize("again", [Haproxy.reload, Haproxy.restart], ids=["reload", "restart"])
def test_a_new_process_counts_from_nothing_and_its_uptime_says_so(
    balanced: Haproxy, again: Callable[[Haproxy], None]
) -> None:
    requests(balanced, 4)
    until(lambda: bool(np.all(measured(balanced, "stot").uptime >= 1)))  # it tells whole seconds
    before = measured(balanced, "stot")

    again(balanced)
    after = measured(balanced, "stot")

    assert list(after.value) == [0.0, 0.0]
    assert after.uptime.max() < before.uptime.min()


@pytest.mark.real("haproxy")
def test_a_member_that_a_reload_forgot_is_refused_until_it_is_registered_again(balanced: Haproxy) -> None:
    members = rosters({"c": "127.0.0.3"})
    catalogue = a_catalogue([a_column("scur")], balancers=[a_balancer(balanced.socket)])

    def polled() -> Answers:
        return answers(asyncio.run(a_poller(a_source()).poll(catalogue, members, timeout=PATIENT)))

    balanced.ask("add server web/c 127.0.0.3:9")
    registered = polled()
    balanced.reload()

    assert registered == {("c", "scur"): 0.0}
    assert polled() == {("c", "scur"): Reply.REFUSED}


@pytest.mark.real("haproxy")
def test_a_member_in_a_server_of_a_template_is_known_by_its_address_and_port(tmp_path: Path) -> None:
    with two_servers() as ports, running_haproxy(tmp_path, slots=3) as running:
        running.ask(f"set server web/slot2 addr 127.0.0.1 port {ports['a']}; set server web/slot2 state ready")
        requests(running, 3)
        template = ServerTemplate(prefix="slot", map=str(running.map))
        edge = replace(a_balancer(running.socket), template=template)
        catalogue = a_catalogue([a_column("stot", kind=CounterKind.RISING)], balancers=[edge])
        (group,) = catalogue.groups.values()
        use = replace(group.balancers[0], port=ports["a"])
        catalogue = replace(catalogue, groups={group.id: replace(group, balancers=(use,))})
        scrape = asyncio.run(a_poller(a_source()).poll(catalogue, rosters(MEMBERS), timeout=PATIENT))

    assert answers(scrape) == {("a", "stot"): 3.0, ("b", "stot"): Reply.REFUSED}


@pytest.mark.real("haproxy")
def test_a_socket_on_tcp_that_may_only_be_read_is_enough(tmp_path: Path) -> None:
    where = f"127.0.0.1:{free_tcp_port()}"
    with running_haproxy(tmp_path, {"web": {"a": 9}}, more=f"stats socket {where} level user"):
        catalogue = a_catalogue([a_column("scur")], balancers=[a_balancer(where)])
        scrape = asyncio.run(a_poller(a_source()).poll(catalogue, rosters({"a": "127.0.0.1"}), timeout=PATIENT))

    assert answers(scrape) == {("a", "scur"): 0.0}
