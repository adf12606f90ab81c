"""How many more members fit, and what is planned when not all do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler.planning.desired import Rolling
from handler.planning.headroom import Headroom, Quota, UsageLimit, headroom_of
from handler.planning.plan import Snapshot, plan
from handler.planning.steps import Create, MakePart, Plan, Wait
from handler.planning.world import Leaving, Phase, World
from tests.support.planning import SIZES, worlds
from tests.support.rolling import NEW, OLD, ONE_LESS, ONE_MORE, made_of, moves
from tests.support.rolling import planned as planned_roll
from tests.support.snapshots import a_snapshot, read, text_of
from tests.support.worlds import (
    FRONT,
    NOW,
    a_definition,
    a_fleet,
    a_member,
    a_registration,
    a_world,
    desired,
    limits,
)


def quota(what: str, used: float, most: float | None, each: float = 1) -> Quota:
    return Quota(limit=UsageLimit(what=what, used=used, most=most), each=each)


def room(members: int) -> Headroom:
    return Headroom(members=members, by="cores 40 of 40")


def planned(world: World, size: int, members: int | None, **limited: object) -> Plan:
    given = limits(headroom=None if members is None else room(members), **limited)
    return plan(desired(size), world, a_definition(), given, NOW)


def made(planned: Plan) -> int:
    return sum(isinstance(step, Create) for step in planned.steps)


def waiting(planned: Plan) -> int:
    return dict(planned.waits).get(Wait.QUOTA, 0)


@pytest.mark.parametrize(
    ("quotas", "promised", "expected"),
    [
        pytest.param([], {}, None, id="nothing is told"),
        pytest.param([quota("machines", 3, None)], {}, None, id="no limit"),
        pytest.param([quota("machines", 3, 10)], {}, (7, "machines 3 of 10"), id="one limit"),
        pytest.param([quota("machines", 10, 10)], {}, (0, "machines 10 of 10"), id="used up"),
        pytest.param([quota("machines", 12, 10)], {}, (0, "machines 12 of 10"), id="lowered below what is used"),
        pytest.param([quota("machines", 0, 0)], {}, (0, "machines 0 of 0"), id="nothing at all"),
        pytest.param([quota("m", 3, 10), quota("c", 38, 40, 4)], {}, (0, "c 38 of 40, and each takes 4"), id="scarcer"),
        pytest.param([quota("m", 3, 10), quota("c", 2, 40, 0)], {}, (7, "m 3 of 10"), id="a size that is not known"),
        pytest.param([quota("m", 3, 10), quota("c", 3, 10)], {}, (7, "m 3 of 10"), id="the first of two"),
        pytest.param([quota("m", 3, 10)], {"m": 5, "c": 9}, (2, "m 8 of 10"), id="promised to others"),
        pytest.param([quota("m", 3, 10)], {"m": 50}, (0, "m 53 of 10"), id="more promised than there is"),
        pytest.param([quota("CPUs", 0.7, 1.0, 0.1)], {}, (3, "CPUs 0.7 of 1, and each takes 0.1"), id="parts of cores"),
        pytest.param(
            [quota("MiB", 0, 1 << 40, 1 << 20)],
            {},
            (1 << 20, f"MiB 0 of {1 << 40}, and each takes 1048576"),
            id="in full",
        ),
        pytest.param([quota("CPUs", float("nan"), 1.0)], {}, None, id="no number"),
        pytest.param([quota("CPUs", 0, float("inf"))], {}, None, id="without end"),
        pytest.param([quota("CPUs", 0, 1e12)], {}, None, id="more than groups ever want"),
    ],
)
def test_the_scarcest_limit_says_how_many_fit(
    quotas: list[Quota], promised: dict[str, float], expected: tuple[int, str] | None
) -> None:
    found = headroom_of(quotas, promised)
    assert (None if found is None else (found.members, found.by)) == expected


limited = st.builds(
    quota, st.sampled_from("abc"), st.integers(0, 20), st.none() | st.integers(0, 20), st.sampled_from([0, 1, 2.5, 4])
)


@given(st.lists(limited, max_size=4), st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)))
def test_so_many_fit_and_not_one_more(quotas: list[Quota], promised: dict[str, float]) -> None:
    found = headroom_of(quotas, promised)
    bounded = [(each, each.limit.most) for each in quotas if each.limit.most is not None and each.each]

    def fit(members: int) -> bool:
        return all(
            each.limit.used + promised.get(each.limit.what, 0) + members * each.each <= most for each, most in bounded
        )

    assert (found is None) is (not bounded)
    if found is not None:
        assert found.members == 0 or fit(found.members)
        assert not fit(found.members + 1)


# What is planned.


@pytest.mark.parametrize(
    ("size", "members", "creates", "expected"),
    [
        pytest.param(8, None, 10, (5, {}), id="no limit"),
        pytest.param(8, 9, 10, (5, {}), id="room for all"),
        pytest.param(8, 2, 10, (2, {Wait.QUOTA: 3}), id="room for some"),
        pytest.param(8, 0, 10, (0, {Wait.QUOTA: 5}), id="no room"),
        pytest.param(8, 4, 2, (2, {Wait.BUDGET: 3}), id="the budget is what binds"),
        pytest.param(8, 2, 2, (2, {Wait.BUDGET: 3}), id="both: the budget ends by itself"),
        pytest.param(3, 0, 10, (0, {}), id="no member is missing"),
    ],
)
def test_no_more_are_made_than_fit(
    size: int, members: int | None, creates: int, expected: tuple[int, dict[Wait, int]]
) -> None:
    answer = planned(a_fleet(3), size, members, creates=creates)

    assert (made(answer), dict(answer.waits)) == expected
    assert answer.quota == ("cores 40 of 40" if Wait.QUOTA in expected[1] else "")


def test_earlier_intents_come_first() -> None:
    open_intents = [a_member(number, Phase.INTENDED, None, disproved=True) for number in (1, 2, 3)]
    answer = planned(a_world(*open_intents), 5, 2)

    assert [step.member for step in answer.steps if isinstance(step, Create)] == [m.name for m in open_intents[:2]]
    assert waiting(answer) == 3


def test_no_parts_are_created_for_members_without_room() -> None:
    definition = a_definition(parts=(FRONT,))
    world = a_world(a_member(1, Phase.INTENDED, None, disproved=True))
    world = replace(world, members=tuple(replace(member, lacking=(FRONT.name,)) for member in world.members))

    def steps(members: int) -> Plan:
        return plan(desired(1), world, definition, limits(headroom=room(members)), NOW)

    assert [type(step) for step in steps(1).steps] == [MakePart]
    assert (steps(0).steps, waiting(steps(0))) == ((), 1)


def test_leaving_members_are_not_delayed() -> None:
    world = a_world(
        *(a_member(number) for number in range(1, 5)), a_member(5, Phase.LEAVING), registrations=[a_registration(5)]
    )
    without, within = planned(world, 3, None), planned(world, 3, 0)
    assert (without.steps, without.waits) == (within.steps, within.waits)


def test_a_roll_without_room_for_its_surge_reports_it_and_removes_no_member() -> None:
    answer = planned_roll(made_of(OLD, OLD, OLD), 3, ONE_MORE, headroom=room(0))
    assert moves(answer) == ([], 0)
    assert dict(answer.waits) == {Wait.QUOTA: 1, Wait.ROLLING: 3}


@pytest.mark.parametrize("roll", [ONE_LESS, Rolling(surge=1, unavailable=1)], ids=["no surge", "surge too"])
def test_a_roll_that_may_miss_one_frees_a_place_first(roll: Rolling) -> None:
    assert moves(planned_roll(made_of(OLD, OLD, OLD), 3, roll, headroom=room(0))) == ([1], 0)


def test_a_member_to_be_replaced_by_name_serves_until_there_is_room() -> None:
    world = a_world(
        a_member(1, leaving=Leaving.REPLACED), a_member(2), registrations=[a_registration(1), a_registration(2)]
    )
    answer = planned(world, 2, 0)
    assert (answer.steps, waiting(answer)) == ((), 1)


@given(world=worlds(), size=SIZES, members=st.integers(0, 4))
def test_in_no_world_more_is_made_than_fits_and_all_else_is_done(world: World, size: int | None, members: int) -> None:
    snapshot = a_snapshot(world, size)
    free = snapshot.plan()
    tight = replace(snapshot, limits=limits(headroom=room(members))).plan()

    assert made(tight) == min(made(free), members)
    others = [step for step in free.steps if not isinstance(step, Create)]
    assert [step for step in tight.steps if not isinstance(step, Create)] == others
    assert waiting(tight) >= made(free) - made(tight)
    assert bool(tight.quota) is bool(waiting(tight))


# Saved.


def test_what_fits_is_saved_with_a_world_and_read_back() -> None:
    snapshot = replace(a_snapshot(made_of(OLD, NEW), 5), limits=limits(headroom=room(1)))
    back = read(text_of(snapshot))
    assert (back.limits, back.plan()) == (snapshot.limits, snapshot.plan())


def test_a_world_that_is_written_by_hand_says_it_in_one_number() -> None:
    back: Snapshot = read({"desired": 3, "limits": {"headroom": 1}, "world": {}})
    assert (made(back.plan()), back.plan().quota) == (1, "its quota")


@pytest.mark.parametrize("wrong", [-1, "many", {"by": "cores"}, {"members": 1, "of": 2}, {"members": None}])
def test_what_is_no_room_is_refused_by_name(wrong: object) -> None:
    with pytest.raises(Exception, match=r"headroom"):
        read({"desired": 3, "limits": {"headroom": wrong}, "world": {}})
