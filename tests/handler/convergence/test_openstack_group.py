"""A complete group on OpenStack, over its real protocol, while answers are lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from handler.planning.steps import Wait
from tests.support.cloud_beds import CloudBed
from tests.support.openstack import a_server_recipe, openstack_stage
from tests.support.openstack_wire import error
from tests.support.waiting import PATIENT
from tests.support.wire_server import LOST, UNREACHED, answered
from tests.support.worlds import a_definition


@pytest.fixture
def bed() -> Iterator[CloudBed]:
    kept = a_definition()
    profile = replace(kept.profile, recipe=a_server_recipe())
    definition = replace(kept, profile=profile, group=replace(kept.group, grace=0.0))
    bed = CloudBed(definition=definition, size=0, workers=4)
    with openstack_stage(clock=bed.clock) as stage:
        yield bed.on(stage, lambda: stage.nova.alive, timeout=PATIENT)


def test_a_group_grows_to_five_and_shrinks_to_two_while_answers_are_lost(bed: CloudBed) -> None:
    bed.stage.nova.builds = 3
    bed.wire.script("POST /servers", LOST, UNREACHED, answered(b"<html>", status=502, obeyed=True), LOST)
    bed.wire.script("GET /servers/{id}", UNREACHED, error(503, "later"))
    bed.wire.script("GET /servers/detail", error(503, "later"))
    bed.desire(5)
    bed.run()
    bed.wire.expire()
    bed.clock.advance(10.0)
    bed.restart()  # the process died; nothing is known but what the store and the cloud know

    bed.settle()
    bed.whole(5)

    bed.wire.script("DELETE /servers/{id}", LOST, UNREACHED, error(503, "later", obeyed=True))
    bed.wire.script("GET /servers/detail", answered(b"{", status=200))
    bed.desire(2)
    bed.settle()

    bed.whole(2)


def test_a_group_makes_as_many_as_its_quota_lets_it_says_so_and_the_rest_once_it_may(bed: CloudBed) -> None:
    bed.stage.nova.quota = 5
    bed.desire(8)

    done = bed.settle_within_quota()

    assert bed.wire.count("POST /servers") == 5
    assert (dict(done.plan.waits), done.plan.quota) == ({Wait.QUOTA: 3}, "machines 5 of 5")
    assert done.messages == ("no room for 3 more: machines 5 of 5: raise the account's limit, or lower max",)
    bed.whole(5)

    bed.stage.nova.quota = 100
    bed.clock.advance(done.next_in or 0.0)
    bed.settle()
    bed.whole(8)
    assert bed.wire.count("POST /servers") == 8


def test_a_group_with_an_unreadable_quota_is_refused_reports_it_and_leaves_nothing_behind(bed: CloudBed) -> None:
    bed.wire.script("GET /limits", *[error(403, "Policy doesn't allow os_compute_api:limits to be performed.")] * 9)
    bed.stage.nova.quota = 3
    bed.desire(5)

    failures = [failure for _ in range(3) for failure in bed.run().failures]

    assert any("quota" in failure for failure in failures)
    assert len(bed.stage.nova.alive) == 3


def test_servers_that_find_no_host_are_replaced(bed: CloudBed) -> None:
    bed.stage.nova.failing.extend(["No valid host was found."] * 2)
    bed.desire(3)

    bed.settle()

    bed.whole(3)


def test_servers_that_were_deleted_by_hand_are_replaced(bed: CloudBed) -> None:
    bed.desire(3)
    bed.settle()
    before = bed.addresses()
    gone = next(vm for vm in bed.stage.nova.vms.values())
    del bed.stage.nova.vms[gone.id]

    bed.bury(before)
    bed.settle(accept_vanished=True)

    bed.whole(3)
    assert gone.name not in bed.stage.nova.alive


def test_a_nova_that_does_not_answer_when_it_is_first_asked_is_waited_for_and_no_build_has_failed(
    bed: CloudBed,
) -> None:
    bed.wire.script("GET /", *[error(503, "later")] * 100)
    bed.desire(2)
    for _ in range(4):
        done = bed.run()
        assert not done.world.complete
        assert (done.failed_builds, done.failures) == (0, ())
        bed.clock.advance(10.0)
    bed.wire.faults.clear()

    bed.settle()

    bed.whole(2)
