"""What a real OpenStack measures of a server is read, or refused for the reason that there is: see make test-real."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from collector.samples import Reply
from config.counters.cloud_measures import NOVA_FIELDS
from config.model.counters import Counter, CounterKind, GnocchiMetric, NovaField
from config.model.reductions import Reduce
from config.units import CounterId, MemberName
from tests.support.openstack_bed import BedStage
from tests.support.openstack_watching import Watch, replies

pytestmark = pytest.mark.bed("openstack")


@pytest.fixture(scope="module")
def stage() -> Iterator[BedStage]:
    stage = BedStage()
    try:
        yield stage
    finally:
        stage.clear()


@pytest.fixture(scope="module")
def member(stage: BedStage) -> MemberName:
    launch = stage.launch()
    stage.driver().create(launch)
    return launch.id.name


def test_nova_tells_every_field_or_that_the_policy_forbids_it_openstack_bed(
    stage: BedStage, member: MemberName
) -> None:
    counters = [
        Counter(
            id=CounterId(name),
            source=NovaField(name=name),
            kind=shape.kind,
            rows=Reduce.SUM if shape.kind is CounterKind.RISING else None,
        )
        for name, shape in NOVA_FIELDS.items()
    ]

    (scrape,) = Watch(stage.cloud, timeout=60.0).polls(*counters, members=(member,))

    assert {Reply(code) for code in scrape.reply} in ({Reply.OK}, {Reply.AUTH})


def test_no_member_is_taken_for_another_openstack_bed(stage: BedStage, member: MemberName) -> None:
    used = Counter(id=CounterId("used"), source=NovaField(name="memory_details.used"))
    foreign_member = f"{member}0"

    (scrape,) = Watch(stage.cloud, timeout=60.0).polls(used, members=(member, foreign_member))

    assert replies(scrape)[foreign_member] is Reply.REFUSED


def test_gnocchi_is_missing_or_has_nothing_of_a_new_server_openstack_bed(stage: BedStage, member: MemberName) -> None:
    memory = GnocchiMetric(name="memory.usage", aggregation="mean", granularity=300.0)

    (scrape,) = Watch(stage.cloud, timeout=60.0).polls(Counter(id=CounterId("used"), source=memory), members=(member,))

    assert replies(scrape)[member] in {Reply.UNREACHABLE, Reply.NO_SUCH_COUNTER, Reply.STALE}
