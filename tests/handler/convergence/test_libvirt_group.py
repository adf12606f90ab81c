"""A complete group on a host with libvirt, over its real protocol, while answers are lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from collector.clients.libvirt.messages import Procedure
from handler.planning.steps import Wait
from tests.support.cloud_beds import CloudBed
from tests.support.libvirt import HERE, MIB, a_domain_recipe, libvirt_stage
from tests.support.libvirt_relay import CLOSED, LOST, error
from tests.support.waiting import PATIENT
from tests.support.worlds import a_definition

pytestmark = pytest.mark.real("libvirtd")

_INTERNAL, _FAILED = 1, 9


@pytest.fixture
def bed() -> Iterator[CloudBed]:
    profile = replace(a_definition().profile, recipe=a_domain_recipe())
    bed = CloudBed(definition=replace(a_definition(), profile=profile), size=0, workers=4)
    with libvirt_stage(clock=bed.clock) as stage:

        def alive() -> list[str]:
            return [domain.name for domain in stage.direct.domains()]

        yield bed.on(stage, alive, timeout=PATIENT)


def disks(bed: CloudBed) -> int:
    """How many volumes of members there are, also of those that are gone."""
    return sum(len(bed.stage.volumes(f"web-{HERE}-{number}")) for number in range(1, 40))


def test_a_group_grows_to_five_and_shrinks_to_two_while_answers_are_lost(bed: CloudBed) -> None:
    bed.wire.script(Procedure.DOMAIN_DEFINE_XML_FLAGS, LOST, CLOSED, error(_FAILED, "later"))
    bed.wire.script(Procedure.STORAGE_VOL_CREATE_XML, CLOSED, LOST)
    bed.wire.script(Procedure.DOMAIN_CREATE_WITH_FLAGS, LOST, error(_INTERNAL, "later", obeyed=True), CLOSED)
    bed.wire.script(Procedure.CONNECT_LIST_ALL_DOMAINS, None, None, CLOSED)
    bed.desire(5)
    bed.run()
    bed.clock.advance(10.0)
    bed.restart()  # the process died; nothing is known but what the store and the host know

    bed.settle()
    bed.whole(5)
    assert disks(bed) == 5

    bed.wire.script(Procedure.DOMAIN_SHUTDOWN_FLAGS, LOST, CLOSED)
    bed.wire.script(Procedure.STORAGE_VOL_DELETE, LOST, CLOSED)
    bed.wire.script(Procedure.DOMAIN_UNDEFINE_FLAGS, CLOSED, LOST)
    bed.desire(2)
    bed.settle()

    bed.whole(2)
    assert disks(bed) == 2


def test_a_group_with_guests_that_do_not_stop_still_shrinks(bed: CloudBed) -> None:
    bed.desire(3)
    bed.settle()
    bed.wire.script(Procedure.DOMAIN_SHUTDOWN_FLAGS, *[error(_FAILED, "the guest does not listen")] * 2)

    bed.desire(1)
    bed.settle()

    bed.whole(1)


def test_a_group_makes_as_many_as_memory_lets_it_says_so_and_the_rest_once_it_may(bed: CloudBed) -> None:
    most = bed.stage.direct.memory()
    bed.on(bed.stage, bed._alive, timeout=PATIENT, memory=90 * MIB / most)
    bed.desire(8)

    done = bed.settle_within_quota()

    assert (dict(done.plan.waits), done.plan.quota) == ({Wait.QUOTA: 3}, "MiB of memory 80 of 90, and each takes 16")
    bed.whole(5)

    bed.on(bed.stage, bed._alive, timeout=PATIENT)
    bed.clock.advance(done.next_in or 0.0)
    bed.settle()
    bed.whole(8)
