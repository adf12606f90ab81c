"""What follows from each answer to a call, for its member's record and for the step's outcome."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.errors import DriverError, Full, Permanent, Transient
from config.model.parts import OnDelete
from config.units import PartName
from handler.planning.answers import AnswerMoment, answered
from handler.planning.member_plans import StartedCall
from handler.planning.removals import ATTEMPTS
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Create, Destroy, MakePart, MarkMachine, Step
from handler.planning.world import Leaving, Phase, Record, Server, ServerState
from tests.support.worlds import NOW, a_record, a_server, name_of

ONE = name_of(1)

INTENDED = a_record(phase=Phase.INTENDED)
LEAVING = replace(INTENDED, phase=Phase.LEAVING, leaving=Leaving.SURPLUS, removal_at=NOW, removal_tried_at=NOW)
WITH_PARTS = replace(INTENDED, parts=((PartName("disk"), OnDelete.DESTROY),))
CREATE, DESTROY, MARK = Create(member=ONE), Destroy(member=ONE), MarkMachine(member=ONE)
DISK = MakePart(member=ONE, part=PartName("disk"))


def recorded(step: Step, record: Record, answer: Server | DriverError | None, *, frees_capacity: bool = False) -> tuple:
    begun = StartedCall(line=1, name=ONE, step=step, started=NOW)
    outcome, after = answered(begun, record, answer, AnswerMoment(at=NOW, grace=60.0, frees_capacity=frees_capacity))
    return outcome, record if after is None else after


def test_a_machine_is_confirmed() -> None:
    outcome, after = recorded(CREATE, INTENDED, a_server(id="7c1b", state=ServerState.BUILDING))
    assert (outcome.result, after.phase, after.server_id) == (StepResult.DONE, Phase.MADE, "7c1b")


def test_success_forgets_what_failed_before() -> None:
    _, failing = recorded(DESTROY, LEAVING, Transient("busy"))
    outcome, after = recorded(DESTROY, failing, None)
    assert outcome.result is StepResult.DONE
    assert [attempt.count for attempt in after.attempts] == [0]


@pytest.mark.parametrize(
    ("step", "record", "phase"),
    [
        pytest.param(CREATE, INTENDED, Phase.GONE, id="nothing of it exists"),
        pytest.param(DISK, WITH_PARTS, Phase.LEAVING, id="its parts have yet to go"),
    ],
)
def test_what_is_refused_for_good_while_a_member_is_made_ends_it(step: Step, record: Record, phase: Phase) -> None:
    outcome, after = recorded(step, record, Permanent("no such image"))
    assert outcome.is_final
    assert after.phase is phase


def test_a_mark_that_is_refused_for_good_leaves_the_machine_as_it_was_given() -> None:
    outcome, after = recorded(MARK, INTENDED, Permanent("may not be written"))
    assert outcome.is_final
    assert (after.phase, after.create_attempts) == (Phase.INTENDED, 1)


@pytest.mark.parametrize(("frees_capacity", "result"), [(True, StepResult.RETRY), (False, StepResult.FAILED)])
def test_a_full_cloud_ends_no_member(frees_capacity: bool, result: StepResult) -> None:
    outcome, after = recorded(CREATE, INTENDED, Full("quota"), frees_capacity=frees_capacity)
    assert (outcome.result, outcome.is_final, after.phase) == (result, False, Phase.INTENDED)
    assert after.create_attempts == 0


def test_a_removal_that_is_stuck_is_no_error_of_its_own() -> None:
    worn = replace(LEAVING, destroy_attempts=ATTEMPTS - 1)
    outcome, after = recorded(DESTROY, worn, Permanent("locked"))
    assert outcome.result is StepResult.LIMITED
    assert (after.destroy_attempts, [attempt.failed for attempt in after.attempts]) == (ATTEMPTS, [False])


def test_a_failure_says_when_the_call_is_made_again() -> None:
    outcome, after = recorded(DESTROY, LEAVING, Transient("busy"))
    assert (outcome.result, outcome.because) == (StepResult.LIMITED, "busy")
    assert [attempt.again_at for attempt in after.attempts] == [NOW + 1.0]
