"""Worlds in the middle of a roll."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from hypothesis import strategies as st

from handler.planning.desired import DesiredState, Rolling
from handler.planning.plan import plan
from handler.planning.steps import Create, MarkLeaving, Plan
from handler.planning.world import Leaving, World
from tests.support.planning import worlds
from tests.support.worlds import NOW, a_definition, a_member, a_registration, a_world, desired, limits

OLD: Final = "old"
NEW: Final = "new"
ONE_MORE: Final = Rolling(surge=1, unavailable=0)
ONE_LESS: Final = Rolling(surge=0, unavailable=1)


def rolling(size: int | None, roll: Rolling | None = ONE_MORE) -> DesiredState:
    return replace(desired(size), roll=roll)


def made_of(*profiles: str | None, now: str = NEW, **records: Mapping[str, Any]) -> World:
    """Members in service, by what they are made of; ``m2={"protected": True}`` changes the second one's record."""
    members = [
        a_member(number, profile=profile, **records.get(f"m{number}", {})) for number, profile in enumerate(profiles, 1)
    ]
    registrations = [a_registration(number) for number in range(1, len(members) + 1)]
    return replace(a_world(*members, registrations=registrations), profile=now)


def planned(world: World, size: int | None, roll: Rolling | None = ONE_MORE, **limited: Any) -> Plan:
    return plan(rolling(size, roll), world, a_definition(), limits(**limited), NOW)


def moves(plan: Plan) -> tuple[list[int], int]:
    """Who is chosen to leave, by number, and how many are made."""
    leaving = [int(step.member.rpartition("-")[2]) for step in plan.steps if isinstance(step, MarkLeaving)]
    return leaving, sum(isinstance(step, Create) for step in plan.steps)


budgets = st.builds(Rolling, surge=st.integers(0, 3), unavailable=st.integers(0, 3)).filter(
    lambda roll: roll.surge + roll.unavailable > 0
)


@st.composite
def mixed(draw: st.DrawFn) -> World:
    """Any world, whose members are made of this and that."""
    world = draw(worlds())
    made = st.sampled_from([OLD, NEW, None])
    members = [
        member if member.record is None else replace(member, record=replace(member.record, profile=draw(made)))
        for member in world.members
    ]
    going = draw(st.booleans())
    return replace(
        world,
        profile=NEW,
        members=tuple(
            replace(member, record=replace(member.record, leaving=Leaving.REPLACED))
            if going and member.record is not None and member.record.leaving is Leaving.SURPLUS
            else member
            for member in members
        ),
    )
