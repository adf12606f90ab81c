"""The OpenNebula source against an OpenNebula of our own, which pyone meets too."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from collector.clients.http.client import HttpClient
from collector.samples import Reply, Scrape
from collector.sources.opennebula.source import OpennebulaSource
from collector.sources.poll import Poller
from config.errors import TrimtabError
from config.model.access import SecretRef
from config.model.catalogue import Catalogue, OneflowCloud, OpennebulaCloud
from config.model.counters import Counter, CounterKind, OpennebulaAttribute
from config.units import CloudId, CounterId
from tests.support.collector import Answers, a_catalogue, answers, real_clock, rosters
from tests.support.opennebula import an_opennebula
from tests.support.opennebula_wire import PASSWORD, OpennebulaWire, answering, refused
from tests.support.waiting import PATIENT
from tests.support.wire_server import UNREACHED, answered

A, B = "web-k3f9ab-1", "web-k3f9ab-2"


@pytest.fixture
def wire() -> OpennebulaWire:
    return OpennebulaWire()


@pytest.fixture
def cloud(wire: OpennebulaWire) -> Iterator[OpennebulaCloud]:
    with wire.serving() as endpoint:
        yield an_opennebula(endpoint)


def an_attribute(name: str, kind: CounterKind = CounterKind.GAUGE) -> Counter:
    return Counter(id=CounterId(name), source=OpennebulaAttribute(name=name), kind=kind)


def a_member(wire: OpennebulaWire, name: str, *, ago: float = 0.0, **measured: str) -> None:
    wire.member(name, monitoring=measured, polled=int(time.time() - ago))


def catalogue(
    cloud: OpennebulaCloud | OneflowCloud, *counters: Counter, groups: tuple[str, ...] = ("web",)
) -> Catalogue:
    made = a_catalogue(counters, groups=groups)
    profiles = {own: replace(profile, cloud=CloudId("prod")) for own, profile in made.profiles.items()}
    return replace(made, clouds={cloud.id: cloud}, profiles=profiles)


def poll(
    cloud: OpennebulaCloud | OneflowCloud,
    *counters: Counter,
    members: tuple[str, ...] = (A, B),
    secret: str | None = PASSWORD,
    **more: Any,
) -> Scrape:
    def read_secret(ref: SecretRef) -> str:
        if secret is None:
            raise TrimtabError(f"{ref.env} is not set")
        return secret

    async def once() -> Scrape:
        http = HttpClient(clock=real_clock, read_secret=read_secret)
        source = OpennebulaSource(http)
        poller = Poller(clock=real_clock, read_secret=read_secret, sources=[source], http=http)
        try:
            return await poller.poll(
                catalogue(cloud, *counters, **more), rosters(dict.fromkeys(members, "10.0.0.1")), timeout=PATIENT
            )
        finally:
            await poller.close()

    return asyncio.run(once())


def replies(scrape: Scrape) -> Mapping[str, Reply]:
    return {str(series.member): Reply(scrape.reply[row]) for row, series in enumerate(scrape.layout.series)}


def test_members_answer_with_what_hypervisors_and_guests_say(wire: OpennebulaWire, cloud: OpennebulaCloud) -> None:
    a_member(wire, A, CPU="12.5")
    a_member(wire, B, CPU="80")
    wire.vms[7].user_template["ORDERS"] = "3"

    scrape = poll(cloud, an_attribute("CPU"), an_attribute("ORDERS"))

    expected: Answers = {
        (A, "CPU"): 12.5,
        (B, "CPU"): 80.0,
        (A, "ORDERS"): 3.0,
        (B, "ORDERS"): Reply.NO_SUCH_COUNTER,
    }
    assert answers(scrape) == expected
    assert wire.count("vmpool.infoextended") == 1


def test_a_machine_that_was_never_measured_has_no_such_counter(wire: OpennebulaWire, cloud: OpennebulaCloud) -> None:
    wire.member(A)

    assert replies(poll(cloud, an_attribute("CPU"), members=(A,))) == {A: Reply.NO_SUCH_COUNTER}


def test_a_member_without_a_running_machine_has_no_value(wire: OpennebulaWire, cloud: OpennebulaCloud) -> None:
    wire.member(A, state=8, lcm=0, monitoring={"CPU": "0"}, polled=int(time.time()))
    wire.add(B, monitoring={"CPU": "99"})  # called like a member, by a person

    assert set(replies(poll(cloud, an_attribute("CPU"))).values()) == {Reply.REFUSED}


def test_nodes_of_a_role_of_oneflow_answer_under_the_names_that_they_were_ordered_by(
    wire: OpennebulaWire, cloud: OpennebulaCloud
) -> None:
    order = f"{A}:node_0_(service_3)|{B}:node_1_(service_3)"
    for name, more in (("node_0_(service_3)", {}), ("node_1_(service_3)", {"TRIMTAB": "released"})):
        attributes = {"TRIMTAB_ORDER": order, **more}
        wire.add(name, user_template=attributes, monitoring={"CPU": "7"}, polled=int(time.time()))
    flow = OneflowCloud(id=cloud.id, endpoint="http://127.0.0.1:9", nebula=cloud, vm_name="")

    expected: Answers = {(A, "CPU"): 7.0, (B, "CPU"): Reply.REFUSED}
    assert answers(poll(flow, an_attribute("CPU"))) == expected


def test_every_page_is_read(wire: OpennebulaWire, cloud: OpennebulaCloud) -> None:
    names = tuple(f"web-k3f9ab-{number}" for number in range(1, 251))
    for name in names:
        a_member(wire, name, CPU="1")

    scrape = poll(cloud, an_attribute("CPU"), members=names)

    assert set(replies(scrape).values()) == {Reply.OK}
    assert wire.count("vmpool.infoextended") == 3


def test_a_measurement_is_as_old_as_opennebula_says(wire: OpennebulaWire, cloud: OpennebulaCloud) -> None:
    a_member(wire, A, CPU="1", ago=20)
    a_member(wire, B, CPU="1", ago=120)

    scrape = poll(cloud, an_attribute("CPU"))

    assert replies(scrape) == {A: Reply.OK, B: Reply.STALE}
    assert 19.0 <= scrape.at.steady - scrape.replied_at[0] <= 23.0


def test_one_cloud_is_asked_once_for_several_groups_and_counters(wire: OpennebulaWire, cloud: OpennebulaCloud) -> None:
    a_member(wire, A, CPU="1", NETTX="9")

    poll(cloud, an_attribute("CPU"), an_attribute("NETTX", CounterKind.RISING))

    assert (wire.count("vmpool.infoextended"), wire.count("vmpool.monitoring")) == (1, 1)


def test_a_refused_user_and_a_missing_secret_are_told_apart_from_silence(
    wire: OpennebulaWire, cloud: OpennebulaCloud
) -> None:
    a_member(wire, A, CPU="1")
    for secret in ("wrong", None):
        scrape = poll(cloud, an_attribute("CPU"), members=(A,), secret=secret)
        assert replies(scrape) == {A: Reply.AUTH}
        assert "wrong" not in scrape.details[0]


@pytest.mark.parametrize("asked", ["vmpool.infoextended", "vmpool.monitoring"])
@pytest.mark.parametrize(
    ("fault", "reply"),
    [
        pytest.param(UNREACHED, Reply.UNREACHABLE, id="closed"),
        pytest.param(answered(b"", status=503), Reply.UNREACHABLE, id="503"),
        pytest.param(answered(b"", status=404), Reply.UNREACHABLE, id="404"),
        pytest.param(answered(b"", status=429), Reply.RATE_LIMITED, id="429"),
        pytest.param(refused(0x2000, f"no, {PASSWORD}"), Reply.UNREACHABLE, id="an internal error"),
        pytest.param(answering("<VM_POOL><VM>"), Reply.MALFORMED, id="cut off"),
    ],
)
def test_a_cloud_that_does_not_answer_is_no_member_s_silence(
    wire: OpennebulaWire, cloud: OpennebulaCloud, fault: Any, reply: Reply, asked: str
) -> None:
    a_member(wire, A, CPU="1")
    wire.script(asked, fault, fault)

    scrape = poll(cloud, an_attribute("CPU"), members=(A,))

    assert replies(scrape) == {A: reply}
    assert scrape.details[0].startswith("prod: ")
    assert PASSWORD not in scrape.details[0]


def test_those_of_the_first_page_keep_their_values_where_the_second_fails(
    wire: OpennebulaWire, cloud: OpennebulaCloud
) -> None:
    names = tuple(f"web-k3f9ab-{number}" for number in range(1, 151))
    for name in names:
        a_member(wire, name, CPU="1")
    wire.script("vmpool.infoextended", answered(b"", obeyed=True), answered(b"", status=500))

    found = replies(poll(cloud, an_attribute("CPU"), members=names))

    assert sorted(found.values()) == sorted([Reply.OK] * 100 + [Reply.UNREACHABLE] * 50)


def test_groups_on_other_clouds_are_left_alone(wire: OpennebulaWire, cloud: OpennebulaCloud) -> None:
    elsewhere = replace(cloud, id=CloudId("another"))

    assert replies(poll(elsewhere, an_attribute("CPU"), members=(A,))) == {A: Reply.TIMEOUT}
    assert wire.calls == []
