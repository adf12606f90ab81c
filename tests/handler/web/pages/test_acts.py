"""What a group's page offers to each role, and what it says beforehand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from config.model.catalogue import Mode
from config.model.effects import FrozenDirection
from handler.identity.grants import Grants
from handler.identity.rights import VERBS, UserRole
from handler.operations.address import address_of, right_of
from handler.operations.member_operations import ProtectMember
from handler.operations.outcomes import RevisionStatus
from handler.operations.registry import Operation
from handler.operations.size_operations import FreezeGroup, PauseGroup, ResumeGroup, ScaleGroup
from handler.planning.rolls import RollState
from handler.planning.status import GroupCondition, GroupStatus, MemberState, RollbackStatus, RollStatus
from handler.web.pages.acts import Allowed, act_bar, dialog_of, fleet_bar
from handler.web.pages.figures import minute
from handler.web.pages.offer import Offer
from handler.web.pages.offers import ON_MEMBERS, Entered, Topic, member_offers, offers_of
from handler.web.pages.pause_offers import pausing_fleet
from tests.support.pages import a_member, a_status
from tests.support.store import at
from tests.support.trigger import a_group, a_person, decided
from trigger.policies.manual_freezes import ManualFreeze
from trigger.requests import FleetPause, GroupState, Pause

A_FREEZE = ManualFreeze(direction=FrozenDirection.BOTH, since=at(0), until=at(3600), by="ada", because="the fair")
PAUSED = replace(a_status(a_member()), pause=Pause.ALL, freezes=(A_FREEZE,))


def all_offers(status: GroupStatus) -> Iterator[Offer]:
    yield from chain.from_iterable(offers_of(topic, status) for topic in Topic)
    for member in status.members:
        yield from member_offers(status, member)


def with_role(role: UserRole) -> Allowed:
    """Rule as the daemon does, on the rights of a role."""
    grants = Grants(VERBS[role])
    return lambda operation: grants.ruling(right_of(operation)).value == "allowed"


def offered(role: UserRole) -> set[str]:
    return {address_of(type(offer.operation)).name for offer in all_offers(PAUSED) if with_role(role)(offer.operation)}


OPERATES = {"scale", "pause", "resume", "freeze", "unfreeze", "converge", "protect", "replace", "dismiss", "roll"}


@pytest.mark.parametrize(
    ("role", "names"),
    [
        (UserRole.VIEWER, set()),
        (UserRole.OPERATOR, OPERATES),
        (UserRole.TUNER, OPERATES),
        (UserRole.ADMIN, OPERATES | {"evict"}),
    ],
)
def test_a_role_is_offered_what_it_may_do(role: UserRole, names: set[str]) -> None:
    assert offered(role) == names


@pytest.mark.parametrize("role", UserRole)
def test_a_page_has_a_button_for_every_offer_of_a_role_and_no_other(role: UserRole) -> None:
    bar = act_bar(PAUSED, with_role(role))
    assert (bar is None) is (role is UserRole.VIEWER)
    if bar is not None:
        assert [button.label for button in bar.buttons] == ["Scale…", "Pause…", "Freeze…", "Converge…", "Roll…"]
        assert bar.member_dialog == "/groups/web/acts?member="


def test_only_members_are_offered_to_whom_only_members_are_allowed() -> None:
    bar = act_bar(PAUSED, lambda operation: isinstance(operation, ProtectMember))
    assert bar is not None
    assert (bar.buttons, bool(bar.member_dialog)) == ((), True)


def test_the_kinds_that_decide_about_a_member_s_button_are_those_that_are_offered() -> None:
    assert {type(offer.operation) for offer in member_offers(PAUSED, a_member())} == set(ON_MEMBERS)


def test_every_offer_says_what_happens_and_what_has_happened() -> None:
    assert all(offer.label and all(offer.happens) and offer.happens and offer.done for offer in all_offers(PAUSED))


def foreseen(status: GroupStatus, size: int) -> str:
    first, *_ = offers_of(Topic.SCALE, status, Entered(size=size))
    return " ".join(first.happens)


@pytest.mark.parametrize(
    ("changed", "size", "words"),
    [
        ({}, 5, "Desired size 3 → 5, bounds 2–10. 2 members more"),
        ({}, 2, "Desired size 3 → 2, bounds 2–10. 1 member fewer"),
        ({}, 3, "Nothing changes."),
        ({}, 11, "this is refused: more than max"),
        ({}, 1, "this is refused: fewer than min"),
        ({"pause": Pause.ALL}, 5, "this is refused: paused"),
        ({"pause": Pause.IN}, 2, "this is refused: paused"),
        ({"pause": Pause.IN}, 5, "2 members more"),
        ({"fleet_pause": FleetPause(pause=Pause.OUT, by="ada", since=at(0))}, 5, "this is refused: paused"),
        ({"mode": Mode.OFF}, 5, "this is refused: mode off"),
        ({"mode": Mode.ADVISE}, 5, "no member changes"),
        ({"condition": GroupCondition.ORPHANED}, 5, "this is refused: the group has left"),
        ({"desired": None}, 5, "As things are, this is refused: no size yet"),
    ],
)
def test_a_size_says_what_it_would_do(changed: dict[str, Any], size: int, words: str) -> None:
    assert words in foreseen(replace(a_status(), **changed), size)


@pytest.mark.parametrize("size", [2, 5])
def test_no_quiet_time_is_promised_where_it_is_none(size: int) -> None:
    (offer,) = offers_of(Topic.SCALE, a_status(), Entered(size=size), becomes_quiet=False)
    assert "quiet" in foreseen(a_status(), size)
    assert "quiet" not in " ".join(offer.happens)


def test_a_size_that_is_sent_holds_only_for_the_size_that_was_shown() -> None:
    (offer,) = offers_of(Topic.SCALE, replace(a_status(), revision=7), Entered(size=5))
    assert offer.operation == ScaleGroup(group=a_status().group, size=5, if_match='"7.3"')


@pytest.mark.parametrize("size", [0, 1, 2, 5, 10, 12])
@pytest.mark.parametrize("fleet", [None, Pause.ALL, Pause.IN])
@pytest.mark.parametrize("pause", Pause)
def test_force_is_offered_where_it_and_nothing_less_is_accepted(pause: Pause, fleet: Pause | None, size: int) -> None:
    stopped = None if fleet is None else FleetPause(pause=fleet, by="ada", since=at(0))
    group, status = a_group(minimum=2, maximum=10), replace(a_status(), pause=pause, fleet_pause=stopped)
    state = GroupState(pause=pause, fleet_pause=stopped)

    def is_accepted(*, force: bool) -> bool:
        decision = decided(a_person(size, force=force), desired=status.desired, group=group, state=state)
        return decision.winner is not None

    plain, *forced = offers_of(Topic.SCALE, status, Entered(size=size))
    refused = not is_accepted(force=False)
    assert ("this is refused" in " ".join(plain.happens), bool(forced)) == (
        refused,
        refused and is_accepted(force=True),
    )


def test_a_forced_size_says_how_long_it_stays_and_what_a_pause_does_to_it() -> None:
    _, outside = offers_of(Topic.SCALE, a_status(), Entered(size=12))
    assert outside.operation == ScaleGroup(group=a_status().group, size=12, force=True, if_match='"1.3"')
    assert "outside the bounds" in outside.happens[0]
    assert "9 members more" in " ".join(outside.happens)
    _, paused = offers_of(Topic.SCALE, PAUSED, Entered(size=5))
    assert "members change once a person ends it" in paused.happens[0]
    assert len(offers_of(Topic.SCALE, PAUSED, Entered(size=3))) == 1, "the size of now needs no force"


@pytest.mark.parametrize(
    ("pause", "labels"),
    [
        (None, ["Pause everything", "Pause decisions", "Pause scale-out", "Pause scale-in"]),
        (Pause.IN, ["Resume the fleet", "Pause everything", "Pause decisions", "Pause scale-out"]),
        (Pause.ALL, ["Resume the fleet", "Pause decisions"]),
    ],
)
def test_the_fleet_is_paused_and_resumed_with_the_number_of_groups_it_concerns(
    pause: Pause | None, labels: list[str]
) -> None:
    fleet = None if pause is None else FleetPause(pause=pause, by="ada", since=at(0))
    offers = tuple(pausing_fleet(fleet, 1200))
    assert [offer.label for offer in offers] == labels
    assert all("1,200 groups" in " ".join(offer.happens) for offer in offers)


@pytest.mark.parametrize(
    ("froze", "labels"),
    [
        (None, []),
        (FrozenDirection.BOTH, ["End: freeze"]),
        (FrozenDirection.IN, ["End: shield from scale-in"]),
    ],
)
def test_a_group_is_frozen_or_shielded_for_the_time_that_is_entered(
    froze: FrozenDirection | None, labels: list[str]
) -> None:
    freezes = () if froze is None else (replace(A_FREEZE, direction=froze),)
    offers = offers_of(Topic.FREEZE, replace(a_status(), freezes=freezes), Entered(lasts=7200.0))
    assert [offer.label for offer in offers] == ["Freeze", "Shield from scale-in", "Freeze growth", *labels]
    assert offers[1].operation == FreezeGroup(group=a_status().group, lasts=7200.0, direction=FrozenDirection.IN)
    assert offers[1].happens[0] == "For 2h no policy and no alarm makes the group smaller; persons still may."


def test_a_freeze_says_whose_freeze_it_replaces_and_an_end_what_ends() -> None:
    both, inward, outward, ending = offers_of(Topic.FREEZE, replace(a_status(), freezes=(A_FREEZE,)))
    earlier = f"hat ada froze until {minute(A_FREEZE.until)} UTC (the fair)"
    assert all(earlier in offer.happens[-1] for offer in (both, inward, outward))
    assert ending.happens[0].startswith(f"W{earlier} ends now.")
    shielded = replace(a_status(), freezes=(replace(A_FREEZE, direction=FrozenDirection.IN),))
    _, inward, outward, _ = offers_of(Topic.FREEZE, shielded)
    assert ["ada" in " ".join(offer.happens) for offer in (inward, outward)] == [True, False]


def test_only_who_may_pause_all_groups_has_a_button_for_it() -> None:
    assert fleet_bar(with_role(UserRole.OPERATOR)) is not None
    assert fleet_bar(with_role(UserRole.VIEWER)) is None
    some = Grants(VERBS[UserRole.OPERATOR], frozenset({a_status().group}))
    assert fleet_bar(lambda operation: some.ruling(right_of(operation)).value == "allowed") is None


@pytest.mark.parametrize(
    ("pause", "further"),
    [
        (Pause.NO, ["Pause everything", "Pause decisions", "Pause scale-out", "Pause scale-in"]),
        (Pause.OUT, ["Resume", "Pause everything", "Pause decisions", "Pause scale-in"]),
        (Pause.DECISIONS, ["Resume", "Pause everything"]),
        (Pause.ALL, ["Resume", "Pause decisions"]),
    ],
)
def test_of_pauses_those_are_offered_that_change_something(pause: Pause, further: list[str]) -> None:
    assert [offer.label for offer in offers_of(Topic.PAUSE, replace(a_status(), pause=pause))] == further


def test_a_resume_says_that_the_fleet_stays_paused() -> None:
    fleet = FleetPause(pause=Pause.ALL, by="ada", since=at(0))
    first, *_ = offers_of(Topic.PAUSE, replace(PAUSED, fleet_pause=fleet))
    assert isinstance(first.operation, ResumeGroup)
    assert "The whole fleet stays as it is: paused." in first.happens[0]


def test_a_protected_member_is_kept_until_its_protection_ends() -> None:
    protecting, _, deleting, _ = member_offers(a_status(), a_member(protected=True))
    assert protecting.operation == ProtectMember(group=a_status().group, member=a_member().name, protected=False)
    assert "As things are, this is refused: web-k3f9ab-1 is protected." in deleting.happens


def test_a_member_that_does_not_serve_yet_is_not_replaced() -> None:
    _, replacing, *_ = member_offers(a_status(), a_member(state=MemberState.BUILDING))
    assert replacing.happens == ("As things are, this is refused: web-k3f9ab-1 is not in service.",)


def test_a_dialog_has_what_is_allowed_and_the_request_of_each() -> None:
    def pauses(operation: Operation) -> bool:
        return isinstance(operation, PauseGroup)

    markup = dialog_of("Pause web", offers_of(Topic.PAUSE, a_status()), pauses)
    assert re.findall(r'data-path="([^"]*)"', markup) == ["/api/v1/groups/web/pause"] * 4
    assert "Your role allows none of this." in dialog_of("Pause web", offers_of(Topic.PAUSE, PAUSED), lambda _: False)


A_ROLL = RollStatus(
    state=RollState.RUNNING, because="", target="new", surge="2", unavailable="10%", started_at=at(0), by="ada",
    ended_at=None, done=3, remaining=4, protected=(),
)  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "label", "words"),
    [
        ({"roll": A_ROLL}, "Stop the roll", "4 members of 7 stay as they are"),
        ({"roll": replace(A_ROLL, state=RollState.STOPPED), "old": 1}, "Roll", "as before: surge 2, unavailable 10%"),
        ({"roll": replace(A_ROLL, state=RollState.DONE), "old": 2}, "Roll", "2 members of an earlier profile"),
        ({}, "Roll", "nothing is replaced"),
        ({"mode": Mode.ADVISE, "old": 1}, "Roll", "this is refused: mode advise"),
    ],
)
def test_a_roll_says_how_many_members_it_replaces(changed: dict[str, Any], label: str, words: str) -> None:
    offer, *_ = offers_of(Topic.ROLL, replace(a_status(), **changed))
    assert offer.label == label
    assert words in " ".join(offer.happens)


def a_revision(number: int, profile: str, **more: Any) -> RevisionStatus:
    plainly = {"changes": (), "members": 1, "converged_at": None, "declared": False, "in_force": False, "edits": ()}
    return RevisionStatus(number=number, at=at(number), profile=profile, **{**plainly, **more})


REVISIONS = (
    a_revision(5, "new", declared=True),
    a_revision(4, "pinned", in_force=True),
    a_revision(3, "old", converged_at=at(9)),
    a_revision(2, "old"),
    a_revision(1, "new"),
)


def test_a_rollback_leads_to_each_earlier_profile_once_and_ends() -> None:
    pinned = RollbackStatus(revision=4, at=at(5), by="ada")
    _, *offers = offers_of(Topic.ROLL, replace(a_status(), rollback=pinned), revisions=REVISIONS)
    assert [offer.label for offer in offers] == ["End the rollback", "Roll back to revision 3"]
    assert "Members made from it: 1." in offers[1].happens[0]
    assert offers[1].happens[2] == "Members that there are stay, until a roll replaces them."


def test_a_rollback_while_a_roll_runs_turns_the_roll() -> None:
    *_, offer = offers_of(Topic.ROLL, replace(a_status(), roll=A_ROLL), revisions=REVISIONS)
    assert offer.happens[-1] == "The roll replaces members with that profile, too."
