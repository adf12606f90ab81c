"""Changes of one balancer that are handed over together, and two groups that share one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from config.errors import DriverError, Permanent, Transient
from config.units import BalancerId, GroupId
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Drain, Wait
from handler.planning.world import RegistrationState
from handler.ports.balancer import MemberMove, RegistrationChange
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import FakeBalancer, Killed
from tests.support.worlds import EDGE, WEB, a_definition, name_of

BACK = BalancerId("back")
ONE, TWO, THREE = name_of(1), name_of(2), name_of(3)


@dataclass
class Slow(FakeBalancer):
    """Takes all changes in one go, and is locked meanwhile."""

    batches: list[list[tuple[str, str]]] = field(default_factory=list)
    refused: dict[str, DriverError] = field(default_factory=dict)
    silent: DriverError | None = None

    def apply(self, changes: Sequence[RegistrationChange]) -> Sequence[DriverError | None]:
        self.batches.append([(change.move.value, change.member) for change in changes])
        answers = [self._made(change) for change in changes]
        if self.silent is not None:
            raise self.silent
        return answers

    def _made(self, change: RegistrationChange) -> DriverError | None:
        if change.member in self.refused:
            return self.refused[change.member]
        match change.move:
            case MemberMove.JOIN:
                assert change.at is not None
                self.join(change.member, *change.at)
            case MemberMove.ENABLE:
                self.enable(change.member)
            case MemberMove.DRAIN:
                self.drain(change.member)
            case MemberMove.LEAVE:
                self.leave(change.member)
        return None


def with_slow(bed: Bed) -> Slow:
    slow = Slow(bed.clock, instants=bed.instants)
    bed.balancers[EDGE] = slow
    return slow


def a_bed(size: int) -> tuple[Bed, Slow]:
    bed = Bed(a_definition(balancers=(EDGE, BACK)), size=size)
    return bed, with_slow(bed)


def test_all_changes_of_a_pass_are_one_batch_and_each_has_its_line() -> None:
    bed, slow = a_bed(3)
    bed.settle()
    bed.expect(3)
    assert slow.batches == [[(move, name) for name in (ONE, TWO, THREE) for move in ("join", "enable")]]
    lines = [(event.name, event.by, event.result) for event in bed.store.events.values() if event.message == EDGE]
    assert lines == [(move, name, StepResult.DONE) for name in (ONE, TWO, THREE) for move in ("join", "enable")]
    assert slow.addresses[ONE] == ("198.18.0.2", 8080)
    bed.desire(0)
    bed.settle()
    bed.expect(0)
    assert [{move for move, _ in batch} for batch in slow.batches[1:]] == [{"drain"}, {"leave"}]


def test_all_changes_are_batches_whatever_the_order_of_the_balancers() -> None:
    bed = Bed(a_definition(balancers=(EDGE, BACK)), size=3)
    slow = {balancer: Slow(bed.clock, instants=bed.instants) for balancer in (BACK, EDGE)}
    bed.balancers.clear()
    bed.balancers.update(slow)
    bed.settle()
    bed.expect(3)
    members = (ONE, TWO, THREE)
    assert slow[BACK].batches == slow[EDGE].batches == [[(move, n) for n in members for move in ("join", "enable")]]
    bed.desire(0)
    bed.settle()
    bed.expect(0)
    assert {balancer: [len(batch) for batch in each.batches] for balancer, each in slow.items()} == {
        BACK: [6, 3, 3],
        EDGE: [6, 3, 3],
    }


def test_a_refused_member_stops_there_and_no_other_does() -> None:
    bed, slow = a_bed(2)
    slow.refused[ONE] = Permanent("not today")
    bed.run()
    done = bed.run()
    assert done.failures == ("join: not today (web-k3f9ab-1)", "enable: not today (web-k3f9ab-1)")
    assert set(bed.balancers[BACK].states) == {TWO}
    slow.refused.clear()
    bed.settle()
    bed.expect(2)


def test_a_batch_without_an_answer_is_read_as_it_is() -> None:
    bed, slow = a_bed(2)
    slow.silent = Transient("timed out")
    bed.run()
    done = bed.run()
    assert {outcome.result for outcome in done.outcomes} == {StepResult.LIMITED}
    assert (set(slow.states), bed.balancers[BACK].states) == ({ONE, TWO}, {})
    slow.silent = None
    bed.settle()
    bed.expect(2)
    assert len(slow.batches) == 1


@pytest.mark.parametrize("act", [lambda bed: bed.desire(4), lambda bed: bed.desire(0)], ids=["grow", "shrink"])
def test_killed_at_any_instant_of_a_batch_it_ends_with_the_same_fleet(act: Callable[[Bed], None]) -> None:
    for instant in range(1, 500):
        bed, _ = a_bed(2)
        bed.settle()
        act(bed)
        bed.instants.count, bed.instants.kill_at = 0, instant
        try:
            bed.settle()
        except Killed:
            bed.restart()
            bed.settle()
            bed.expect(bed.store.kept[WEB].state.desired or 0)
            assert set(bed.cloud.destroyed) <= bed.chosen()
        else:
            assert instant > 20
            return
    raise AssertionError("the scenario never ends")


def test_while_another_group_changes_a_shared_balancer_this_one_does_all_else() -> None:
    bed = grown(1, definition=a_definition(balancers=(EDGE, BACK)))
    bed.desire(0)
    bed.run()
    with bed.converger._leases.taken([BACK], GroupId("api"), bed.clock):
        done = bed.run()
        assert [type(outcome.step) for outcome in done.outcomes] == [Drain]
        assert (bed.edge.states[ONE], bed.balancers[BACK].states[ONE]) == (
            RegistrationState.DRAINING,
            RegistrationState.SERVING,
        )
        assert dict(done.plan.waits)[Wait.BALANCER_BUSY] == 1
        assert len([event for event in bed.store.events.values() if event.name == "drain"]) == 1
    bed.settle()
    bed.expect(0)


def test_a_lease_is_not_held_while_the_world_is_gathered_or_members_are_made() -> None:
    bed = grown(1)
    free: list[bool] = []

    def look(_: object = None) -> None:
        with bed.converger._leases.taken([EDGE], GroupId("api"), bed.clock) as may:
            free.append(may(EDGE))

    bed.cloud.before_create = look
    listed = bed.cloud.list
    bed.cloud.list = lambda group: (look(), listed(group))[1]  # type: ignore[method-assign]
    changed: list[bool] = []
    bed.edge.ordered = lambda call, member, already: (look(), changed.append(free.pop()))[1]
    bed.desire(3)
    bed.settle()
    assert (set(free), set(changed)) == ({True}, {False})


def test_a_pass_that_takes_long_lets_others_have_their_turn() -> None:
    bed = grown(0)
    bed.desire(3)
    bed.run()
    bed.edge.ordered = lambda *_: bed.clock.advance(8.0)
    done = bed.run()
    assert (len(done.outcomes), dict(done.plan.waits)[Wait.BALANCER_BUSY]) == (4, 1)
    bed.settle()
    bed.expect(3)


def test_a_batch_needs_the_lease_too() -> None:
    bed, slow = a_bed(1)
    bed.run()
    with bed.converger._leases.taken([EDGE], GroupId("api"), bed.clock):
        done = bed.run()
    assert (slow.batches, dict(done.plan.waits)) == ([], {Wait.BALANCER_BUSY: 1})
    bed.settle()
    bed.expect(1)
