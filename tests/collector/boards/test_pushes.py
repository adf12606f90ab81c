from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.boards.pushes import Pushed, Pushes
from config.units import GroupId, MemberName
from tests.support.collector import a_moment
from tests.support.pushes import API, ONE, TWO, WEB, pushed


def values(pushes: Pushes, group: GroupId, member: MemberName | None) -> dict[str, float]:
    return {name: one.value for name, one in pushes.of(group, member).items()}


def test_a_new_value_replaces_the_old_one() -> None:
    pushes = Pushes()
    pushes.put(WEB, ONE, "CPU", pushed(1.0))
    pushes.put(WEB, ONE, "CPU", pushed(2.0))
    assert (values(pushes, WEB, ONE), pushes.count) == ({"CPU": 2.0}, 1)


def test_members_the_group_itself_and_other_groups_are_told_apart() -> None:
    pushes = Pushes()
    for number, (group, member) in enumerate([(WEB, ONE), (WEB, TWO), (WEB, None), (API, None)]):
        pushes.put(group, member, "CPU", pushed(float(number)))
    assert [values(pushes, *whose) for whose in [(WEB, ONE), (WEB, TWO), (WEB, None), (API, None), (API, ONE)]] == [
        {"CPU": 0.0},
        {"CPU": 1.0},
        {"CPU": 2.0},
        {"CPU": 3.0},
        {},
    ]


def test_what_is_taken_back_is_absent_also_if_it_never_was() -> None:
    pushes = Pushes()
    pushes.put(WEB, ONE, "CPU", pushed(1.0))
    pushes.drop(WEB, ONE, "CPU")
    pushes.drop(WEB, ONE, "CPU")
    pushes.drop(API, None, "CPU")
    assert (values(pushes, WEB, ONE), pushes.count) == ({}, 0)


def test_values_of_members_that_left_and_of_counters_that_are_not_read_are_forgotten() -> None:
    pushes = Pushes()
    for member in (ONE, TWO, None):
        for name in ("CPU", "OLD"):
            pushes.put(WEB, member, name, pushed(1.0))
    pushes.put(API, None, "OLD", pushed(1.0))
    pushes.keep(WEB, {TWO}, {"CPU"})
    kept = [values(pushes, WEB, member) for member in (ONE, TWO, None)]
    assert (kept, values(pushes, API, None), pushes.count) == ([{}, {"CPU": 1.0}, {"CPU": 1.0}], {"OLD": 1.0}, 3)


def test_of_a_forgotten_group_nothing_is_left() -> None:
    pushes = Pushes()
    pushes.put(WEB, None, "ORDERS", pushed(1.0))
    pushes.forget(WEB)
    assert (values(pushes, WEB, None), pushes.count) == ({}, 0)


@pytest.mark.parametrize(
    ("now", "age"),
    [
        pytest.param(a_moment(30.0), 30.0, id="both-clocks-went-on"),
        pytest.param(a_moment(30.0, wall=3630.0), 3630.0, id="the-machine-was-suspended"),
        pytest.param(a_moment(30.0, wall=-3570.0), 30.0, id="the-wall-clock-was-set-back"),
    ],
)
def test_the_age_is_by_the_clock_that_says_longer(now: object, age: float) -> None:
    assert pushed(1.0).age(now) == age  # type: ignore[arg-type]


_WHOSE = st.tuples(st.sampled_from([WEB, API]), st.sampled_from([ONE, TWO, None]), st.sampled_from("ABC"))
_KEEP = st.tuples(st.sampled_from([WEB, API]), st.sets(st.sampled_from([ONE, TWO])), st.sets(st.sampled_from("ABC")))


@given(st.lists(st.one_of(st.tuples(st.sampled_from(["put", "drop"]), _WHOSE), st.tuples(st.just("keep"), _KEEP))))
def test_the_count_is_that_of_what_can_be_read(acts: list[tuple[str, tuple[object, ...]]]) -> None:
    pushes = Pushes()
    for act, (group, one, two) in acts:
        more = (Pushed(1.0, a_moment()),) if act == "put" else ()
        getattr(pushes, act)(group, one, two, *more)
    assert pushes.count == sum(len(pushes.of(group, member)) for group in (WEB, API) for member in (ONE, TWO, None))


@pytest.mark.parametrize("step", [-3600.0, 3600.0])
def test_a_value_is_as_old_as_before_once_the_clock_was_set_and_followed(step: float) -> None:
    pushes = Pushes()
    pushes.put(WEB, ONE, "CPU", pushed(1.0))
    pushes.follow(step)
    assert pushes.of(WEB, ONE)["CPU"].age(a_moment(30.0, wall=30.0 + step)) == 30.0
