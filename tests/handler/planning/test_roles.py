"""One table gives the role of each member; another the state that people see."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.model.repair import Repair
from config.units import Instant
from handler.planning.roles import COUNTED, Role, is_witnessed, role, state_of
from handler.planning.status import MemberState
from handler.planning.world import Leaving, Member, Phase, RegistrationState, ServerState
from tests.support.worlds import NOW, a_definition, a_member, a_registration, a_server, a_world, limits

INTENDED, MADE, SERVED, LEAVING = Phase.INTENDED, Phase.MADE, Phase.IN_SERVICE, Phase.LEAVING
FRESH = {"intended_at": NOW - 10, "made_at": NOW - 5}


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        pytest.param(a_member(1, INTENDED, None), Role.INTENDED, id="an intent without machine is open"),
        pytest.param(a_member(1, INTENDED, None, disproved=True), Role.DISPROVED, id="a definite not-found disproves"),
        pytest.param(a_member(1, INTENDED, ServerState.RUNNING), Role.ARRIVING, id="a late find has time to be ready"),
        pytest.param(a_member(1, MADE, ServerState.BUILDING, **FRESH), Role.BUILDING, id="a fresh build"),
        pytest.param(a_member(1, MADE, ServerState.BUILDING), Role.LATE, id="a build past its timeout"),
        pytest.param(
            a_member(1, INTENDED, ServerState.BUILDING), Role.LATE, id="an unconfirmed build past its timeout"
        ),
        pytest.param(
            a_member(1, MADE, ServerState.BUILDING, made_at=NOW - 900), Role.LATE, id="the timeout itself is too late"
        ),
        pytest.param(a_member(1, SERVED, ServerState.BUILDING), Role.UNSURE, id="a rebuild of one that has served"),
        pytest.param(a_member(1, MADE, **FRESH), Role.ARRIVING, id="runs, not ready, in time"),
        pytest.param(a_member(1, MADE, ready=False), Role.UNREADY, id="runs, not ready, too late"),
        pytest.param(a_member(1, MADE, ready=True), Role.ARRIVING, id="ready late is still ready"),
        pytest.param(a_member(1, SERVED), Role.SERVING, id="in service"),
        pytest.param(
            a_member(1, SERVED, ready=False), Role.SERVING, id="a failing probe takes no member out of service"
        ),
        pytest.param(a_member(1, SERVED, leaving=Leaving.REPLACED), Role.REPLACING, id="a person wants another one"),
        pytest.param(a_member(1, SERVED, None), Role.ABSENT, id="absence is no proof"),
        pytest.param(a_member(1, MADE, None), Role.ABSENT, id="absence of one that never served"),
        pytest.param(a_member(1, SERVED, None, disproved=True), Role.GONE, id="gone with a witness"),
        pytest.param(a_member(1, SERVED, ServerState.ERROR), Role.BROKEN, id="error (Nova ERROR)"),
        pytest.param(a_member(1, SERVED, ServerState.STOPPED), Role.BROKEN, id="stopped (Nova SHUTOFF)"),
        pytest.param(a_member(1, SERVED, ServerState.UNKNOWN), Role.UNSURE, id="an unknown word (Otter's defect g)"),
        pytest.param(a_member(1, SERVED, ServerState.PASSING), Role.PASSING, id="reboots or migrates (Nova REBOOT)"),
        pytest.param(
            a_member(1, MADE, ServerState.PASSING, **FRESH), Role.BUILDING, id="rebuilt before it ever served"
        ),
        pytest.param(a_member(1, MADE, ServerState.PASSING), Role.LATE, id="rebuilt before it served, for too long"),
        pytest.param(a_member(1, SERVED, ServerState.PARKED), Role.PARKED, id="set aside (Nova SUSPENDED, SHELVED)"),
        pytest.param(a_member(1, MADE, ServerState.PARKED), Role.PARKED, id="set aside before it ever served"),
        pytest.param(
            a_member(1, SERVED, ServerState.PARKED, leaving=Leaving.REPLACED), Role.REPLACING, id="set aside, replaced"
        ),
        pytest.param(
            a_member(1, SERVED, ServerState.DELETING), Role.DELETING, id="another party deletes it (Otter #1523)"
        ),
        pytest.param(a_member(1, LEAVING, ServerState.ERROR), Role.LEAVING, id="chosen to leave, whatever its state"),
        pytest.param(a_member(1, LEAVING, None), Role.LEAVING, id="chosen to leave, not listed"),
        pytest.param(a_member(1, None, ServerState.RUNNING), Role.ARRIVING, id="unknown to the store, runs"),
        pytest.param(a_member(1, None, ServerState.BUILDING), Role.BUILDING, id="unknown to the store, builds"),
        pytest.param(a_member(1, None, ServerState.ERROR), Role.BROKEN, id="unknown to the store, broken"),
    ],
)
def test_every_member_has_one_role(member: Member, expected: Role) -> None:
    assert role(member, a_world(member), a_definition(), NOW) is expected


def test_a_build_that_is_found_by_its_mark_is_timed_from_when_its_machine_was_made() -> None:
    """Its intent may have waited for long: for a full cloud, for parts, for the end of a pause."""
    found = replace(a_member(1, INTENDED), server=a_server(1, ServerState.BUILDING, created_at=Instant(NOW - 5)))
    assert role(found, a_world(found), a_definition(), NOW) is Role.BUILDING
    ahead = replace(found, server=a_server(1, ServerState.BUILDING, created_at=Instant(NOW + 3600)))
    assert role(ahead, a_world(ahead), a_definition(), NOW) is Role.BUILDING, "the cloud's clock is ahead"


def test_a_partial_listing_proves_no_member_gone() -> None:
    member = a_member(1, SERVED, None, disproved=True)
    assert role(member, a_world(member, complete=False), a_definition(), NOW) is Role.ABSENT


def test_without_a_probe_an_address_makes_ready_and_its_lack_ends_with_the_build_timeout() -> None:
    definition = a_definition(ready=None)
    member = a_member(1, MADE)
    lost = replace(member, server=a_server(1, address=None))
    assert role(member, a_world(member), definition, NOW) is Role.ARRIVING
    assert role(lost, a_world(lost), definition, NOW) is Role.UNREADY


@pytest.mark.parametrize(
    ("member", "registration", "expected"),
    [
        pytest.param(a_member(1, INTENDED, None), None, MemberState.BUILDING, id="intended"),
        pytest.param(
            a_member(1, MADE, ready=True), RegistrationState.PARKED, MemberState.JOINING, id="not yet serving"
        ),
        pytest.param(a_member(1, SERVED), RegistrationState.SERVING, MemberState.IN_SERVICE, id="serving"),
        pytest.param(
            a_member(1, SERVED, leaving=Leaving.REPLACED),
            RegistrationState.SERVING,
            MemberState.IN_SERVICE,
            id="replacing",
        ),
        pytest.param(
            a_member(1, MADE, leaving=Leaving.REPLACED), None, MemberState.JOINING, id="replaced before it served"
        ),
        pytest.param(a_member(1, LEAVING), RegistrationState.DRAINING, MemberState.DRAINING, id="draining"),
        pytest.param(a_member(1, LEAVING), None, MemberState.LEAVING, id="left its balancer"),
        pytest.param(a_member(1, SERVED, ServerState.ERROR), None, MemberState.BROKEN, id="broken"),
        pytest.param(a_member(1, SERVED, None), RegistrationState.SERVING, MemberState.UNKNOWN, id="absent"),
    ],
)
def test_every_member_has_one_state(
    member: Member, registration: RegistrationState | None, expected: MemberState
) -> None:
    world = a_world(member, registrations=[] if registration is None else [a_registration(1, registration)])
    assert state_of(member, world, a_definition(), NOW) is expected


@pytest.mark.parametrize(
    ("listings", "since", "expected"),
    [
        pytest.param(0, None, False, id="the first absence"),
        pytest.param(1, NOW - 60, False, id="the second"),
        pytest.param(2, NOW - 30, True, id="the third, after long enough"),
        pytest.param(9, NOW - 29, False, id="many, in too short a time"),
    ],
)
def test_absence_is_proved_by_enough_listings_over_enough_time(
    listings: int, since: float | None, expected: bool
) -> None:
    member = a_member(1, SERVED, None, absent_listings=listings, absent_at=since)
    assert is_witnessed(member, a_world(member), limits(), NOW) is expected
    assert not is_witnessed(member, a_world(member, complete=False), limits(), NOW)


def test_an_open_intent_is_never_proved_absent_by_listings() -> None:
    member = a_member(1, INTENDED, None, absent_listings=99, absent_at=NOW - 999)
    assert not is_witnessed(member, a_world(member), limits(), NOW)


def test_members_that_serve_or_will_are_counted() -> None:
    left_out = {Role.REPLACING, Role.GONE, Role.BROKEN, Role.LATE, Role.UNREADY, Role.DELETING}
    left_out |= {Role.LEAVING, Role.STUCK}
    assert set(Role) - set(COUNTED) == left_out


@pytest.mark.parametrize(
    ("passing", "for_so_long", "expected"),
    [
        pytest.param(None, 1e9, Role.PASSING, id="by default it is waited for"),
        pytest.param(3600.0, 3599.0, Role.PASSING, id="not yet"),
        pytest.param(3600.0, 3600.0, Role.BROKEN, id="as good as broken"),
        pytest.param(3600.0, None, Role.PASSING, id="not known for how long"),
    ],
)
def test_a_member_that_is_too_long_between_two_states_is_broken_if_the_group_declares_it(
    passing, for_so_long, expected
) -> None:
    since = None if for_so_long is None else Instant(NOW - for_so_long)
    member = replace(a_member(1, state=ServerState.PASSING), passing_since=since)
    definition = a_definition(repair=Repair(passing=passing))
    assert role(member, a_world(member), definition, NOW) is expected
