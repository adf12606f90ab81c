"""What a caller's grants allow, as a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.units import GroupId
from handler.identity.grants import EVERYTHING, NOTHING, READING, Anonymous, Grants, Ruling, grants_of_anonymous
from handler.identity.rights import INSTALLATION, OWN, VERBS, OnGroups, OnWebhook, Right, UserRole, Verb, on_groups

WEB, DB = GroupId("web"), GroupId("db")
OF_WEB = Grants(VERBS[UserRole.OPERATOR], frozenset({WEB}))
HOOK = OnWebhook("alerts")


@pytest.mark.parametrize(
    ("grants", "right", "of_webhook", "ruling"),
    [
        (OF_WEB, Right(Verb.SCALE, on_groups((WEB,))), None, Ruling.ALLOWED),
        (OF_WEB, Right(Verb.SCALE, on_groups((DB,))), None, Ruling.HIDDEN),
        (OF_WEB, Right(Verb.SCALE, on_groups((WEB, DB))), None, Ruling.HIDDEN),
        (OF_WEB, Right(Verb.DELETE, on_groups((WEB,))), None, Ruling.FORBIDDEN),
        (OF_WEB, Right(Verb.DELETE, on_groups((DB,))), None, Ruling.HIDDEN),
        (OF_WEB, Right(Verb.PAUSE, INSTALLATION), None, Ruling.FORBIDDEN),
        (OF_WEB, Right(Verb.READ, OWN), None, Ruling.ALLOWED),
        (OF_WEB, Right(Verb.HOOKS, OWN), None, Ruling.FORBIDDEN),
        (Grants(frozenset(Verb), frozenset({WEB})), Right(Verb.HOOKS, HOOK), (WEB,), Ruling.ALLOWED),
        (Grants(frozenset(Verb), frozenset({WEB})), Right(Verb.HOOKS, HOOK), (WEB, DB), Ruling.HIDDEN),
        (Grants(frozenset(Verb), frozenset({WEB})), Right(Verb.HOOKS, HOOK), None, Ruling.HIDDEN),
        (EVERYTHING, Right(Verb.HOOKS, HOOK), None, Ruling.ALLOWED),
        (EVERYTHING, Right(Verb.PAUSE, INSTALLATION), None, Ruling.ALLOWED),
        (READING, Right(Verb.PAUSE, INSTALLATION), None, Ruling.FORBIDDEN),
        (READING, Right(Verb.READ, on_groups((DB,))), None, Ruling.ALLOWED),
        (NOTHING, Right(Verb.READ, OWN), None, Ruling.FORBIDDEN),
        (NOTHING, Right(Verb.READ, on_groups((WEB,))), None, Ruling.FORBIDDEN),
    ],
)
def test_a_right_is_ruled_on_by_verb_and_groups(
    grants: Grants, right: Right, of_webhook: tuple[GroupId, ...] | None, ruling: Ruling
) -> None:
    assert grants.ruling(right, of_webhook) is ruling


_GROUPS = st.none() | st.frozensets(st.sampled_from([WEB, DB, GroupId("api")]))
_VERBS = st.frozensets(st.sampled_from(list(Verb)))
_REACHES = st.sampled_from([INSTALLATION, OWN, HOOK]) | st.builds(OnGroups, st.frozensets(st.sampled_from([WEB, DB])))


@given(_VERBS, _GROUPS, st.none() | _VERBS, _GROUPS, st.sampled_from(list(Verb)), _REACHES, _GROUPS)
def test_a_scope_never_allows_what_the_whole_does_not(
    verbs: frozenset[Verb],
    groups: frozenset[GroupId] | None,
    only_verbs: frozenset[Verb] | None,
    only_groups: frozenset[GroupId] | None,
    verb: Verb,
    reach: OnGroups,
    of_webhook: frozenset[GroupId] | None,
) -> None:
    whole, right = Grants(verbs, groups), Right(verb, reach)
    if whole.within(only_verbs, only_groups).ruling(right, of_webhook) is Ruling.ALLOWED:
        assert whole.ruling(right, of_webhook) is Ruling.ALLOWED


@pytest.mark.parametrize(
    ("allowed", "verbs"),
    [
        (None, {Verb.READ, Verb.METRICS}),
        (Anonymous.VIEWER, {Verb.READ, Verb.METRICS}),
        (Anonymous.METRICS, {Verb.METRICS}),
        (Anonymous.NONE, set()),
    ],
)
def test_requests_without_a_credential_read_what_was_chosen(allowed: Anonymous | None, verbs: set[Verb]) -> None:
    assert grants_of_anonymous(allowed).verbs == verbs
