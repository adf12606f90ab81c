"""Calls during which an earlier daemon ended: what history shows once their result is known."""

from __future__ import annotations

import pytest

from config.errors import Transient
from handler.planning.member_plans import OpenStep, closing
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Member, Phase, ServerState
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import Killed
from tests.support.worlds import NOW, WEB, a_member, a_world, name_of

ONE = name_of(1)
INTENDED, MADE, LEAVING = Phase.INTENDED, Phase.MADE, Phase.LEAVING


def step(call: str) -> OpenStep:
    return OpenStep(line=1, call=call, member=ONE, at=NOW)


@pytest.mark.parametrize(
    ("call", "member", "expected"),
    [
        pytest.param("create", a_member(1, INTENDED), (StepResult.DONE, "found"), id="the machine is there"),
        pytest.param(
            "create", a_member(1, MADE, None), (StepResult.DONE, "found"), id="it was, as another pass wrote down"
        ),
        pytest.param(
            "create", a_member(1, INTENDED, None, disproved=True), (StepResult.RETRY, "disproved"), id="no machine"
        ),
        pytest.param("create", a_member(1, INTENDED, None), None, id="not known yet"),
        pytest.param("create", None, (StepResult.RETRY, "unknown"), id="made or not, its member is no more"),
        pytest.param("destroy", None, (StepResult.DONE, "found"), id="the removed member is forgotten"),
        pytest.param("destroy", a_member(1, LEAVING, None, disproved=True), (StepResult.DONE, "found"), id="removed"),
        pytest.param("destroy", a_member(1, LEAVING, None), None, id="not listed, which proves nothing"),
        pytest.param(
            "destroy", a_member(1, LEAVING, ServerState.RUNNING), (StepResult.RETRY, "unknown"), id="still there"
        ),
        pytest.param("join", a_member(1), (StepResult.RETRY, "unknown"), id="a balancer's call"),
        pytest.param("make_part", a_member(1, INTENDED, None), (StepResult.RETRY, "unknown"), id="a part"),
    ],
)
def test_what_a_look_shows_of_a_call_that_was_left_open(
    call: str, member: Member | None, expected: tuple[StepResult, str] | None
) -> None:
    closed = closing(step(call), a_world(*filter(None, [member])))
    assert (None if closed is None else (closed[0], closed[1].partition(":")[0])) == expected


def test_a_partial_listing_disproves_nothing() -> None:
    world = a_world(a_member(1, INTENDED, None, disproved=True), complete=False)
    assert closing(step("create"), world) is None


def killed_while_creating(at: int) -> Bed:
    """A bed of one member after its daemon was killed at an instant of the first pass, and started again."""
    bed = Bed(size=1)
    bed.instants.kill_at = bed.instants.count + at
    with pytest.raises(Killed):
        bed.run()
    bed.restart()
    return bed


def creations(bed: Bed) -> list[tuple[StepResult | None, str]]:
    steps = bed.store.history(WEB, before=None, limit=99)
    return [(each.result, each.message.partition(":")[0]) for each in reversed(steps) if each.name == "create"]


def test_whenever_it_was_killed_every_line_of_a_creation_ends_with_a_result() -> None:
    messages: set[str] = set()
    for at in range(1, 99):
        try:
            bed = killed_while_creating(at)
        except pytest.fail.Exception:
            break
        bed.settle()
        bed.expect(1)
        lines = creations(bed)
        assert None not in {result for result, _ in lines}
        messages.update(message for _, message in lines)
    assert messages >= {"found", "disproved"}


def test_while_the_cloud_cannot_tell_the_line_stays_open() -> None:
    bed = Bed(size=1)
    record = bed.store.intend(WEB, bed.definition.cloud.id, 1, (), bed.clock())[0]
    bed.store.begin_step(WEB, "create", record.name, bed.clock(), (), bed.definition.cloud.id)
    bed.cloud.faults.always["find"] = Transient("timed out")
    bed.run()
    assert creations(bed) == [(None, "")]
    bed.cloud.faults.clear()
    bed.clock.advance(60)
    bed.settle()
    assert creations(bed)[0] == (StepResult.RETRY, "disproved")


def test_what_this_daemon_began_itself_is_left_to_its_own_answer() -> None:
    bed = grown(1)
    lines = [(each.name, each.result, each.message) for each in bed.store.history(WEB, before=None, limit=99)]
    assert ("create", StepResult.DONE, "") in lines
    assert not any("the daemon ended" in message for *_, message in lines)
