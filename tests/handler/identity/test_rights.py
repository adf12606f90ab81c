"""The verbs of each role, and what an actor is."""

from __future__ import annotations

from itertools import pairwise

import pytest

from handler.identity.actors import Actor, Origin, Way, local
from handler.identity.rights import VERBS, UserRole, Verb


def test_a_role_has_every_verb_of_the_roles_before_it_and_more() -> None:
    assert all(VERBS[less] < VERBS[more] for less, more in pairwise(UserRole))


def test_an_admin_has_every_verb() -> None:
    assert VERBS[UserRole.ADMIN] == frozenset(Verb)


@pytest.mark.parametrize("verb", [verb for verb in Verb if verb not in {Verb.READ, Verb.METRICS}])
def test_a_viewer_only_reads(verb: Verb) -> None:
    assert verb not in VERBS[UserRole.VIEWER]


@pytest.mark.parametrize("verb", [Verb.TUNE, Verb.ADOPT, Verb.DELETE, Verb.STORE, Verb.HOOKS])
def test_an_operator_runs_the_fleet_and_declares_nothing(verb: Verb) -> None:
    assert verb not in VERBS[UserRole.OPERATOR]


def test_a_caller_s_own_name_leaves_its_origin_as_it_is() -> None:
    named = local(peer="uid 1000").called("ada")
    assert named == Actor(name="ada", origin=Origin(way=Way.SOCKET, peer="uid 1000"))
