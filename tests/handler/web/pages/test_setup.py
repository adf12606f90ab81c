from __future__ import annotations

from dataclasses import replace

from config.model.calendars import Calendar
from config.model.edits import Act, Edit
from config.model.freezes import FreezeWindow
from config.units import BalancerId
from handler.operations.outcomes import RevisionStatus
from handler.planning.attachments import Behind
from handler.ports.store import GroupEdit
from handler.web.pages.setup import SetupFacts, setup_of, setup_page
from tests.support.pages import NOW
from tests.support.store import a_signal, at
from tests.support.trigger import a_group
from trigger.requests import SignalKind

HOSTILE = "<img src=x onerror=alert(1)>"
EDIT = Edit(key="conditions.busy.above", act=Act.CHANGED, before="80", after=HOSTILE, file="m.yaml", line=3, groups=())
REVISION = RevisionStatus(
    number=2,
    at=at(0),
    profile="abc",
    changes=("template: old → new",),
    members=3,
    converged_at=at(60),
    declared=True,
    in_force=False,
    edits=(GroupEdit(at=at(-60), by="ada", edits=(EDIT, replace(EDIT, before=None, after=None, act=Act.ADDED))),),
)
FACTS = SetupFacts(
    group=replace(a_group(), freezes=(FreezeWindow(calendar=Calendar(cron="* * * * *"), duration=3600.0),)),
    revisions=(REVISION,),
    balancers=(Behind(balancer=BalancerId("edge"), port=8080, by="", members=3, leaving=1),),
    signals=(a_signal(SignalKind.FLOOR, 8),),
    now=NOW,
)


def test_a_definition_says_what_it_changed_and_how_the_file_was_edited_for_it() -> None:
    (shown,) = setup_of(FACTS).revisions
    assert (shown.number, shown.members, shown.changes) == (2, "3", ("template: old → new",))
    assert shown.marks == "declared, converged 2023-11-14 22:14"
    assert shown.edits == (
        f"2023-11-14 22:12 ada: conditions.busy.above: 80 → {HOSTILE}",
        "2023-11-14 22:12 ada: conditions.busy.above: added",
    )


def test_alerts_and_windows_that_are_in_force_come_first() -> None:
    alert, window = setup_of(FACTS).now
    assert alert == "alert deploy: floor 8 since 2023-11-14 22:12 UTC, ends by 2023-11-14 22:23 UTC"
    assert "blocks scaling of" in window


def test_a_balancer_that_only_earlier_members_are_behind_says_so() -> None:
    (shown,) = setup_of(FACTS).balancers
    assert (shown.by, shown.members, shown.leaving) == ("earlier members only", "3", "1")


def test_what_others_wrote_cannot_inject() -> None:
    assert "<img" not in setup_page(FACTS)
    assert "&lt;img" in setup_page(FACTS)


def test_a_group_without_any_of_it_says_so() -> None:
    page = setup_page(SetupFacts(group=a_group(), revisions=(), balancers=(), signals=(), now=NOW))
    for words in ("No alert", "Nothing is scheduled", "No member is behind a balancer"):
        assert words in page
