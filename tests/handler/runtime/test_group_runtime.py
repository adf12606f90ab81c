from __future__ import annotations

import threading
from pathlib import Path

import pytest

from config.units import GroupId, Instant, MemberName, PolicyId
from handler.planning.roles import state_of
from handler.planning.status import MemberState
from handler.planning.steps import Plan
from handler.planning.world import Member, Phase, Server, ServerState, World
from handler.ports.orchestrator import Launch
from handler.runtime.group_runtime import GroupRuntime, LastPass, profile_of
from tests.support.engines import EngineBed, Up, hurry, model
from tests.support.waiting import PATIENT
from tests.support.worlds import INSTALLATION, NOW, WEB, a_definition, a_member, a_world, name_of
from trigger.explain.explanation import Explanation
from trigger.explain.time_words import say_queued
from trigger.reasons import Reason
from trigger.requests import Fleet, GroupState


def a_runtime(
    world: World | None, *, warm_up: float = 60.0, addresses: dict[MemberName, str] | None = None
) -> GroupRuntime:
    definition = a_definition(warm_up=warm_up)
    seen = None
    if world is not None:
        fleet = Fleet(listed=True, marked=0, in_service=0, creates_left=0, back_off_until=None)
        plan = Plan(group=WEB, revision=1, steps=(), waits=())
        states = {member.name: state_of(member, world, definition, NOW) for member in world.members}
        seen = LastPass(at=NOW, world=world, plan=plan, states=states, fleet=fleet, failures=(), retries=())
    return GroupRuntime(id=WEB, definition=definition, state=GroupState(), seen=seen, addresses=addresses or {})


def test_before_the_first_pass_nothing_is_listed_and_no_member_is_polled() -> None:
    runtime = a_runtime(None)
    assert not runtime.fleet().listed
    assert runtime.roster(NOW).members == ()


def test_only_members_that_have_entered_service_are_asked() -> None:
    world = a_world(
        a_member(1),
        a_member(2, Phase.MADE),
        a_member(3, Phase.INTENDED, state=None),
        a_member(4, Phase.LEAVING),
        a_member(5, phase=None),
        a_member(6, state=ServerState.ERROR),
    )
    assert [member.name for member in a_runtime(world).roster(NOW).members] == [name_of(1)]


@pytest.mark.parametrize(
    ("members", "profile"),
    [
        pytest.param([], None, id="without members nothing is known"),
        pytest.param([a_member(1, profile="a"), a_member(2, profile="a")], "a", id="all are of one"),
        pytest.param([a_member(1, profile="a"), a_member(2, profile="b")], "", id="they are of several"),
        pytest.param([a_member(1, profile="a"), a_member(2)], "", id="one is not known"),
        pytest.param(
            [a_member(1, profile="a"), a_member(2, Phase.MADE, profile="b")], "a", id="one does not serve yet"
        ),
        pytest.param([a_member(1, Phase.LEAVING, profile="a"), a_member(2, profile="b")], "b", id="one leaves"),
    ],
)
def test_the_profile_of_the_members_in_service_is_that_of_all_of_them(
    members: list[Member], profile: str | None
) -> None:
    world = a_world(*members)
    seen = a_runtime(world).seen
    assert seen is not None
    assert profile_of(world, seen.states) == profile


def test_the_roster_is_kept_until_a_pass_an_address_or_the_clock_changes_it() -> None:
    runtime = a_runtime(a_world(a_member(1)), addresses={name_of(1): "10.0.0.1"})
    later = Instant(NOW + 3600.0)
    first = runtime.roster(later)
    assert runtime.roster(Instant(later + 30.0)) is first
    assert runtime.roster(NOW) == a_runtime(a_world(a_member(1)), addresses=dict(runtime.addresses)).roster(NOW)
    runtime.addresses = {name_of(1): "10.0.0.2"}
    assert [member.address for member in runtime.roster(later).members] == ["10.0.0.2"]
    runtime.seen = a_runtime(a_world(a_member(1), a_member(2))).seen
    assert [member.name for member in runtime.roster(later).members] == [name_of(1), name_of(2)]


def test_a_member_that_is_missing_from_the_listing_is_still_expected_to_answer_where_it_was() -> None:
    world = a_world(a_member(1), a_member(2, state=None), a_member(3, state=None))
    assert state_of(world.members[1], world, a_definition(), NOW) is MemberState.UNKNOWN
    roster = a_runtime(world, addresses={name_of(1): "10.0.0.1", name_of(2): "10.0.0.2"}).roster(NOW)
    assert [(member.name, member.address) for member in roster.members] == [
        (name_of(1), "10.0.0.1"),
        (name_of(2), "10.0.0.2"),
        (name_of(3), ""),
    ]


def test_a_member_that_warms_up_is_asked_and_not_counted() -> None:
    world = a_world(a_member(1, in_service_at=Instant(NOW - 59)), a_member(2, in_service_at=Instant(NOW - 60)))
    assert [member.counted for member in a_runtime(world, warm_up=60.0).roster(NOW).members] == [False, True]


def test_a_clock_that_is_set_back_does_not_make_a_fleet_that_serves_warm_up() -> None:
    world = a_world(a_member(1, in_service_at=Instant(NOW + 86_400)))
    assert [member.counted for member in a_runtime(world, warm_up=60.0).roster(NOW).members] == [True]


OTHER, OUT = GroupId("other"), PolicyId("out")


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EngineBed:
    hurry(monkeypatch)
    text = model(service="shop")
    other = text[text.index("  web:\n") :].replace("  web:\n", "  other:\n").replace("edge", "side")
    return EngineBed(tmp_path, text=text + other)


async def both_grown(up: Up) -> None:
    await up.grown(2)
    await up.until(lambda: _serving(up, OTHER) == 2)


def _serving(up: Up, group: GroupId) -> int:
    seen = up.engine.runtimes[group].seen
    return 0 if seen is None else seen.fleet.in_service


def test_the_second_of_a_service_waits_its_turn_over_a_restart_and_gets_it(bed: EngineBed) -> None:
    may_build = threading.Event()
    create = bed.cloud.create

    def slowly(launch: Launch) -> Server:
        may_build.wait(PATIENT)
        return create(launch)

    async def before(up: Up) -> None:
        await both_grown(up)
        bed.cloud.create = slowly  # type: ignore[method-assign]
        assert (await up.operations.alarm(WEB, OUT, id="a1", by="nagios")).reason is Reason.SCALED_OUT
        asked = await up.operations.alarm(OTHER, OUT, id="a2", by="nagios")
        assert (asked.reason, asked.desired_to) == (Reason.WAITING_TURN, 2)
        queued = up.operations.group(OTHER).queued
        assert queued is not None
        assert "alarm nagios" in say_queued(queued, WEB, up.operations.now())
        await up.until(lambda: up.engine.runtimes[OTHER].decided_at is not None)
        await up.ticked(2)
        found = await up.operations.why(OTHER, None)
        assert isinstance(found, Explanation)
        assert (found.ahead, found.queued) == (WEB, queued)
        may_build.set()

    async def after(up: Up) -> None:
        await up.until(lambda: up.operations.group(OTHER).desired == 3)
        await up.until(lambda: len(bed.cloud.ours(INSTALLATION, OTHER)) == 3)
        assert len(bed.machines) == 3
        assert up.operations.group(OTHER).queued is None
        events = [(event.name, event.by) for event in await up.operations.history(OTHER, before=None, limit=99)]
        mine = [name for name, by in events if by == "alarm nagios"]
        assert mine == ["scaled_out", "waiting_turn"]

    bed.run(before)
    bed.run(after)


def test_both_ask_in_one_breath_and_only_one_of_them_scales(bed: EngineBed) -> None:
    async def scene(up: Up) -> None:
        await both_grown(up)
        bed.readings.value = 95.0
        await up.until(lambda: up.operations.group(OTHER).desired == 3 and up.operations.group(WEB).desired == 3)
        first = {
            group: [event.name for event in await up.operations.history(group, before=None, limit=99)]
            for group in (WEB, OTHER)
        }
        assert sum("waiting_turn" in names for names in first.values()) == 1

    bed.run(scene)
