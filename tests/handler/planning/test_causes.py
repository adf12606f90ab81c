"""Messages of clouds and balancers, and what Trimtab shows of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.causes import REMEDIES, FailureCause
from config.errors import DriverError, Permanent, Transient
from config.units import Instant, MemberName
from handler.planning.causes import failure_messages, fold, understood
from handler.planning.step_outcomes import StepOutcome, StepResult
from handler.planning.steps import Create, Leave
from handler.planning.world import Attempts
from tests.support.worlds import EDGE, NOW, a_fleet, a_member, a_world, name_of

OTTER = [
    pytest.param("Invalid user_data: it is not base64", FailureCause.LAUNCH_CONFIGURATION, id="launch configuration"),
    pytest.param(
        "Bad networks format: network uuid is not in proper format", FailureCause.LAUNCH_CONFIGURATION, id="format"
    ),
    pytest.param("Image 70a599e0-31e7 could not be found.", FailureCause.IMAGE, id="image"),
    pytest.param("Can not find requested image", None, id="words that are not known"),
    pytest.param("Flavor 11 could not be found.", FailureCause.FLAVOR, id="flavor"),
    pytest.param("Network 5d2f could not be found.", FailureCause.NETWORK, id="network"),
    pytest.param("Security group web not found for project 7", FailureCause.NETWORK, id="security group"),
    pytest.param("Invalid key_name provided.", FailureCause.KEY, id="key"),
    pytest.param("A key pair with name 'ops' does not exist for account a", FailureCause.KEY, id="key pair"),
    pytest.param(
        "Quota exceeded for instances: Requested 1, but already used 10 of 10", FailureCause.QUOTA, id="quota"
    ),
    pytest.param(
        "Quota exceeded, too many servers in group_members", FailureCause.SERVER_GROUP, id="server group's quota"
    ),
    pytest.param("Load Balancer 71 could not be found", FailureCause.BALANCER, id="balancer"),
    pytest.param("Load balancer 71 is being deleted", FailureCause.BALANCER_GOING, id="balancer that is deleted"),
    pytest.param(
        "Load Balancer 71 is immutable and cannot be updated", FailureCause.BALANCER_BUSY, id="balancer in change"
    ),
    pytest.param("Nodes must not exceed 25 per load balancer.", FailureCause.BALANCER_FULL, id="balancer's limit"),
    pytest.param("Node 12 of Cloud Load Balancer 5 does not exist", FailureCause.REGISTRATION, id="node"),
    pytest.param("Pool 3 could not be found", FailureCause.POOL, id="pool"),
    pytest.param("Load Balancer Pool 3 is not active", FailureCause.POOL, id="pool that is not active"),
    pytest.param(
        "Could not find health monitor configuration of Load Balancer 5", FailureCause.HEALTH_MONITOR, id="monitor"
    ),
    pytest.param("Could not locate service nova in the service catalog", FailureCause.SERVICE, id="catalog"),
    pytest.param("Waiting for server 7 to transition to ACTIVE", None, id="a state of passage is no error"),
]
"""Every error of Otter's that its users see, and those that they did not (otter #1938)."""


@pytest.mark.parametrize(("message", "cause"), OTTER)
def test_a_message_is_folded_to_its_cause(message: str, cause: FailureCause | None) -> None:
    assert fold(message) is cause


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        pytest.param("Unable to find template by id 7", FailureCause.IMAGE, id="CloudStack's template"),
        pytest.param("Unable to find service offering: 3", FailureCause.FLAVOR, id="CloudStack's offering"),
        pytest.param(
            "Maximum number of resources of type 'user_vm' exceeded", FailureCause.QUOTA, id="CloudStack's limit"
        ),
        pytest.param(
            "Unable to create a deployment for VM[User|i-2-7]", FailureCause.CAPACITY, id="CloudStack without room"
        ),
        pytest.param(
            "No valid host was found. There are not enough hosts", FailureCause.CAPACITY, id="Nova without room"
        ),
        pytest.param("HAProxy at /run/h.sock has no backend web", None, id="words that are not among them"),
        pytest.param("the member web-1 is in another network. It does not answer", None, id="across sentences"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_the_messages_of_other_clouds_are_folded_to_their_causes(message: str, cause: FailureCause | None) -> None:
    assert fold(message) is cause


@given(st.text(max_size=200))
def test_any_message_is_folded_or_not(message: str) -> None:
    assert fold(message) in {*FailureCause, None}


def test_very_long_words_are_folded_at_once() -> None:
    assert fold("image " * 100_000) is None
    assert fold("unable to find " * 100_000) is None


def test_what_was_asked_for_is_not_what_is_the_matter() -> None:
    assert fold("prod: GET /quotas/tenant was not answered: ConnectFailure") is None
    assert fold("prod: POST /servers: Quota exceeded for cores") is FailureCause.QUOTA


def test_for_every_cause_there_is_something_to_do() -> None:
    assert set(REMEDIES) == set(FailureCause)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(
            Permanent("Image 7 could not be found."),
            "Image 7 could not be found: put the image back, or name another in the profile",
            id="the other side's words",
        ),
        pytest.param(Permanent("write another", cause=FailureCause.IMAGE), "write another", id="the driver's own"),
        pytest.param(Transient("busy"), "busy", id="nothing that is known"),
        pytest.param(
            Permanent("quota: full: raise the account's limit, or lower max"),
            "quota: full: raise the account's limit, or lower max",
            id="what to do is there already",
        ),
        pytest.param(Transient(""), "Transient", id="no message"),
    ],
)
def test_a_message_says_once_what_to_do(error: DriverError, words: str) -> None:
    assert understood(error).words == words


def failed(
    number: int, words: str, cause: FailureCause | None = None, result: StepResult = StepResult.FAILED
) -> StepOutcome:
    return StepOutcome(
        step=Create(member=name_of(number)),
        member=name_of(number),
        result=result,
        because=words,
        cause=cause,
        started_at=NOW,
        finished_at=NOW,
    )


def held(words: str, *, cause: FailureCause | None = None, failed: bool = True) -> Attempts:
    return Attempts(call="create", count=1, again_at=Instant(NOW + 9), failed=failed, because=words, cause=cause)


def test_the_same_cause_of_many_members_is_reported_once_with_their_names() -> None:
    outcomes = [failed(number, f"{name_of(number)}: refused", FailureCause.IMAGE) for number in range(1, 8)]
    (message,) = failure_messages(outcomes, (), a_fleet(7), failed=True)
    assert message == (
        "create: web-k3f9ab-1: refused (7 members: web-k3f9ab-1, web-k3f9ab-2, web-k3f9ab-3, web-k3f9ab-4, "
        "web-k3f9ab-5 and 2 more)"
    )


def test_the_same_words_with_other_names_are_the_same() -> None:
    outcomes = [failed(number, f"{name_of(number)} is locked") for number in (1, 2)]
    (message,) = failure_messages(outcomes, (), a_fleet(2), failed=True)
    assert message == "create: web-k3f9ab-1 is locked (2 members: web-k3f9ab-1, web-k3f9ab-2)"


def test_other_causes_and_other_calls_are_reported_apart() -> None:
    other = replace(failed(3, "no image", FailureCause.IMAGE), step=Leave(member=name_of(3), balancer=EDGE))
    outcomes = [failed(1, "no image", FailureCause.IMAGE), failed(2, "no key", FailureCause.KEY), other]
    assert failure_messages(outcomes, (), a_fleet(3), failed=True) == (
        "create: no image (web-k3f9ab-1)",
        "create: no key (web-k3f9ab-2)",
        "leave: no image (web-k3f9ab-3)",
    )


def test_a_name_that_is_in_the_words_is_not_repeated() -> None:
    assert failure_messages([failed(1, "web-k3f9ab-1 is locked")], (), a_fleet(1), failed=True) == (
        "create: web-k3f9ab-1 is locked",
    )


def test_what_is_held_back_is_reported_with_what_fails_now() -> None:
    waiting = held("no image", cause=FailureCause.IMAGE)
    world = a_world(a_member(1, attempts=(waiting,)), a_member(2))
    assert failure_messages([failed(2, "there is no image", FailureCause.IMAGE)], (waiting,), world, failed=True) == (
        "create: there is no image (2 members: web-k3f9ab-2, web-k3f9ab-1)",
    )


def test_failures_that_are_retried_and_those_that_are_not_are_distinguished() -> None:
    retry = held("busy", failed=False)
    world = a_world(a_member(1, attempts=(retry,)))
    outcomes = [failed(2, "late", result=StepResult.RETRY), failed(3, "done", result=StepResult.DONE)]
    assert failure_messages(outcomes, (retry,), world, failed=True) == ()
    assert failure_messages(outcomes, (retry,), world, failed=False) == (
        "create: late (web-k3f9ab-2)",
        "create: busy (web-k3f9ab-1)",
    )


def test_a_member_without_a_name_yet_is_not_named() -> None:
    assert failure_messages([replace(failed(1, "refused"), member=None)], (), a_world(), failed=True) == (
        "create: refused",
    )


def test_a_name_that_begins_another_is_not_taken_for_it() -> None:
    one, ten = MemberName("web-k3f9ab-1"), MemberName("web-k3f9ab-10")
    outcomes = [replace(failed(1, f"{name} is locked"), member=name) for name in (one, ten)]
    assert len(failure_messages(outcomes, (), a_world(), failed=True)) == 1
