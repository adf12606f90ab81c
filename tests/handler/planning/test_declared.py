"""What changed from one revision to the next, in words; which one to go back to; which ones to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from config.model.access import SecretRef, SnmpAccess
from config.model.catalogue import BalancerUse, OnVanish, ProcessRecipe
from config.units import BalancerId, Instant
from handler.planning.declared import KEPT, Converged, Revision, changes, essence, last_good, superfluous
from handler.planning.desired import Definition
from tests.support.worlds import EDGE, a_definition

SECRET = "s3cret"


def made_of(release: int, **group: Any) -> Definition:
    """A definition with another profile for each release."""
    definition = a_definition(**group)
    recipe = ProcessRecipe(command=("serve",), directory=f"/srv/{release}")
    return replace(definition, profile=replace(definition.profile, recipe=recipe))


def a_revision(number: int, release: int = 0, *, good: bool = False) -> Revision:
    at = Instant(float(number))
    return Revision(number=number, at=at, definition=made_of(release), converged_at=at if good else None)


def with_recipe(command: tuple[str, ...] = ("serve",), env: Mapping[str, str] = MappingProxyType({})) -> Definition:
    definition = a_definition()
    return replace(definition, profile=replace(definition.profile, recipe=ProcessRecipe(command=command, env=env)))


def with_community(name: str) -> Definition:
    definition = a_definition()
    snmp = SnmpAccess(community=SecretRef(env=name))
    return replace(definition, profile=replace(definition.profile, snmp=snmp))


@pytest.mark.parametrize(
    ("before", "after", "messages"),
    [
        pytest.param(a_definition(), a_definition(), (), id="nothing"),
        pytest.param(a_definition(), a_definition(drain=90.0), ("group drain: 60 → 90",), id="a number"),
        pytest.param(
            a_definition(), a_definition(on_vanish=OnVanish.SHRINK), ("group on_vanish: replace → shrink",), id="a word"
        ),
        pytest.param(a_definition(), a_definition(service="shop"), ("group service: none → shop",), id="from nothing"),
        pytest.param(made_of(1), made_of(2), ("profile recipe directory: /srv/1 → /srv/2",), id="deep inside"),
        pytest.param(
            a_definition(),
            a_definition(balancers=()),
            ("group balancers: changed", "balancers edge: changed"),
            id="what has no word",
        ),
        pytest.param(
            with_recipe(), with_recipe(("serve", f"--key={SECRET}")), ("profile recipe command: changed",), id="command"
        ),
        pytest.param(
            with_recipe(), with_recipe(env={"KEY": SECRET}), ("profile recipe env KEY: changed",), id="environment"
        ),
        pytest.param(with_community("A"), with_community("B"), ("profile snmp community: changed",), id="secret"),
    ],
)
def test_changes_are_shown_field_by_field(before: Definition, after: Definition, messages: tuple[str, ...]) -> None:
    assert changes(before, after) == messages
    assert SECRET not in " ".join(changes(before, after))


def test_a_balancer_that_members_are_only_still_behind_is_no_part_of_a_definition() -> None:
    behind = a_definition(balancers=(EDGE, BalancerId("old")))
    kept = replace(behind, group=replace(behind.group, balancers=(BalancerUse(balancer=EDGE, port=8080),)))
    assert essence(kept) == essence(a_definition())


@pytest.mark.parametrize(
    ("revisions", "in_force", "expected"),
    [
        pytest.param((a_revision(1),), 1, None, id="nothing before"),
        pytest.param((a_revision(2, 1), a_revision(1)), 2, None, id="nothing that converged"),
        pytest.param((a_revision(2, 1), a_revision(1, good=True)), 2, 1, id="the one before"),
        pytest.param(
            (a_revision(3, 2), a_revision(2, 1), a_revision(1, good=True)), 3, 1, id="the one before the bad one"
        ),
        pytest.param((a_revision(2), a_revision(1, good=True)), 2, None, id="the profile is the same"),
        pytest.param(
            (a_revision(3, 2, good=True), a_revision(2, 1, good=True), a_revision(1, good=True)),
            2,
            1,
            id="once more back",
        ),
    ],
)
def test_the_last_good_one_is_before_what_is_in_force(
    revisions: tuple[Revision, ...], in_force: int, expected: int | None
) -> None:
    good = last_good(revisions, in_force)
    assert (None if good is None else good.number) == expected


def test_what_a_rollback_needs_is_kept_beside_the_newest() -> None:
    many = [a_revision(number, number, good=number in {2, 4}) for number in range(1, KEPT + 6)]
    assert superfluous(many, KEPT + 5) == (1, 2, 3, 5)
    assert superfluous(many, 3) == (1, 4, 5), "in force is 3, and 2 the last good one before it"
    assert superfluous(many[:KEPT], 1) == ()


def test_what_converged_is_of_both_revisions() -> None:
    converged = Converged(size=4, definition=2, at=Instant(0.0))
    assert converged.is_of(4, 2)
    assert not converged.is_of(5, 2)
    assert not converged.is_of(4, 3)
