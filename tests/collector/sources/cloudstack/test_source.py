"""The CloudStack source against a CloudStack of our own, which the library `cs` meets too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import cs
import pytest

from collector.clients.http.client import HttpClient
from collector.samples import Reply, Scrape
from collector.sources.cloudstack.source import CloudstackSource
from collector.sources.poll import Poller
from config.errors import TrimtabError
from config.model.access import SecretRef
from config.model.catalogue import Catalogue, CloudstackCloud
from config.model.counters import CloudstackField, Counter
from config.units import CounterId, Instant, Moment, Monotonic
from tests.support.cloudstack import a_cloudstack
from tests.support.cloudstack_wire import KEY, SECRET, CloudstackWire, error
from tests.support.collector import Answers, a_catalogue, answers, rosters
from tests.support.waiting import PATIENT
from tests.support.wire_server import UNREACHED, Fault, answered

A, B = "web-k3f9ab-1", "web-k3f9ab-2"
METRICS = "listVirtualMachinesMetrics"


@pytest.fixture
def wire() -> CloudstackWire:
    return CloudstackWire()


@pytest.fixture
def cloud(wire: CloudstackWire) -> Iterator[CloudstackCloud]:
    with wire.serving() as endpoint:
        yield a_cloudstack(endpoint)


def a_field(name: str) -> Counter:
    return Counter(id=CounterId(name), source=CloudstackField(name=name))


CPU = a_field("cpuused")


def catalogue(cloud: CloudstackCloud, *counters: Counter, groups: tuple[str, ...] = ("web",)) -> Catalogue:
    made = a_catalogue(counters, groups=groups)
    profiles = {own: replace(profile, cloud=cloud.id) for own, profile in made.profiles.items()}
    return replace(made, clouds={cloud.id: cloud}, profiles=profiles)


class Watch:
    """Polls again and again, on a clock that only moves when it is told to."""

    def __init__(self, cloud: CloudstackCloud, *, secrets: Mapping[str, str] | None = None) -> None:
        self.cloud = cloud
        self.steady = 1000.0
        self.secrets = {"KEY": KEY, "SECRET": SECRET} if secrets is None else secrets

    def polls(
        self, *counters: Counter, members: tuple[str, ...] = (A, B), waits: tuple[float, ...] = ()
    ) -> list[Scrape]:
        def clock() -> Moment:
            return Moment(wall=Instant(time.time()), steady=Monotonic(self.steady))

        def read_secret(ref: SecretRef) -> str:
            if ref.env not in self.secrets:
                raise TrimtabError(f"{ref.env} is not set")
            return self.secrets[ref.env]

        async def all_of_them() -> list[Scrape]:
            http = HttpClient(clock=clock, read_secret=read_secret)
            poller = Poller(clock=clock, read_secret=read_secret, sources=[CloudstackSource(http)], http=http)
            scrapes = []
            try:
                for wait in (0.0, *waits):
                    self.steady += wait
                    asked = catalogue(self.cloud, *counters), rosters(dict.fromkeys(members, "10.0.0.1"))
                    scrapes.append(await poller.poll(*asked, timeout=PATIENT))
            finally:
                await poller.close()
            return scrapes

        return asyncio.run(all_of_them())


def poll(cloud: CloudstackCloud, *counters: Counter, members: tuple[str, ...] = (A, B), **more: Any) -> Scrape:
    return Watch(cloud, **more).polls(*counters, members=members)[0]


def replies(scrape: Scrape) -> Mapping[str, Reply]:
    return {str(series.member): Reply(scrape.reply[row]) for row, series in enumerate(scrape.layout.series)}


def test_members_answer_with_what_cloudstack_has_measured(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    wire.add(A, measured={"cpuused": "31.5%", "networkkbsread": 120})
    wire.add(B, measured={"cpuused": "7%"})

    scrape = poll(cloud, CPU, a_field("networkkbsread"))

    expected: Answers = {
        (A, "cpuused"): 31.5,
        (B, "cpuused"): 7.0,
        (A, "networkkbsread"): 120.0,
        (B, "networkkbsread"): Reply.NO_SUCH_COUNTER,
    }
    assert answers(scrape) == expected
    assert wire.count(METRICS) == 1
    assert [given["accumulate"] for command, given in wire.calls if command == METRICS] == ["false"]


def test_a_member_without_a_running_machine_has_no_value(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    wire.add(A, state="Stopped", measured={"cpuused": "0%"})

    assert set(replies(poll(cloud, CPU)).values()) == {Reply.REFUSED}


def test_every_page_is_read(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    names = tuple(f"web-k3f9ab-{number}" for number in range(1, 251))
    for name in names:
        wire.add(name, measured={"cpuused": "1%"})

    assert set(replies(poll(cloud, CPU, members=names)).values()) == {Reply.OK}
    assert wire.count(METRICS) == 3


def test_pages_are_no_larger_than_cloudstack_gives_them(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    wire.most = 2
    names = tuple(f"web-k3f9ab-{number}" for number in range(1, 6))
    for name in names:
        wire.add(name, measured={"cpuused": "1%"}, project=wire.things["project"][0]["id"])

    scrapes = Watch(replace(cloud, project="fleet")).polls(CPU, members=names, waits=(60.0,))

    assert [set(replies(scrape).values()) for scrape in scrapes] == [{Reply.OK}] * 2
    assert [given["pagesize"] for command, given in wire.calls if command == "listProjects"] == ["100", "2"]
    assert [given["page"] for command, given in wire.calls if command == METRICS] == ["1", "2", "3"] * 2


def test_a_machine_with_a_short_host_name_is_known_by_what_is_shown(
    wire: CloudstackWire, cloud: CloudstackCloud
) -> None:
    wire.add("chec-r6hdqgtwfa", display=A, measured={"cpuused": "1%"})

    assert replies(poll(cloud, CPU, members=(A,))) == {A: Reply.OK}


def test_a_machine_that_is_only_shown_like_a_member_speaks_for_no_other(
    wire: CloudstackWire, cloud: CloudstackCloud
) -> None:
    wire.add(A, measured={"cpuused": "1%"})
    wire.add("by-hand", display=A, measured={"cpuused": "99%"})

    assert answers(poll(cloud, CPU, members=(A,))) == {(A, "cpuused"): 1.0}


def test_two_machines_that_are_the_same_member_are_ambiguous(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    wire.add("one", details={"trimtab": A}, measured={"cpuused": "1%"})
    wire.add("two", details={"trimtab": A}, measured={"cpuused": "1%"})

    assert replies(poll(cloud, CPU, members=(A,))) == {A: Reply.AMBIGUOUS}


def test_tags_have_the_last_word(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    wire.add("by-hand", tags={"trimtab": A}, measured={"cpuused": "5%"})
    wire.add(B, tags={"trimtab-released": ""}, measured={"cpuused": "5%"})

    assert replies(poll(cloud, CPU)) == {A: Reply.OK, B: Reply.REFUSED}


def test_what_stands_still_is_one_measurement_and_then_stale(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    vm = wire.add(A, measured={"cpuused": "5%"})

    first, second, late = Watch(cloud).polls(CPU, members=(A,), waits=(30.0, 90.0))

    assert (first.replied_at[0], second.replied_at[0]) == (1000.0, 1000.0)
    assert replies(late) == {A: Reply.STALE}
    vm.measured["networkkbsread"] = 3
    assert replies(poll(cloud, CPU, members=(A,))) == {A: Reply.OK}


def test_one_field_that_changes_makes_all_fields_new(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    vm = wire.add(A, measured={"cpuused": "5%", "diskioread": 1})

    def measure(command: str) -> None:
        vm.measured["diskioread"] += 1

    wire.before = measure
    scrapes = Watch(cloud).polls(CPU, members=(A,), waits=(60.0, 60.0))

    assert [scrape.replied_at[0] for scrape in scrapes] == [1000.0, 1060.0, 1120.0]


@pytest.mark.parametrize("written", ["name", "id"])
def test_a_project_is_asked_by_its_id_and_nothing_outside_answers(
    wire: CloudstackWire, cloud: CloudstackCloud, written: str
) -> None:
    (project,) = wire.things["project"]
    wire.add(A, project=project["id"], measured={"cpuused": "5%"})
    wire.add(B, measured={"cpuused": "9%"})

    scrapes = Watch(replace(cloud, project=project[written])).polls(CPU, waits=(30.0,))

    assert replies(scrapes[0]) == {A: Reply.OK, B: Reply.REFUSED}
    assert wire.count("listProjects") == (written == "name")


def test_a_project_that_is_not_known_is_reported(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    wire.add(A, measured={"cpuused": "5%"})

    scrape = poll(replace(cloud, project="elsewhere"), CPU, members=(A,))

    assert replies(scrape) == {A: Reply.AUTH}
    assert wire.count(METRICS) == 0


@pytest.mark.parametrize(
    ("version", "reply"),
    [
        ("4.22.0.0", Reply.OK),
        ("4.17.0.0", Reply.OK),
        ("4.16.1.1", Reply.NO_SUCH_COUNTER),
        ("4.9", Reply.NO_SUCH_COUNTER),
    ],
)
def test_what_an_old_cloudstack_adds_up_is_no_answer(
    wire: CloudstackWire, cloud: CloudstackCloud, version: str, reply: Reply
) -> None:
    wire.version = version
    wire.add(A, measured={"cpuused": "5%", "diskkbsread": 900})

    scrapes = Watch(cloud).polls(CPU, a_field("diskkbsread"), members=(A,), waits=(30.0,))

    assert answers(scrapes[0]) == {(A, "cpuused"): 5.0, (A, "diskkbsread"): 900.0 if reply is Reply.OK else reply}
    assert wire.count("listCapabilities") == 1


@pytest.mark.parametrize(
    ("secrets", "kept"),
    [
        pytest.param({"KEY": KEY, "SECRET": "wrong"}, "wrong", id="another"),
        pytest.param({"KEY": "nobody", "SECRET": SECRET}, SECRET, id="key"),
        pytest.param({"KEY": KEY}, KEY, id="none"),
    ],
)
def test_a_refused_key_and_a_missing_secret_are_told_apart_from_silence(
    wire: CloudstackWire, cloud: CloudstackCloud, secrets: dict[str, str], kept: str
) -> None:
    scrape = poll(cloud, CPU, members=(A,), secrets=secrets)

    assert replies(scrape) == {A: Reply.AUTH}
    assert kept not in scrape.details[0]


def test_a_role_without_the_command_is_reported(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    wire.forbidden.add(METRICS)

    scrape = poll(cloud, CPU, members=(A,))

    assert replies(scrape) == {A: Reply.AUTH}
    assert "role" in scrape.details[0]


@pytest.mark.parametrize(
    ("fault", "reply"),
    [
        pytest.param(UNREACHED, Reply.UNREACHABLE, id="closed"),
        pytest.param(error(530, "Internal error"), Reply.UNREACHABLE, id="internal"),
        pytest.param(error(431, "no such page"), Reply.UNREACHABLE, id="parameter"),
        pytest.param(answered(b"<html>", status=200), Reply.MALFORMED, id="page"),
        pytest.param(answered(b"<html>", status=502), Reply.UNREACHABLE, id="proxy"),
        pytest.param(answered(b"<html>", status=429), Reply.RATE_LIMITED, id="limited"),
        pytest.param(answered(b"[]"), Reply.MALFORMED, id="list"),
        pytest.param(answered(b'{"listvirtualmachinesmetricsresponse": []}'), Reply.MALFORMED, id="no envelope"),
        pytest.param(answered(b'{"a": {"virtualmachine": {}}}'), Reply.MALFORMED, id="no listing"),
        pytest.param(answered(b'{"a": {"virtualmachine": [], "count": "x"}}'), Reply.MALFORMED, id="no count"),
        pytest.param(answered(b'{"a": {"virtualmachine": [null, 7, []]}}'), Reply.REFUSED, id="no machines"),
        pytest.param(answered(b"[" * 100_000), Reply.MALFORMED, id="deep"),
    ],
)
def test_every_failure_is_reported_by_its_name_and_without_foreign_words(
    wire: CloudstackWire, cloud: CloudstackCloud, fault: Fault, reply: Reply
) -> None:
    wire.add(A, measured={"cpuused": "1%"})
    wire.script(METRICS, fault, fault)

    scrape = poll(cloud, CPU, members=(A,))

    assert replies(scrape) == {A: reply}
    assert "html" not in scrape.details[0]


def test_a_listing_that_never_ends_is_no_answer(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    wire.script(METRICS, *[answered(b'{"a": {"count": 9000000, "virtualmachine": [{"name": "x"}]}}')] * 1000)

    assert replies(poll(cloud, CPU, members=(A,))) == {A: Reply.INCOMPLETE}


def test_a_listing_that_counts_machines_and_shows_none_is_incomplete(
    wire: CloudstackWire, cloud: CloudstackCloud
) -> None:
    wire.add(A, measured={"cpuused": "1%"})
    wire.script(METRICS, answered(b'{"a": {"count": 1}}'))

    assert replies(poll(cloud, CPU, members=(A,))) == {A: Reply.INCOMPLETE}


def test_the_library_reads_the_same_measurements(wire: CloudstackWire, cloud: CloudstackCloud) -> None:
    wire.add(A, measured={"cpuused": "31.5%"})
    library = cs.CloudStack(endpoint=cloud.endpoint, key=KEY, secret=SECRET)

    listing = library.listVirtualMachinesMetrics(details="stats", accumulate="false", page=1, pagesize=100)

    assert [vm["cpuused"] for vm in listing["virtualmachine"]] == ["31.5%"]
