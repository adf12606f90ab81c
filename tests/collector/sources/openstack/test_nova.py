"""The Nova source against an OpenStack of our own, which openstacksdk meets too."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from collector.samples import Reply
from config.model.catalogue import OpenstackCloud
from config.model.counters import Counter, CounterKind, NovaField
from config.model.reductions import Reduce
from config.units import CounterId
from tests.support.collector import Answers, answers
from tests.support.openstack import an_openstack
from tests.support.openstack_measures_wire import FAKE, MeasuringNova
from tests.support.openstack_nova_wire import Things
from tests.support.openstack_watching import A, B, Watch, poll, replies
from tests.support.openstack_wire import OpenstackWire, error
from tests.support.waiting import PATIENT
from tests.support.wire_server import UNREACHED, Fault, answered

LOOK, LIST, TOKEN = "GET /servers/{id}/diagnostics", "GET /servers/detail", "POST /auth/tokens"


@pytest.fixture
def nova() -> MeasuringNova:
    return MeasuringNova(Things(), clock=time.time)


@pytest.fixture
def wire(nova: MeasuringNova) -> OpenstackWire:
    return OpenstackWire(services=(nova,))


@pytest.fixture
def cloud(wire: OpenstackWire) -> Iterator[OpenstackCloud]:
    with wire.serving() as auth_url:
        yield an_openstack(auth_url)


def a_field(name: str, kind: CounterKind = CounterKind.GAUGE, rows: Reduce | None = None) -> Counter:
    return Counter(id=CounterId(name), source=NovaField(name=name), kind=kind, rows=rows)


USED = a_field("memory_details.used")
RECEIVED = a_field("nic_details.rx_octets", CounterKind.RISING, Reduce.SUM)


def test_members_answer_with_what_their_hypervisors_say(
    wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud
) -> None:
    nova.member(A)
    nova.member(B)
    nova.diagnostics[B] = {**FAKE, "memory_details": {"maximum": 512, "used": 256}, "nic_details": []}

    scrape = poll(cloud, USED, a_field("nic_details.rx_octets"))

    expected: Answers = {
        (A, "memory_details.used"): 0.0,
        (B, "memory_details.used"): 256.0,
        (A, "nic_details.rx_octets"): 2070139.0,
        (B, "nic_details.rx_octets"): Reply.NO_SUCH_COUNTER,
    }
    assert answers(scrape) == expected
    assert (wire.count(TOKEN), wire.count(LIST), wire.count(LOOK)) == (1, 1, 2)


def test_servers_are_listed_again_only_for_a_new_member(
    wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud
) -> None:
    nova.member(A)

    Watch(cloud).polls(USED, members=(A,), times=3)
    assert (wire.count(TOKEN), wire.count(LIST), wire.count(LOOK)) == (1, 1, 3)

    Watch(cloud).polls(USED, members=(A, B), times=2)
    assert wire.count(LIST) == 3


def test_a_server_that_is_there_no_more_is_looked_for_again(
    wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud
) -> None:
    nova.member(A)

    def rebuild() -> None:
        nova.vms.clear()
        nova.member(A)

    scrapes = Watch(cloud).polls(USED, members=(A,), times=3, between=lambda: wire.count(LOOK) == 1 and rebuild())

    assert [replies(scrape)[A] for scrape in scrapes] == [Reply.OK, Reply.REFUSED, Reply.OK]
    assert wire.count(LIST) == 2


def test_a_member_without_a_running_server_has_no_value(nova: MeasuringNova, cloud: OpenstackCloud) -> None:
    nova.member(A, status="BUILD")
    nova.add(B)  # called like a member, by a person

    assert set(replies(poll(cloud, USED)).values()) == {Reply.REFUSED}


def test_a_server_that_is_switched_off_says_nothing(nova: MeasuringNova, cloud: OpenstackCloud) -> None:
    nova.member(A, status="SHUTOFF")
    nova.diagnostics[A] = {**FAKE, "state": "shutdown"}

    assert replies(poll(cloud, USED, members=(A,))) == {A: Reply.REFUSED}


def test_two_servers_with_the_same_mark_are_ambiguous(nova: MeasuringNova, cloud: OpenstackCloud) -> None:
    nova.member(A)
    nova.member(A)

    assert replies(poll(cloud, USED, members=(A,))) == {A: Reply.AMBIGUOUS}


def test_every_page_of_servers_is_read(wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud) -> None:
    nova.most = 7
    names = tuple(f"web-k3f9ab-{number}" for number in range(1, 21))
    for name in names:
        nova.member(name)

    assert set(replies(poll(cloud, USED, members=names)).values()) == {Reply.OK}
    assert wire.count(LIST) >= 3


def test_at_most_eight_servers_are_asked_about_at_once(
    wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud
) -> None:
    names = tuple(f"web-k3f9ab-{number}" for number in range(1, 41))
    for name in names:
        nova.member(name)
    lock, together, most = threading.Lock(), [0], [0]

    def look(label: str) -> None:
        with lock:
            together[0] += label == LOOK
            most[0] = max(most[0], together[0])
        threading.Event().wait(0.01)
        with lock:
            together[0] -= label == LOOK

    wire.before = look

    assert set(replies(poll(cloud, USED, members=names)).values()) == {Reply.OK}
    assert 2 <= most[0] <= 8


def test_each_round_begins_with_others_than_the_one_before(
    wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud
) -> None:
    names = tuple(f"web-k3f9ab-{number}" for number in range(10, 34))
    for name in names:
        nova.member(name)
    eight = threading.Barrier(8, timeout=PATIENT)  # who are asked about together are answered together
    wire.before = lambda label: eight.wait() if label == LOOK else None

    Watch(cloud).polls(USED, members=names, times=2)

    first, second = nova.looked_at[:8], nova.looked_at[24:32]
    assert len(nova.looked_at) == 48
    assert {*first} & {*second} == set()


def test_a_user_without_the_right_to_look_is_reported_once_for_all(
    wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud
) -> None:
    nova.allows = False
    names = tuple(f"web-k3f9ab-{number}" for number in range(1, 41))
    for name in names:
        nova.member(name)

    scrape = poll(cloud, USED, members=names)

    assert set(replies(scrape).values()) == {Reply.AUTH}
    assert "policy" in scrape.details[0]
    assert wire.count(LOOK) <= 8


def test_a_token_that_is_refused_is_renewed_in_flight(
    wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud
) -> None:
    nova.member(A)
    nova.member(B)

    scrapes = Watch(cloud).polls(USED, times=2, between=wire.expire)

    assert [set(replies(scrape).values()) for scrape in scrapes] == [{Reply.OK}, {Reply.OK}]
    assert wire.count(TOKEN) == 2


@pytest.mark.parametrize("secret", ["wrong", None])
def test_refused_credentials_and_a_missing_secret_are_told_apart_from_silence(
    nova: MeasuringNova, cloud: OpenstackCloud, secret: str | None
) -> None:
    nova.member(A)

    scrape = poll(cloud, USED, members=(A,), secret=secret)

    assert replies(scrape) == {A: Reply.AUTH}
    assert "wrong" not in scrape.details[0]


def test_a_project_without_compute_is_reported(wire: OpenstackWire, cloud: OpenstackCloud) -> None:
    wire.services = ()

    scrape = poll(cloud, USED, members=(A,))

    assert replies(scrape) == {A: Reply.UNREACHABLE}
    assert "no compute service" in scrape.details[0]


@pytest.mark.parametrize(
    ("fault", "reply"),
    [
        pytest.param(UNREACHED, Reply.UNREACHABLE, id="closed"),
        pytest.param(error(500, "Unexpected API Error."), Reply.UNREACHABLE, id="internal"),
        pytest.param(error(503, "busy"), Reply.UNREACHABLE, id="busy"),
        pytest.param(error(429, "slow down"), Reply.RATE_LIMITED, id="limited"),
        pytest.param(error(406, "Version 2.48 is not supported"), Reply.NO_SUCH_COUNTER, id="old"),
        pytest.param(error(501, "not implemented"), Reply.NO_SUCH_COUNTER, id="baremetal"),
        pytest.param(answered(b"<html>"), Reply.MALFORMED, id="page"),
        pytest.param(answered(b"[]"), Reply.MALFORMED, id="list"),
        pytest.param(answered(b"{}"), Reply.MALFORMED, id="nothing"),
        pytest.param(answered(b'{"cpu0_time": 17300000000}'), Reply.MALFORMED, id="before 2.48"),
        pytest.param(answered(b"[" * 100_000), Reply.MALFORMED, id="deep"),
        pytest.param(
            answered(b"", status=302, headers=(("Location", "http://127.0.0.1:1/"),)), Reply.MALFORMED, id="moved"
        ),
    ],
)
def test_every_failure_is_reported_by_its_name_and_without_foreign_words(
    wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud, fault: Fault, reply: Reply
) -> None:
    nova.member(A)
    wire.script(LOOK, *[fault] * 4)

    scrape = poll(cloud, USED, members=(A,))

    assert replies(scrape) == {A: reply}
    assert "html" not in scrape.details[0]


@pytest.mark.parametrize("fault", [UNREACHED, error(500, "no"), answered(b"<html>"), answered(b'{"servers": 7}')])
def test_without_a_listing_no_member_is_known(
    wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud, fault: Fault
) -> None:
    nova.member(A)
    wire.script(LIST, *[fault] * 4)

    assert replies(poll(cloud, USED, members=(A,)))[A] in {Reply.UNREACHABLE, Reply.MALFORMED}


def test_counts_are_added_up_interface_by_interface(nova: MeasuringNova, cloud: OpenstackCloud) -> None:
    nova.member(A)
    nics = [{"mac_address": "a", "rx_octets": 100}, {"mac_address": "b", "rx_octets": 1000}]
    nova.diagnostics[A] = {**FAKE, "nic_details": nics}

    def detach() -> None:
        del nics[1]
        nics[0]["rx_octets"] = 150

    first, second = Watch(cloud).polls(RECEIVED, members=(A,), times=2, between=detach)

    assert second.value[0] - first.value[0] == 50.0
