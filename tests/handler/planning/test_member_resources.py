"""A member's parts: made before its machine, gone after it, in reverse; and nothing of it is ever left behind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from config.errors import DriverError, Full, Permanent, Transient, Unsent
from config.model.clouds import Calls
from handler.operations.plan_text import plan_lines
from handler.planning.steps import Create, MakePart, Wait
from handler.planning.world import Leaving
from handler.web.render import planned
from tests.support.beds import Bed, grown
from tests.support.fake_cloud import LOST
from tests.support.snapshots import read
from tests.support.worlds import DATA, FRONT, WEB, a_definition, name_of

ONE, TWO = name_of(1), name_of(2)
BOTH = {"data": "retain", "front": "destroy"}
READY = {"data": "ready", "front": "ready"}
UNMADE = {"phase": "leaving", "made_at": None, "leaving": "surplus"}
MAKE_BOTH = ["make part m-1 data", "make part m-1 front"]


def lines_of(size: int, *, declared: Any = BOTH, **member: Any) -> list[str]:
    """The plan of a group with one member whose machine does not exist in the cloud."""
    record = {"phase": "intended", "parts": BOTH, **member.pop("record", {})}
    listed = {"name": "m-1", "disproved": True, **member, "record": record}
    given = {"desired": size, "definition": {"parts": declared}, "world": {"members": [listed]}}
    return [*plan_lines(planned(read(given).plan()))]


@pytest.mark.parametrize(
    ("planned_now", "lines"),
    [
        pytest.param(lines_of(1, record={"parts": {}}), MAKE_BOTH, id="nothing asked for"),
        pytest.param(lines_of(1, lacking=["data", "front"]), MAKE_BOTH, id="both lacking"),
        pytest.param(
            lines_of(1, parts={"data": "ready"}, lacking=["front"]), ["make part m-1 front"], id="one lacking"
        ),
        pytest.param(lines_of(1, parts=READY), ["create m-1"], id="both ready"),
        pytest.param(
            lines_of(1, parts=READY, record={"intended_at": "20m ago"}),
            ["create m-1"],
            id="both ready for long: held back",
        ),
        pytest.param(lines_of(1, parts={"data": "ready"}), ["waiting: 1 unconfirmed"], id="one unknown"),
        pytest.param(lines_of(1, parts=READY | {"front": "building"}), ["waiting: 1 building"], id="one is being made"),
        pytest.param(
            lines_of(1, parts=READY | {"data": "error"}),
            ["remove part m-1 data", "waiting: 1 deleting"],
            id="one failed",
        ),
        pytest.param(
            lines_of(1, parts=READY, declared={"front": "destroy"}),
            ["remove part m-1 data", "waiting: 1 deleting"],
            id="one is declared no more, and nothing was ever kept in it",
        ),
        pytest.param(
            lines_of(0, parts=READY),
            ["mark leaving m-1 surplus (not in service; the oldest)"],
            id="surplus",
        ),
        pytest.param(lines_of(0, record={"parts": {}}), ["forget m-1"], id="surplus: nothing was asked for"),
        pytest.param(
            lines_of(0, parts=READY, record=UNMADE),
            ["remove part m-1 front", "remove part m-1 data", "waiting: 1 deleting"],
            id="never made: in reverse, and nothing is kept",
        ),
        pytest.param(
            lines_of(0, lacking=["data", "front"], record=UNMADE), ["forget m-1"], id="never made: nothing left"
        ),
        pytest.param(
            lines_of(0, record=UNMADE), ["waiting: 1 unconfirmed"], id="never created: it is not known what is left"
        ),
        pytest.param(
            lines_of(0, parts=READY, record={"phase": "leaving"}),
            ["remove part m-1 front", "release part m-1 data", "waiting: 1 deleting"],
            id="gone: data is kept",
        ),
        pytest.param(
            lines_of(0, parts=READY, record={"phase": "leaving", "leaving": "evicted"}),
            ["release part m-1 front", "release part m-1 data", "waiting: 1 deleting"],
            id="evicted: its machine keeps them",
        ),
        pytest.param(
            lines_of(0, parts={"data": "deleting"}, lacking=["front"], record={"phase": "leaving"}),
            ["waiting: 1 deleting"],
            id="gone: its data is being removed already",
        ),
        pytest.param(
            lines_of(1, parts=READY, record={"phase": "in_service"}),
            ["remove part m-1 front", "release part m-1 data", "create", "waiting: 1 deleting"],
            id="vanished: another one is made",
        ),
        pytest.param(
            lines_of(1, parts={"data": "building"}, lacking=["front"], record={"intended_at": "20m ago"}),
            ["mark leaving m-1 broken", "create"],
            id="a part that builds for ever is given up with its member",
        ),
        pytest.param(
            lines_of(1, parts={"front": "ready"}, record={"intended_at": "20m ago"}),
            ["waiting: 1 unconfirmed"],
            id="one that cannot be seen for long is not late",
        ),
    ],
)
def test_what_a_member_without_a_machine_needs(planned_now: list[str], lines: list[str]) -> None:
    assert sorted(planned_now) == sorted(lines)
    assert [line for line in planned_now if "part" in line] == [line for line in lines if "part" in line]


def test_members_come_with_their_parts_and_go_with_them() -> None:
    bed = grown(2, definition=a_definition(parts=(DATA, FRONT)))
    assert bed.cloud.created == [ONE, TWO]
    bed.desire(1)
    bed.settle()
    bed.expect(1)
    assert bed.retained() == ["data"]


def test_a_machine_is_made_with_the_ids_of_its_parts_once_all_are_ready() -> None:
    bed = Bed(size=1, definition=a_definition(parts=(DATA, FRONT)))
    first = bed.run()
    assert [type(outcome.step) for outcome in first.outcomes] == [MakePart, MakePart]
    assert bed.cloud.created == []
    bed.run()
    assert [dict(launch.parts) for launch in bed.cloud.launches] == [{"data": "sim-part-1", "front": "sim-part-2"}]


@pytest.mark.parametrize("call", ["make_part", "remove_part", "release_part", "parts", "find_part"])
@pytest.mark.parametrize("error", [Transient("not now"), LOST], ids=["refused", "answer lost"])
def test_no_answer_is_needed_to_know_what_is_there(call: str, error: Transient) -> None:
    bed = Bed(size=2, definition=a_definition(parts=(DATA, FRONT)))
    for size in (2, 0):
        bed.desire(size)
        bed.cloud.faults.script(call, error, error)
        bed.settle()
        bed.expect(size)
    assert bed.retained() == ["data", "data"]
    assert len(bed.cloud.created) == 2


def test_while_the_cloud_tells_nothing_of_parts_nothing_is_made_or_forgotten() -> None:
    bed = Bed(size=1, definition=a_definition(parts=(DATA,)))
    bed.run()
    for call in ("parts", "find_part"):
        bed.cloud.faults.always[call] = Transient("no answer")
    done = bed.run()
    assert (done.plan.steps, dict(done.plan.waits)) == ((), {Wait.UNCONFIRMED: 1})
    assert len(bed.known()) == 1


@pytest.mark.parametrize("call", ["make_part", "create"])
def test_of_a_member_that_the_cloud_will_not_make_no_part_is_left(call: str) -> None:
    bed = Bed(size=1, definition=a_definition(parts=(FRONT, DATA)))
    bed.cloud.faults.script(call, None if call == "make_part" else Permanent("quota"), Permanent("quota"))
    failures = [bed.run().failed_builds for _ in range(2)]
    assert max(failures) == 1
    bed.desire(0)
    bed.settle()
    bed.expect(0)
    assert (bed.parts(), bed.retained()) == (set(), [])


def test_a_member_that_was_given_up_with_its_parts_never_counts_again() -> None:
    bed = Bed(size=1, definition=a_definition(parts=(DATA,)))
    bed.cloud.faults.always["make_part"] = Transient("not now")
    bed.run()
    bed.clock.advance(bed.definition.group.build_timeout)
    bed.run()
    bed.cloud.faults.always["find"] = Transient("no answer")
    bed.run()
    assert {record.name: record.leaving for record in bed.store.members(WEB)} == {ONE: Leaving.BROKEN, TWO: None}
    bed.cloud.faults.clear()
    bed.settle()
    bed.expect(1)


def test_a_long_back_off_between_parts_and_machine_makes_no_member_late() -> None:
    bed = Bed(size=2, definition=a_definition(parts=(FRONT,), build_timeout=60.0))
    bed.store.kept[WEB] = replace(bed.stored, failed_builds=9)
    bed.cloud.faults.script("make_part", None, Permanent("refused"))
    bed.settle()
    bed.expect(2)
    assert ONE in bed.cloud.created


def test_removing_a_part_costs_no_attempt_while_its_endpoint_is_left_alone() -> None:
    bed = Bed(size=1, definition=a_definition(parts=(DATA,)))
    bed.run()
    bed.redefine(a_definition())  # so the part is in the way
    bed.cloud.faults.always["remove_part"] = Unsent("left alone", retry_after=1.0)
    for _ in range(20):
        bed.clock.advance(bed.run().next_in or 1.0)
    assert {record.name: record.create_attempts for record in bed.store.members(WEB)} == {ONE: 0}
    bed.cloud.faults.clear()
    bed.settle()
    bed.expect(1)
    assert bed.cloud.created == [ONE]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Full("volumes 3 of 3"), id="full"),
        pytest.param(Unsent("left alone", retry_after=9.0), id="not sent"),
        pytest.param(Transient("slowly", retry_after=60.0), id="asked for time"),
    ],
)
def test_a_part_that_cannot_be_made_now_is_waited_for_and_no_build_has_failed(error: DriverError) -> None:
    bed = Bed(size=1, definition=a_definition(parts=(FRONT, DATA), build_timeout=60.0))
    bed.cloud.faults.always["make_part"] = error
    for _ in range(30):
        done = bed.run()
        bed.clock.advance(max(done.next_in or 0.0, 10.0))
        assert done.failed_builds == 0
    bed.cloud.faults.clear()
    bed.settle()
    bed.expect(1)
    assert bed.cloud.created == [ONE]


def test_what_is_declared_of_parts_now_counts_for_members_to_come() -> None:
    bed = grown(1, definition=a_definition(parts=(FRONT,)))
    bed.redefine(a_definition(parts=(FRONT, DATA)))
    assert bed.run().plan.converged
    assert bed.parts() == {(ONE, FRONT.name)}
    bed.desire(2)
    bed.settle()
    assert bed.parts() == {(ONE, FRONT.name), (TWO, FRONT.name), (TWO, DATA.name)}


def test_members_of_a_lost_store_are_taken_up_with_their_parts() -> None:
    bed = grown(2, definition=a_definition(parts=(DATA, FRONT)))
    bed.store.records.clear()
    bed.settle()
    bed.expect(2)
    bed.desire(0)
    bed.settle()
    bed.expect(0)
    assert bed.retained() == ["data", "data"]


def test_members_of_a_lost_store_are_not_taken_up_before_all_of_their_parts_were_seen() -> None:
    bed = grown(2, definition=a_definition(parts=(DATA, FRONT)))
    bed.store.records.clear()
    bed.cloud.faults.script("parts", Transient("no answer"))
    done = bed.run()
    assert (done.plan.steps, dict(done.plan.waits)[Wait.UNCONFIRMED], bed.known()) == ((), 2, set())
    bed.settle()
    bed.expect(2)
    bed.desire(0)
    bed.settle()
    bed.expect(0)


def test_a_part_that_is_there_before_it_was_written_down_goes_with_its_member() -> None:
    bed = Bed(size=1, definition=a_definition(parts=(FRONT, DATA)))
    bed.run()
    bed.store.records.clear()
    bed.store.sequences.clear()
    bed.cloud.faults.script("make_part", Transient("not now"))
    bed.settle()
    bed.expect(1)
    bed.desire(0)
    bed.settle()
    bed.expect(0)


def test_a_cloud_that_asked_for_time_is_not_asked_about_parts() -> None:
    bed = Bed(size=1, definition=a_definition(parts=(DATA,)))
    bed.cloud.faults.script("make_part", Transient("busy", retry_after=60.0))
    bed.run()
    for call in ("parts", "find_part"):
        bed.cloud.faults.script(call, LOST)
    bed.run()
    assert [len(bed.cloud.faults.scripted[call]) for call in ("parts", "find_part")] == [1, 1]
    bed.clock.advance(60.0)
    bed.settle()
    bed.expect(1)


def test_parts_come_though_a_cloud_may_be_asked_for_little() -> None:
    definition = a_definition(parts=(DATA,))
    bed = Bed(size=4, definition=replace(definition, cloud=replace(definition.cloud, calls=Calls(count=2, per=2.0))))
    bed.cloud.faults.script("make_part", Transient("not now"))
    bed.settle()
    bed.expect(4)


def test_a_cloud_that_creates_no_parts_is_reported_before_anything_is_created() -> None:
    bed = Bed(size=1, definition=a_definition(parts=(DATA,)))
    bed.orchestrator = _Partless(bed.cloud)
    done = bed.run()
    assert "makes no parts" in done.failures[0]
    assert not any(isinstance(outcome.step, Create) for outcome in done.outcomes)
    assert bed.cloud.created == []
    bed.desire(0)
    bed.settle()
    assert bed.known() == set()


class _Partless:
    """A cloud without parts."""

    def __init__(self, cloud: Any) -> None:
        self.list, self.find, self.create, self.destroy = cloud.list, cloud.find, cloud.create, cloud.destroy
