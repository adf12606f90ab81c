"""A complete group on OpenNebula, over its real protocol, while answers are lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from handler.planning.steps import Wait
from tests.support.cloud_beds import CloudBed
from tests.support.opennebula import a_template_recipe, opennebula_stage
from tests.support.opennebula_wire import AUTHORISATION, DONE, INTERNAL, refused
from tests.support.waiting import PATIENT
from tests.support.wire_server import LOST, UNREACHED, answered
from tests.support.worlds import a_definition


@pytest.fixture
def bed() -> Iterator[CloudBed]:
    profile = replace(a_definition().profile, recipe=a_template_recipe())
    bed = CloudBed(definition=replace(a_definition(), profile=profile), size=0, workers=4)
    with opennebula_stage(clock=bed.clock) as stage:
        yield bed.on(stage, lambda: stage.wire.alive, timeout=PATIENT)


def test_a_group_grows_to_five_and_shrinks_to_two_while_answers_are_lost(bed: CloudBed) -> None:
    bed.wire.script("template.instantiate", LOST, UNREACHED, answered(b"<html>", status=502, obeyed=True), LOST)
    bed.wire.script("vm.info", UNREACHED, refused(INTERNAL, "later"))
    bed.wire.script("vmpool.infoextended", refused(INTERNAL, "later"))
    bed.desire(5)
    bed.run()
    bed.clock.advance(10.0)
    bed.restart()  # the process died; nothing is known but what the store and the cloud know

    bed.settle()
    bed.whole(5)

    bed.wire.script("vm.action", LOST, UNREACHED, refused(INTERNAL, "later", obeyed=True))
    bed.wire.script("vmpool.infoextended", answered(b"<", status=200))
    bed.desire(2)
    bed.settle()

    bed.whole(2)
    assert bed.wire.count("template.instantiate") <= 7


def test_a_group_with_guests_that_do_not_stop_still_shrinks(bed: CloudBed) -> None:
    bed.desire(3)
    bed.settle()
    bed.wire.stubborn = True

    bed.desire(1)
    bed.settle()

    bed.whole(1)


def test_a_group_makes_as_many_as_its_quota_lets_it_says_so_and_the_rest_once_it_may(bed: CloudBed) -> None:
    bed.wire.quota = 5
    bed.desire(8)

    done = bed.settle_within_quota()

    assert bed.wire.count("template.instantiate") == 5
    assert (dict(done.plan.waits), done.plan.quota) == ({Wait.QUOTA: 3}, "machines 5 of 5")
    assert done.messages == ("no room for 3 more: machines 5 of 5: raise the account's limit, or lower max",)
    bed.whole(5)

    bed.wire.quota = 100
    bed.clock.advance(done.next_in or 0.0)
    bed.settle()
    bed.whole(8)
    assert bed.wire.count("template.instantiate") == 8


def test_a_group_with_an_unreadable_quota_is_refused_reports_it_and_leaves_nothing_behind(bed: CloudBed) -> None:
    bed.wire.script("user.info", *[refused(AUTHORISATION, "Not authorized to perform USE USER [2].")] * 9)
    bed.wire.quota = 3
    bed.desire(5)

    failures = [failure for _ in range(3) for failure in bed.run().failures]

    assert any("quota" in failure for failure in failures)
    assert len(bed.wire.alive) == 3


def test_machines_that_were_terminated_by_hand_are_replaced(bed: CloudBed) -> None:
    bed.desire(3)
    bed.settle()
    before = bed.addresses()
    gone = next(iter(bed.wire.vms.values()))
    gone.state = DONE

    bed.bury(before)
    bed.settle(accept_vanished=True)

    bed.whole(3)
    assert gone.name not in bed.wire.alive


def test_machines_that_fail_to_boot_are_replaced(bed: CloudBed) -> None:
    bed.wire.failing = 1
    bed.desire(3)

    bed.settle()

    bed.whole(3)
