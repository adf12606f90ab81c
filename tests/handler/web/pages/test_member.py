from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from config.units import BalancerId, GroupId, MemberName
from handler.operations.member_admin import RecordedMember
from handler.operations.member_log import log_of
from handler.operations.outcomes import RevisionStatus
from handler.planning.status import MemberState
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Attempts, BalancerView, Phase
from handler.ports.stored import Event, EventKind
from handler.web.pages.member import LINES, LogAsked, MemberFacts, member_page
from tests.support.filled import filled
from tests.support.pages import NOW, a_member
from tests.support.store import at
from tests.support.worlds import a_member as a_world_member
from tests.support.worlds import a_record, a_registration, a_server, a_world

WEB, ONE = GroupId("web"), MemberName("web-k3f9ab-1")
RECORD = a_record(intended_at=at(0), made_at=at(2), in_service_at=at(10), profile="abc", server_id="i-1")
REVISION: RevisionStatus = filled(RevisionStatus)
STEP = Event(
    at=at(2), group=WEB, kind=EventKind.STEP, name="mark_leaving", by=ONE, result=StepResult.FAILED, message="no"
)


def shown(**changes: Any) -> str:
    given = {"recorded": recorded(), "status": a_member(ONE), "world": None, "revisions": (), "log": LogAsked()}
    return str(member_page(MemberFacts(group=WEB, member=ONE, now=NOW, **{**given, **changes})))


def words(**changes: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", shown(**changes)))


def recorded(*events: Event, **changes: Any) -> RecordedMember:
    return RecordedMember(record=replace(RECORD, **changes), events=events)


def test_a_member_that_is_gone_has_its_life_and_no_state_of_now() -> None:
    gone = recorded(phase=Phase.GONE, gone_at=at(90), attempts=(a_call(2),))
    page = words(recorded=gone, status=None)
    assert "∅ gone" in page
    assert re.search(r"Intended \S+ \S+ Made \S+ \S+ In service \S+ \S+ Gone", page)
    assert "has failed" not in page
    assert "In this state" not in page


def test_a_member_that_no_pass_has_seen_since_the_start_is_not_called_gone() -> None:
    page = words(status=None)
    assert "not listed since the start" in page
    assert "gone" not in page


def test_a_machine_without_a_record_is_said_to_be_so() -> None:
    page = words(recorded=RecordedMember(record=None, events=()))
    assert "Its cloud lists it, and it is not recorded yet." in page
    assert "Made of a profile that is not known" in page


@pytest.mark.parametrize(
    ("profiles", "expected"),
    [
        ((("abc", True),), "revision 1"),
        ((("abc", False), ("abc", False), ("new", True)), "revisions 1, 2, an earlier profile"),
        ((("new", True),), "profile abc, of no revision that is kept"),
    ],
)
def test_what_it_is_made_of_is_named_by_revision(profiles: tuple[tuple[str, bool], ...], expected: str) -> None:
    revisions = tuple(
        replace(REVISION, number=number, profile=profile, in_force=in_force)
        for number, (profile, in_force) in enumerate(profiles, 1)
    )
    assert f"Made of {expected} " in words(revisions=revisions)


def a_call(count: int) -> Attempts:
    return Attempts(call="register", balancer=BalancerId("edge"), count=count, again_at=at(120), because="HTTP 500")


def test_what_else_holds_is_said_in_sentences() -> None:
    status = replace(a_member(ONE, protected=True, warming=True, unheard_since=at(20)), unready="HTTP 404")
    page = words(status=status, recorded=recorded(failing_since=at(30), attempts=(a_call(3), a_call(0)), given=True))
    for sentence in (
        "It is protected: no scale-in chooses it.",
        "It warms up: its values do not count yet.",
        "Its probe says: HTTP 404.",
        "The register on edge has failed 3 times",
        "The register on edge was accepted",
        "A person gave it to the group",
    ):
        assert sentence in page


def test_its_machine_and_each_of_its_balancers_are_shown_as_the_last_pass_saw_them() -> None:
    member = replace(a_world_member(), name=ONE, record=RECORD, server=replace(a_server(), name=ONE, zone="az-1"))
    view = BalancerView(registrations={ONE: replace(a_registration(), member=ONE)})
    page = words(world=a_world(member, balancer_views={RECORD.balancers[0][0]: view}))
    assert "Zone az-1" in page
    assert f"{RECORD.balancers[0][0]}: serving" in page
    assert "It is behind no balancer that is known. No pass has looked yet." in words()


def test_history_has_the_outcome_of_steps_and_the_person_behind_notes() -> None:
    noted = replace(STEP, kind=EventKind.NOTE, name="protect", by="ada", result=None, message=ONE)
    done = replace(STEP, result=StepResult.DONE, took=3.0, message="")
    page = words(recorded=recorded(STEP, noted, done, replace(done, result=None, took=None)))
    for line in ("mark leaving: failed no", f"protect by ada: {ONE}", "done after 3 s", "mark leaving: under way"):
        assert line in page


def test_a_visitor_who_may_not_read_the_log_sees_why_and_no_form() -> None:
    assert "<form" not in shown()
    assert f"trimtab member log web {ONE}" in words()


def test_the_log_is_shown_as_text_with_its_form_as_it_was_sent() -> None:
    found = log_of(WEB, ONE, b"one\n<b>two</b>\n", 50)
    page = shown(log=LogAsked(csrf="token", lines=50, answer=found))
    assert "one\n&lt;b&gt;two" in page
    assert "<option selected>50" in page
    assert "All of it: 2 lines, as of" in page
    assert all(f">{number}</option>" in page for number in LINES)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("cloud prod shows no output of its machines", "cloud prod shows no output of its machines"),
        (log_of(WEB, ONE, b"", 50), "it has written nothing"),
        (log_of(WEB, ONE, b"a\nb\nc\n", 1), "The last 1 line, as of"),
    ],
)
def test_where_there_is_no_text_or_not_all_of_it_the_page_says_so(answer: Any, expected: str) -> None:
    assert expected in words(log=LogAsked(csrf="token", answer=answer))


def test_every_state_has_its_shape() -> None:
    assert all(state.value.replace("_", " ") in words(status=a_member(ONE, state)) for state in MemberState)
