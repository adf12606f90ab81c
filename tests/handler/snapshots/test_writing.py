"""A snapshot that was written and read plans as before, and contains no secret."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.errors import DeclarationError
from config.model.catalogue import ProcessRecipe
from config.model.repair import HealthRepair, Repair
from handler.planning.desired import Rolling
from handler.planning.evidence import Ground
from handler.planning.plan import plan
from handler.planning.world import World
from handler.snapshots.writing import OF_GROUP, laid_out
from tests.support.planning import SIZES, worlds
from tests.support.rolling import NEW, OLD, budgets, made_of
from tests.support.snapshots import a_snapshot, read, text_of
from tests.support.worlds import NOW, a_definition, a_fleet, desired, limits, name_of


@given(world=worlds(), size=SIZES, deleting=st.booleans())
def test_what_is_read_back_is_the_same_world_and_the_same_plan(world: World, size: int | None, deleting: bool) -> None:
    snapshot = a_snapshot(
        world, size, deleting=deleting, repair=Repair(broken=False, unhealthy=HealthRepair(at_most=2))
    )

    back = read(text_of(snapshot))

    assert (back.world, back.desired, back.limits, back.at) == (
        snapshot.world,
        snapshot.desired,
        snapshot.limits,
        snapshot.at,
    )
    assert back.plan() == snapshot.plan()


@given(roll=st.none() | budgets)
def test_a_roll_that_is_under_way_is_read_back(roll: Rolling | None) -> None:
    snapshot = a_snapshot(made_of(OLD, OLD, NEW), 2)
    snapshot = replace(snapshot, desired=replace(snapshot.desired, roll=roll))
    back = read(text_of(snapshot))
    assert (back.desired, back.plan()) == (snapshot.desired, snapshot.plan())


class Spied:
    """Stands before a value and writes down what is read of it."""

    def __init__(self, value: object, read: set[str], **inner: object) -> None:
        self._value, self._read, self._inner = value, read, inner

    def __getattr__(self, name: str) -> Any:
        self._read.add(name)
        return self._inner.get(name, getattr(self._value, name))


@given(world=worlds(), size=SIZES, deleting=st.booleans())
def test_all_that_planning_reads_of_a_definition_is_written(world: World, size: int | None, deleting: bool) -> None:
    definition = a_definition(repair=Repair(unhealthy=HealthRepair()))
    of_group: set[str] = set()
    of_profile: set[str] = set()
    of_probe: set[str] = set()
    probe = Spied(definition.profile.ready, of_probe)
    spied: Any = Spied(
        definition,
        set(),
        group=Spied(definition.group, of_group),
        profile=Spied(definition.profile, of_profile, ready=probe),
    )

    plan(desired(size, deleting=deleting), world, spied, limits(), NOW)

    assert of_group <= {*OF_GROUP, "id"}  # the world says whose it is
    assert of_profile <= {"ready", "parts"}
    assert of_probe <= {"within"}


def test_nothing_of_a_recipe_is_written() -> None:
    snapshot = a_snapshot(a_fleet(1))
    recipe = ProcessRecipe(command=("serve", "--key=s3cret"), env={"PASSWORD": "s3cret"})
    definition = replace(snapshot.definition, profile=replace(snapshot.definition.profile, recipe=recipe))
    assert "s3cret" not in text_of(replace(snapshot, definition=definition))


def test_every_member_has_a_line_of_its_own() -> None:
    lines = text_of(a_snapshot(a_fleet(3))).splitlines()
    assert [line.strip()[:23] for line in lines if '"record"' in line] == [
        f'{{"name": "web-k3f9ab-{n}"' for n in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    "value", [{}, [], {"a": [{"b": "x" * 200}] * 2, "ü": {"c": ["y" * 99] * 3}}, [1.5, None, True]]
)
def test_laid_out_or_not_it_is_the_same_json(value: object) -> None:
    assert json.loads(laid_out(value)) == value


def test_doubts_are_planned_from_what_is_read_back() -> None:
    world = replace(a_fleet(4), untraced=(name_of(8), name_of(9)), relisted=(name_of(7),))
    snapshot = a_snapshot(world, size=2, distrust=0.5)
    there_and_back = read(text_of(snapshot))
    assert there_and_back.plan() == snapshot.plan()
    assert [doubt.ground for doubt in snapshot.plan().doubts] == [Ground.CONTRADICTED, Ground.STALE]
    assert there_and_back.definition.group.distrust == 0.5


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"definition": {"distrust": 1.5}}, "distrust: 1.5 is not a share: a number from 0 to 1"),
        ({"definition": {"distrust": "30%"}}, "distrust: '30%' is not a share: a number from 0 to 1"),
        ({"world": {"untraced": "web-1"}}, "untraced: 'web-1' is not a list"),
        ({"world": {"relisted": [1]}}, "relisted: [1] is not a name"),
    ],
)
def test_a_share_or_a_list_of_names_that_is_none_is_refused(document: dict[str, object], problem: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        read({"desired": 1, "world": {}, **document})
    assert problem in str(refused.value)
