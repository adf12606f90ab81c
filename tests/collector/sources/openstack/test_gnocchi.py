"""The Gnocchi source against an OpenStack of our own, whose shapes a real Gnocchi has shown."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from collector.samples import Reply
from config.model.catalogue import OpenstackCloud
from config.model.counters import Counter, CounterKind, GnocchiMetric
from config.units import CounterId
from tests.support.collector import Answers, answers
from tests.support.openstack import an_openstack
from tests.support.openstack_measures_wire import Gnocchi, MeasuringNova
from tests.support.openstack_nova_wire import Things
from tests.support.openstack_watching import A, B, Watch, poll, replies
from tests.support.openstack_wire import OpenstackWire, error
from tests.support.wire_server import UNREACHED, Fault, answered

ASK = "POST /v1/aggregates"


@pytest.fixture
def nova() -> MeasuringNova:
    return MeasuringNova(Things(), clock=time.time)


@pytest.fixture
def gnocchi() -> Gnocchi:
    return Gnocchi()


@pytest.fixture
def wire(nova: MeasuringNova, gnocchi: Gnocchi) -> OpenstackWire:
    return OpenstackWire(services=(nova, gnocchi))


@pytest.fixture
def cloud(wire: OpenstackWire) -> Iterator[OpenstackCloud]:
    with wire.serving() as auth_url:
        yield an_openstack(auth_url)


def a_metric(
    name: str = "memory.usage", *, kind: CounterKind = CounterKind.GAUGE, lag: float = 0.0, **more: object
) -> Counter:
    asked = {"aggregation": "mean", "granularity": 10.0, **more}
    return Counter(id=CounterId(name), source=GnocchiMetric(name=name, **asked), kind=kind, lag=lag)  # type: ignore[arg-type]


def measured(gnocchi: Gnocchi, server: str, *ago_and_value: tuple[float, float], metric: str = "memory.usage") -> None:
    """Periods that ended so many seconds ago."""
    now = time.time()
    values = [(now - ago - gnocchi.granularity, value) for ago, value in ago_and_value]
    gnocchi.kept.setdefault(metric, {})[server] = values


def test_members_answer_with_their_last_period_that_is_over(
    wire: OpenstackWire, nova: MeasuringNova, gnocchi: Gnocchi, cloud: OpenstackCloud
) -> None:
    measured(gnocchi, nova.member(A).id, (25, 100.0), (15, 110.0), (5, 120.0), (-5, 999.0))
    measured(gnocchi, nova.member(B).id, (5, 220.0))

    scrape = poll(cloud, a_metric())

    expected: Answers = {(A, "memory.usage"): 120.0, (B, "memory.usage"): 220.0}
    assert answers(scrape) == expected
    assert wire.count(ASK) == 1


def test_a_value_is_as_old_as_the_end_of_its_period(
    nova: MeasuringNova, gnocchi: Gnocchi, cloud: OpenstackCloud
) -> None:
    measured(gnocchi, nova.member(A).id, (60, 1.0))
    measured(gnocchi, nova.member(B).id, (120, 1.0))

    scrape = poll(cloud, a_metric())

    assert replies(scrape) == {A: Reply.OK, B: Reply.STALE}
    assert 939.0 <= scrape.replied_at[0] <= 941.0


def test_lag_allows_for_what_comes_late(nova: MeasuringNova, gnocchi: Gnocchi, cloud: OpenstackCloud) -> None:
    measured(gnocchi, nova.member(A).id, (120, 1.0))

    assert replies(poll(cloud, a_metric(lag=60.0), members=(A,))) == {A: Reply.OK}


def test_a_period_that_is_read_twice_is_one_sample(
    nova: MeasuringNova, gnocchi: Gnocchi, cloud: OpenstackCloud
) -> None:
    measured(gnocchi, nova.member(A).id, (5, 17e9), metric="cpu")

    first, second = Watch(cloud).polls(a_metric("cpu", kind=CounterKind.RISING), members=(A,), times=2)

    assert first.replied_at[0] == second.replied_at[0]


def test_what_was_not_measured_is_no_zero(nova: MeasuringNova, gnocchi: Gnocchi, cloud: OpenstackCloud) -> None:
    measured(gnocchi, nova.member(A).id)
    measured(gnocchi, nova.member(B).id, (5, 0.0))

    assert answers(poll(cloud, a_metric())) == {(A, "memory.usage"): Reply.STALE, (B, "memory.usage"): 0.0}


@pytest.mark.parametrize(
    "counter",
    [
        pytest.param(a_metric("disk.usage"), id="metric"),
        pytest.param(a_metric(aggregation="95pct"), id="aggregation"),
        pytest.param(a_metric(granularity=7.0), id="granularity"),
    ],
)
def test_what_gnocchi_does_not_keep_is_reported(
    nova: MeasuringNova, gnocchi: Gnocchi, cloud: OpenstackCloud, counter: Counter
) -> None:
    measured(gnocchi, nova.member(A).id, (5, 1.0))

    assert replies(poll(cloud, counter, members=(A,))) == {A: Reply.NO_SUCH_COUNTER}


def test_two_hundred_servers_are_asked_about_at_once(
    wire: OpenstackWire, nova: MeasuringNova, gnocchi: Gnocchi, cloud: OpenstackCloud
) -> None:
    names = tuple(f"web-k3f9ab-{number}" for number in range(1, 251))
    for name in names:
        measured(gnocchi, nova.member(name).id, (5, 1.0))

    assert set(replies(poll(cloud, a_metric(), members=names)).values()) == {Reply.OK}
    assert wire.count(ASK) == 2


def test_a_member_without_a_server_has_no_value(gnocchi: Gnocchi, cloud: OpenstackCloud) -> None:
    measured(gnocchi, "another", (5, 1.0))

    assert set(replies(poll(cloud, a_metric())).values()) == {Reply.REFUSED}


def test_a_cloud_without_gnocchi_is_reported(wire: OpenstackWire, nova: MeasuringNova, cloud: OpenstackCloud) -> None:
    wire.services = (nova,)
    nova.member(A)

    scrape = poll(cloud, a_metric(), members=(A,))

    assert replies(scrape) == {A: Reply.UNREACHABLE}
    assert "no metric service" in scrape.details[0]


@pytest.mark.parametrize(
    ("fault", "reply"),
    [
        pytest.param(UNREACHED, Reply.UNREACHABLE, id="closed"),
        pytest.param(error(500, "no"), Reply.UNREACHABLE, id="internal"),
        pytest.param(error(403, "no"), Reply.AUTH, id="forbidden"),
        pytest.param(error(429, "slow down"), Reply.RATE_LIMITED, id="limited"),
        pytest.param(answered(b"<html>"), Reply.MALFORMED, id="page"),
        pytest.param(answered(b"[]"), Reply.MALFORMED, id="list"),
        pytest.param(answered(b'{"measures": {}}'), Reply.NO_SUCH_COUNTER, id="no-measures"),
    ],
)
def test_every_failure_is_reported_by_its_name_and_without_foreign_words(
    wire: OpenstackWire, nova: MeasuringNova, gnocchi: Gnocchi, cloud: OpenstackCloud, fault: Fault, reply: Reply
) -> None:
    measured(gnocchi, nova.member(A).id, (5, 1.0))
    wire.script(ASK, *[fault] * 4)

    scrape = poll(cloud, a_metric(), members=(A,))

    assert replies(scrape) == {A: reply}
    assert "html" not in scrape.details[0]
