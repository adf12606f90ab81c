"""What becomes of calls that fail: time is given, attempts are limited, and a person is asked."""

from __future__ import annotations

import pytest

from config.errors import DriverError, Permanent, Transient, Unanswered, Unsent
from config.units import BalancerId, Instant
from handler.planning.attempts import LIMIT, counted, held, judged, succeeded
from handler.planning.step_outcomes import StepResult, worst
from handler.planning.steps import Create, Destroy, Drain, Join, Step
from handler.planning.world import Attempts, Record
from tests.support.worlds import EDGE, NOW, a_record, name_of

ONE = name_of(1)
JOIN, CREATE, DESTROY = Join(member=ONE, balancer=EDGE), Create(member=ONE), Destroy(member=ONE)
DRAIN = Drain(member=ONE, balancer=EDGE)

BUSY = Transient("busy")
LATER = Transient("later", retry_after=77.0)
UNSENT = Unsent("left alone", retry_after=16.0)
LOST = Unanswered("no answer in time")
REFUSED = Permanent("refused")


def after(step: Step, failures: int, error: DriverError = BUSY) -> Record:
    """A member with so many failures of one call."""
    record = a_record()
    for _ in range(failures):
        record = counted(step, record, judged(step, record, error), "busy", NOW)
    return record


@pytest.mark.parametrize(
    ("step", "failures", "error", "result", "again_in", "attempt"),
    [
        pytest.param(JOIN, 0, BUSY, StepResult.LIMITED, 1.0, 1, id="the first failure"),
        pytest.param(JOIN, 3, BUSY, StepResult.LIMITED, 8.0, 4, id="doubling"),
        pytest.param(JOIN, 8, BUSY, StepResult.LIMITED, 30.0, 9, id="up to half a minute"),
        pytest.param(JOIN, 9, BUSY, StepResult.FAILED, 30.0, 10, id="one too many"),
        pytest.param(DESTROY, 9, BUSY, StepResult.FAILED, 30.0, 10, id="of any call"),
        pytest.param(JOIN, 11, BUSY, StepResult.FAILED, 120.0, 12, id="then ever more slowly"),
        pytest.param(JOIN, 500, BUSY, StepResult.FAILED, 300.0, 501, id="but always again"),
        pytest.param(CREATE, 3, LATER, StepResult.RETRY, 77.0, None, id="a cloud that asks for time gets it"),
        pytest.param(CREATE, 500, LATER, StepResult.RETRY, 77.0, None, id="as often as it asks"),
        pytest.param(JOIN, 0, LATER, StepResult.LIMITED, 77.0, 1, id="a balancer that asks for a wait is an attempt"),
        pytest.param(JOIN, 9, LATER, StepResult.FAILED, 77.0, 10, id="and is respected to the last"),
        pytest.param(JOIN, 9, UNSENT, StepResult.RETRY, 16.0, None, id="what was not sent is no attempt"),
        pytest.param(CREATE, 0, LOST, StepResult.LIMITED, 30.0, 1, id="what may still be made is waited for"),
        pytest.param(DESTROY, 0, LOST, StepResult.LIMITED, 1.0, 1, id="a removal may be asked for twice"),
        pytest.param(JOIN, 0, REFUSED, StepResult.FAILED, 30.0, None, id="a permanent failure"),
        pytest.param(JOIN, 2, REFUSED, StepResult.FAILED, 120.0, None, id="is tried again ever more slowly"),
    ],
)
def test_what_becomes_of_a_failure(
    step: Step, failures: int, error: DriverError, result: StepResult, again_in: float, attempt: int | None
) -> None:
    outcome = judged(step, after(step, failures), error)
    assert (outcome.result, outcome.again_in, outcome.attempt) == (result, again_in, attempt)


def test_each_call_at_each_balancer_has_attempts_of_its_own() -> None:
    record, back = after(JOIN, 2), Join(member=ONE, balancer=BalancerId("back"))
    record = counted(back, record, judged(back, record, REFUSED), "refused", NOW)
    assert record.attempts == (
        Attempts(call="join", balancer=EDGE, count=2, again_at=Instant(NOW + 2), failed=False, because="busy"),
        Attempts(
            call="join",
            balancer=BalancerId("back"),
            count=1,
            again_at=Instant(NOW + 30),
            failed=True,
            because="refused",
        ),
    )


@pytest.mark.parametrize(
    ("step", "error", "counts"),
    [
        pytest.param(CREATE, BUSY, (1, 0), id="create"),
        pytest.param(DESTROY, BUSY, (0, 1), id="destroy"),
        pytest.param(DESTROY, REFUSED, (0, 1), id="refused"),
        pytest.param(DESTROY, LATER, (0, 0), id="not, if the cloud asked for time"),
        pytest.param(JOIN, BUSY, (0, 0), id="nor balancers"),
    ],
)
def test_creates_and_destroys_that_failed_are_also_counted_for_good(step, error, counts) -> None:
    record = after(step, 1, error)
    assert (record.create_attempts, record.destroy_attempts) == counts


def test_a_call_that_failed_is_held_back_for_a_while_and_a_success_forgets_it() -> None:
    record = after(JOIN, 1)
    assert held(JOIN, record, Instant(NOW + 0.9)) == record.attempts[0]
    assert held(JOIN, record, Instant(NOW + 1.0)) is None
    assert held(DESTROY, record, NOW) is None
    assert succeeded(JOIN, record, 120.0, NOW) == a_record()
    assert succeeded(DRAIN, record, 120.0, NOW) is None


@pytest.mark.parametrize(("grace", "wait"), [(120.0, 120.0), (0.0, 30.0)])
def test_a_removal_that_was_accepted_is_given_time(grace: float, wait: float) -> None:
    record = succeeded(DESTROY, after(DESTROY, 3), grace, NOW)
    assert record is not None
    assert record.attempts == (Attempts(call="destroy", count=0, again_at=Instant(NOW + wait)),)
    assert record.destroy_attempts == 3


def test_nothing_is_lost_count_of_beyond_the_limit() -> None:
    assert after(JOIN, LIMIT + 2).attempts[0].count == LIMIT + 2


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([], StepResult.DONE),
        ([StepResult.DONE, StepResult.RETRY], StepResult.RETRY),
        ([StepResult.LIMITED, StepResult.RETRY, StepResult.DONE], StepResult.LIMITED),
        ([StepResult.LIMITED, StepResult.FAILED, StepResult.RETRY], StepResult.FAILED),
    ],
)
def test_the_worst_wins(results: list[StepResult], expected: StepResult) -> None:
    assert worst(results) is expected
