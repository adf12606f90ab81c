"""Quotas that are read before anything is made: by one group, and by several that share them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.errors import DriverError, Permanent, Transient
from config.model.catalogue import Mode
from config.model.rolling import Allowance, RollBudgets
from config.units import GroupId, MemberName, ProfileId
from handler.convergence.passes import Pass
from handler.convergence.quotas import Quotas
from handler.convergence.traffic import CloudTraffic
from handler.planning.desired import Definition
from handler.planning.rolls import RollState
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Create, Wait
from handler.planning.world import ServerState
from tests.support.quotas import QuotaBed, a_bed, named, stored_of
from tests.support.worlds import WEB, name_of


def waiting(done: Pass) -> int:
    return dict(done.plan.waits).get(Wait.QUOTA, 0)


def settled(bed: QuotaBed, passes: int = 40) -> Pass:
    """Passes until nothing but a quota is waited for."""
    for _ in range(passes):
        done = bed.run()
        if not done.plan.steps and {wait for wait, _ in done.plan.waits} <= {Wait.QUOTA}:
            return done
        bed.clock.advance(done.next_in or 1.0)
    raise AssertionError(f"not settled: {done.plan}")


def test_a_group_makes_what_fits_says_why_no_more_and_grows_when_it_may() -> None:
    bed = a_bed(8, servers=5)

    done = settled(bed)

    assert (len(bed.cloud.created), bed.metered.refused) == (5, 0)
    assert (waiting(done), done.plan.quota, done.next_in) == (3, "servers 5 of 5", 10.0)
    assert done.failures == ()
    assert done.retries == ("no room for 3 more: servers 5 of 5: raise the account's limit, or lower max",)
    assert (done.failed_builds, done.back_off_until, len(bed.known())) == (0, None, 5)

    bed.limit(100)
    bed.clock.advance(10.0)
    bed.settle()
    bed.expect(8)
    assert bed.metered.refused == 0


def test_a_group_that_is_as_it_should_be_reads_no_quota() -> None:
    bed = a_bed(4, servers=9)
    bed.settle()
    before = bed.metered.reads
    for _ in range(5):
        bed.clock.advance(30.0)
        assert bed.run().plan.converged
    bed.desire(2)
    bed.settle()
    assert bed.metered.reads == before


def test_a_quota_is_read_once_for_groups_that_make_the_same() -> None:
    bed = a_bed(3, servers=50)
    bed.join("api", 3)
    own = bed.store.kept[GroupId("api")]
    same = replace(own.definition, profile=bed.definition.profile)
    bed.store.kept[own.id] = replace(own, definition=same)
    bed.went_round(["web", "api"])
    assert (bed.metered.reads, len(bed.metered.machines)) == (1, 6)


def test_two_groups_do_not_spend_the_same_room() -> None:
    bed = a_bed(4, servers=6)
    bed.join("api", 4)
    done = bed.went_round(["web", "api"])
    assert (bed.count("web"), bed.count("api"), bed.metered.refused) == (4, 2, 0)
    assert [waiting(each) for each in done] == [0, 2]


def test_members_of_another_size_share_what_is_scarce() -> None:
    bed = a_bed(3, cores=10)
    bed.metered.sizes = {ProfileId("web"): 2, ProfileId("big"): 4}
    bed.join("big", 3)
    done = bed.went_round(["web", "big"])
    assert (bed.count("web"), bed.count("big"), bed.metered.refused) == (3, 1, 0)
    assert done[1].plan.quota == "cores 6 of 10, and each takes 4"


def test_room_that_leaving_members_free_is_used() -> None:
    bed = a_bed(4, servers=4)
    bed.settle()
    bed.cloud.stop_time = 30.0
    bed.cloud.say(name_of(1), ServerState.ERROR)
    waits: set[Wait] = set()
    for _ in range(60):
        done = bed.run()
        waits |= {wait for wait, _ in done.plan.waits}
        assert not done.messages
        if done.plan.converged:
            break
        bed.clock.advance(done.next_in or 1.0)
    bed.expect(4)
    assert Wait.QUOTA in waits
    assert bed.metered.refused == 0


def test_a_refusal_after_all_is_classified_as_before() -> None:
    bed = a_bed(3, servers=3)
    taken = [MemberName(name) for name in "abc"]

    def use_up(_: MemberName) -> None:
        while taken:
            bed.cloud.add(taken.pop())

    bed.cloud.before_create = use_up
    done = bed.run()
    assert [outcome.result for outcome in done.outcomes] == [StepResult.FAILED]
    assert (done.failed_builds, {wait for wait, _ in done.plan.waits}) == (0, {Wait.RATE_LIMIT})


@pytest.mark.parametrize(
    "error", [Transient("timed out"), Permanent("limits: forbidden")], ids=["transient", "for good"]
)
def test_a_quota_that_cannot_be_read_is_in_no_ones_way_and_reported_once(error: DriverError) -> None:
    bed = a_bed(3, servers=9)
    bed.cloud.faults.always["quotas"] = error
    unread = []
    for size in (3, 4, 5):
        bed.desire(size)
        unread += [bed.run().unread]
        bed.settle()
        bed.clock.advance(60.0)
    bed.expect(5)
    assert unread == [str(error), "", ""]
    bed.cloud.faults.clear()
    for size, wrong in ((6, None), (7, error)):
        bed.clock.advance(60.0)
        bed.desire(size)
        bed.cloud.faults.always.update({} if wrong is None else {"quotas": wrong})
        unread += [bed.run().unread]
        bed.settle()
    assert unread[3:] == ["", str(error)]


def test_a_cloud_that_asked_for_time_is_not_asked_for_its_quota() -> None:
    bed = a_bed(3, servers=9)
    bed.cloud.faults.script("list", Transient("slowly", retry_after=40.0))
    bed.run()
    assert bed.metered.reads == 0
    bed.clock.advance(40.0)
    bed.settle()
    bed.expect(3)


def test_a_look_reads_the_quota_too_and_a_dry_run_says_what_would_wait() -> None:
    bed = a_bed(8, servers=5)
    plan = bed.converger.dry_run(stored_of(bed))
    assert (sum(isinstance(step, Create) for step in plan.steps), dict(plan.waits)) == (5, {Wait.QUOTA: 3})
    advised = replace(
        stored_of(bed), definition=replace(bed.definition, group=replace(bed.definition.group, mode=Mode.ADVISE))
    )
    assert waiting(bed.converger.observe(advised)) == waiting(bed.converger.run(advised)) == 3
    snapshot = bed.converger.snapshot(stored_of(bed))
    assert snapshot.limits.headroom is not None
    assert bed.metered.created == []


def test_a_roll_waits_for_room_for_its_surge_and_goes_on_by_itself() -> None:
    bed = a_bed(3, servers=3)
    bed.settle()
    bed.release(2)
    bed.roll(RollBudgets(surge=Allowance(number=1), unavailable=Allowance(number=0)))
    for _ in range(30):
        done = bed.run()
        bed.clock.advance(done.next_in or 10.0)
    assert (waiting(done), done.plan.quota, done.failed_builds) == (1, "servers 3 of 3", 0)
    assert (bed.metered.refused, len(bed.metered.machines)) == (0, 3)
    bed.limit(4)
    for _ in range(60):
        bed.clock.advance(bed.run().next_in or 10.0)
    roll = stored_of(bed).roll
    assert roll is not None
    assert (roll.state, bed.metered.refused) == (RollState.DONE, 0)


# Which groups share a quota, and until when.


def test_room_is_kept_for_members_that_are_being_made_until_the_cloud_counts_them() -> None:
    bed = a_bed(0, servers=4)
    web, api = named(bed.definition, "web"), named(bed.definition, "api")
    quotas = Quotas(lambda _: bed.orchestrator, CloudTraffic(), bed.clock)

    def left(definition: Definition = api) -> int | None:
        headroom = quotas.left(definition.group.id, quotas.read(definition))
        return None if headroom is None else headroom.members

    quotas.promise(WEB, quotas.read(web), [name_of(1), name_of(2), name_of(3)])
    assert left() == 1
    assert left(web) == 4  # its own to plan with
    with quotas.making(WEB, name_of(1)):
        bed.cloud.add(name_of(1))
        assert left() == 1
    bed.clock.advance(6.0)
    assert left() == 1  # one is counted by the cloud, two are still promised
    quotas.passed(WEB, web.cloud.id, ())
    bed.clock.advance(61.0)
    assert left() == 3  # no pass claimed the others in time


def test_room_is_not_kept_by_passes_that_ask_for_none() -> None:
    bed = a_bed(0, servers=4)
    web, api = named(bed.definition, "web"), named(bed.definition, "api")
    quotas = Quotas(lambda _: bed.orchestrator, CloudTraffic(), bed.clock)
    quotas.promise(WEB, quotas.read(web), [name_of(1)])
    left = []
    for _ in range(4):
        quotas.passed(WEB, web.cloud.id, ())
        bed.clock.advance(25.0)
        headroom = quotas.left(api.group.id, quotas.read(api))
        assert headroom is not None
        left.append(headroom.members)
    assert left == [3, 3, 4, 4]


def test_a_cloud_that_counts_late_is_not_asked_for_what_it_would_refuse() -> None:
    bed = a_bed(4, servers=6)
    bed.metered.late = 7.0
    bed.join("api", 4)
    bed.went_round(["web", "api"])
    for _ in range(8):
        bed.clock.advance(2.0)
        done = bed.went_round(["api", "web"])[0]
        assert (waiting(done), done.plan.quota) == (2, "servers 6 of 6")
    assert (bed.count("web"), bed.count("api"), bed.metered.refused) == (4, 2, 0)


def test_room_is_not_kept_for_ever_for_a_member_that_the_cloud_never_counts() -> None:
    bed = a_bed(0, servers=4)
    web, api = named(bed.definition, "web"), named(bed.definition, "api")
    quotas = Quotas(lambda _: bed.orchestrator, CloudTraffic(), bed.clock)
    quotas.promise(WEB, quotas.read(web), [name_of(1)])
    with quotas.making(WEB, name_of(1)):
        pass  # refused
    left = []
    for _ in range(2):
        bed.clock.advance(6.0)
        headroom = quotas.left(api.group.id, quotas.read(api))
        assert headroom is not None
        left.append(headroom.members)
    assert left == [3, 4]


def test_room_is_kept_once_for_a_creation_that_is_tried_again() -> None:
    bed = a_bed(0, servers=4)
    web, api = named(bed.definition, "web"), named(bed.definition, "api")
    quotas = Quotas(lambda _: bed.orchestrator, CloudTraffic(), bed.clock)
    for _ in range(2):
        quotas.promise(WEB, quotas.read(web), [name_of(1)])
        with quotas.making(WEB, name_of(1)):
            pass  # refused
        found = quotas.left(api.group.id, quotas.read(api))
        assert found is not None
        assert found.members == 3


def test_what_is_counted_of_one_thing_and_not_yet_of_another_is_taken_off_once() -> None:
    bed = a_bed(0, servers=9, cores=9)
    web, api = named(bed.definition, "web"), named(bed.definition, "api")
    quotas = Quotas(lambda _: bed.orchestrator, CloudTraffic(), bed.clock)
    quotas.promise(WEB, quotas.read(web), [name_of(1)])
    with quotas.making(WEB, name_of(1)):
        bed.cloud.add(name_of(1))  # an existing server whose cores the cloud does not count yet
    found = quotas.left(api.group.id, quotas.read(api))
    assert found is not None
    assert found.members == 8


def test_a_call_that_takes_long_is_counted_by_the_cloud_meanwhile() -> None:
    bed = a_bed(0, servers=4)
    web, api = named(bed.definition, "web"), named(bed.definition, "api")
    quotas = Quotas(lambda _: bed.orchestrator, CloudTraffic(), bed.clock)
    quotas.promise(WEB, quotas.read(web), [name_of(1)])
    with quotas.making(WEB, name_of(1)):
        bed.cloud.add(name_of(1))
        bed.clock.advance(11.0)
        found = quotas.left(api.group.id, quotas.read(api))
    assert found is not None
    assert found.members == 3


def test_a_group_that_comes_while_another_makes_its_members_sees_what_is_promised() -> None:
    bed = a_bed(4, servers=6)
    bed.join("api", 4)
    between: list[Pass] = []

    def come(_: MemberName) -> None:
        if not between:
            bed.cloud.before_create = lambda _: None
            between.append(bed.pass_of("api"))

    bed.cloud.before_create = come
    bed.run()
    assert (bed.count("web"), bed.count("api"), waiting(between[0])) == (4, 2, 2)
    assert bed.metered.refused == 0


@given(
    servers=st.integers(0, 12),
    late=st.sampled_from([0.0, 1.0, 9.0]),
    cores=st.none() | st.integers(0, 30),
    sizes=st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4)), min_size=1, max_size=4),
    story=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.2, 4.0, 6.0, 70.0]), st.integers(0, 9)), max_size=25
    ),
)
def test_the_passes_of_all_groups_together_never_ask_for_more_than_fits(
    servers: int, late: float, cores: int | None, sizes: list[tuple[int, int]], story: list[tuple[int, float, int]]
) -> None:
    bed = a_bed(None, servers=servers, cores=cores)
    bed.metered.late = late
    groups = [f"g{number}" for number in range(len(sizes))]
    bed.metered.sizes = {ProfileId(group): takes for group, (_, takes) in zip(groups, sizes, strict=True)}
    for group, (size, _) in zip(groups, sizes, strict=True):
        bed.join(group, size)
    for turn, pause, size in story:
        group = groups[turn % len(groups)]
        stored = bed.store.kept[named(bed.definition, group).group.id]
        bed.store.kept[stored.id] = replace(stored, state=replace(stored.state, desired=size))
        bed.pass_of(group)
        bed.clock.advance(pause)
        assert bed.metered.refused == 0
