"""When to look again: soon after progress, at each wait's own pace, ever later after failures."""

from __future__ import annotations

import pytest

from config.units import Instant
from handler.planning.pacing import Builds, back_off_until, next_in
from handler.planning.step_outcomes import StepOutcome, StepResult
from handler.planning.steps import Create, Destroy, Enable, Join, NoteAbsence, Plan, Step, Wait
from handler.planning.world import Attempts
from tests.support.worlds import EDGE, NOW, WEB, name_of

ONE = name_of(1)
JOIN, ENABLE = Join(member=ONE, balancer=EDGE), Enable(member=ONE, balancer=EDGE)
CREATE, DESTROY = Create(member=ONE), Destroy(member=ONE)


def an_outcome(step: Step, result: StepResult = StepResult.DONE, retry_after: float | None = None) -> StepOutcome:
    return StepOutcome(
        step=step, member=ONE, result=result, because="", started_at=NOW, finished_at=NOW, retry_after=retry_after
    )


@pytest.mark.parametrize(
    ("waits", "outcomes", "expected"),
    [
        pytest.param([], [], None, id="nothing to wait for"),
        pytest.param([Wait.PROTECTED], [], None, id="only a person ends it"),
        pytest.param([Wait.BUILDING], [], 2.0, id="a wait has its pace"),
        pytest.param([Wait.BUDGET, Wait.DRAINING], [], 1.0, id="the most urgent wait counts"),
        pytest.param([Wait.BUILDING], [an_outcome(JOIN)], 0.2, id="soon after progress"),
        pytest.param([Wait.DELETING], [an_outcome(DESTROY)], 1.0, id="a machine that is being removed is given time"),
        pytest.param([Wait.UNCONFIRMED], [an_outcome(NoteAbsence(member=ONE))], 5.0, id="a note is no progress"),
        pytest.param(
            [], [an_outcome(CREATE, StepResult.FAILED)], 30.0, id="a refused create is over, and looked at much later"
        ),
        pytest.param(
            [],
            [an_outcome(JOIN), an_outcome(ENABLE, StepResult.LIMITED, 8.0)],
            0.2,
            id="a failure delays no other member",
        ),
        pytest.param(
            [Wait.BUDGET], [an_outcome(ENABLE, StepResult.LIMITED, 8.0)], 8.0, id="a failure has a pace of its own"
        ),
        pytest.param([], [an_outcome(CREATE, StepResult.RETRY, 77.0)], 77.0, id="what the other side asks for"),
        pytest.param([], [an_outcome(CREATE, StepResult.RETRY, 0.0)], 0.2, id="but never in a tight loop"),
        pytest.param([Wait.BACK_OFF], [], 12.0, id="until the first call may be made again"),
        pytest.param([Wait.BUILD_BACK_OFF], [], 45.0, id="until the back-off ends"),
    ],
)
def test_the_next_pass_comes_when_it_can_matter(waits: list[Wait], outcomes: list[StepOutcome], expected) -> None:
    held = tuple(Attempts(call="join", balancer=EDGE, count=1, again_at=Instant(NOW + wait)) for wait in (40.0, 12.0))
    plan = Plan(group=WEB, revision=1, steps=(), waits=tuple((wait, 1) for wait in waits), held=held)
    builds = Builds(failed=4, back_off_until=Instant(NOW + 45.0))
    assert next_in(plan, outcomes, builds, NOW) == expected


@pytest.mark.parametrize(
    ("failed", "expected"), [(0, None), (2, None), (3, 30.0), (4, 60.0), (7, 480.0), (8, 900.0), (10_000, 900.0)]
)
def test_creation_is_held_back_twice_as_long_with_every_failed_build(failed: int, expected: float | None) -> None:
    until = back_off_until(failed, NOW)
    assert (None if until is None else until - NOW) == expected


def test_every_wait_has_a_pace() -> None:
    builds = Builds(failed=4, back_off_until=NOW + 60.0)
    paces = {wait: next_in(Plan(group=WEB, revision=1, steps=(), waits=((wait, 1),)), [], builds, NOW) for wait in Wait}

    assert {wait for wait, pace in paces.items() if pace is None} == {
        Wait.UNREPAIRED,
        Wait.PROTECTED,
        Wait.ROLLING,
        Wait.OLDER_STORE,
        Wait.PAUSED,
    }
    assert all(0.0 < pace <= 60.0 for pace in paces.values() if pace is not None)
