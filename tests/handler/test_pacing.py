"""When to look again: soon after progress, at each wait's own pace, ever later after failures."""

from __future__ import annotations

import pytest

from config.units import Instant
from handler.pacing import Builds, back_off_until, next_in
from handler.steps import Create, Destroy, Enable, Join, NoteAbsence, Outcome, Plan, Result, Step, Wait
from handler.world import Phase
from tests.support.worlds import EDGE, NOW, WEB, a_member, a_world, name_of

ONE = name_of(1)
JOIN, ENABLE = Join(member=ONE, balancer=EDGE), Enable(member=ONE, balancer=EDGE)
CREATE, DESTROY = Create(member=ONE), Destroy(member=ONE)


def told(step: Step, result: Result = Result.DONE, retry_after: float | None = None) -> Outcome:
    return Outcome(
        step=step, member=ONE, result=result, because="", started_at=NOW, finished_at=NOW, retry_after=retry_after
    )


@pytest.mark.parametrize(
    ("waits", "outcomes", "expected"),
    [
        pytest.param([], [], None, id="nothing to wait for"),
        pytest.param([Wait.PROTECTED], [], None, id="only a person ends it"),
        pytest.param([Wait.BUILDING], [], 2.0, id="a wait has its pace"),
        pytest.param([Wait.BUDGET, Wait.DRAINING], [], 1.0, id="the most urgent wait counts"),
        pytest.param([Wait.BUILDING], [told(JOIN)], 0.2, id="soon after progress"),
        pytest.param([Wait.DELETING], [told(DESTROY)], 1.0, id="a machine that was told to go is given time"),
        pytest.param([Wait.UNCONFIRMED], [told(NoteAbsence(member=ONE))], 5.0, id="a note is no progress"),
        pytest.param([], [told(JOIN, Result.FAILED)], 30.0, id="a permanent failure is tried again much later"),
        pytest.param([], [told(JOIN), told(ENABLE, Result.RETRY)], 1.0, id="a failure holds progress back"),
        pytest.param([Wait.BUDGET], [told(ENABLE, Result.RETRY)], 30.0, id="a failure never hastens a wait"),
        pytest.param([], [told(CREATE, Result.RETRY)], 8.0, id="doubling with the attempts written down"),
        pytest.param([], [told(DESTROY, Result.RETRY)], 30.0, id="up to half a minute"),
        pytest.param([], [told(CREATE, Result.RETRY, 77.0)], 77.0, id="what the other side asks for"),
        pytest.param([Wait.BUILD_BACK_OFF], [], 45.0, id="until the back-off ends"),
    ],
)
def test_the_next_pass_comes_when_it_can_matter(waits: list[Wait], outcomes: list[Outcome], expected) -> None:
    world = a_world(a_member(1, Phase.INTENDED, None, create_attempts=3, destroy_attempts=40))
    plan = Plan(group=WEB, revision=1, steps=(), waits=tuple((wait, 1) for wait in waits))
    builds = Builds(failed=4, back_off_until=Instant(NOW + 45.0))
    assert next_in(plan, outcomes, world, builds, NOW) == expected


@pytest.mark.parametrize(
    ("failed", "expected"), [(0, None), (2, None), (3, 30.0), (4, 60.0), (7, 480.0), (8, 900.0), (10_000, 900.0)]
)
def test_creation_is_held_back_twice_as_long_with_every_failed_build(failed: int, expected: float | None) -> None:
    until = back_off_until(failed, NOW)
    assert (None if until is None else until - NOW) == expected


def test_every_wait_has_a_pace() -> None:
    for wait in Wait:
        next_in(
            Plan(group=WEB, revision=1, steps=(), waits=((wait, 1),)),
            [],
            a_world(),
            Builds(failed=0, back_off_until=None),
            NOW,
        )
