"""The pages of users: what they say, and what their forms ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from config.errors import Refused
from config.units import Instant
from handler.identity.rights import UserRole, Verb
from handler.operations.key_operations import NewKeyPair, RevokeKeyPair, RotateKeyPair
from handler.operations.user_operations import (
    AddUser,
    DeleteUser,
    DisableUser,
    GivePassword,
    GiveRole,
    NewToken,
    RemovePassword,
    RevokeToken,
    RotateToken,
)
from handler.ports.credentials import StoredKeyPair
from handler.ports.identity import StoredToken, StoredUser
from handler.web.pages.user_forms import UserAct, credential_act_of, new_user_of, user_act_of
from handler.web.pages.users import NewSecret, UserFacts, UsersFacts, own_page, user_page, users_page
from tests.support.filled import filled
from tests.support.pages import NOW

HOSTILE = "<img src=x onerror=alert(1)>"
BOB: StoredUser = replace(filled(StoredUser), name="bob", groups=("web",), disabled_at=None)
TOKEN: StoredToken = replace(filled(StoredToken), user="bob", name="ci", old_digest=None, expires_at=Instant(NOW + 60))
PAIR: StoredKeyPair = replace(filled(StoredKeyPair), user="bob", name="cmk", old_api_key=None, expires_at=None)
DAY = 86400.0


def shown(**facts: Any) -> str:
    given = {"user": BOB, "tokens": (TOKEN,), "pairs": ((PAIR, True),), "csrf": "token", "now": NOW, **facts}
    return str(user_page(UserFacts(**given)))


@pytest.mark.parametrize(
    ("kind", "act", "texts", "wanted"),
    [
        ("user", "role", {"role": "tuner"}, GiveRole(user="bob", role=UserRole.TUNER, groups=None)),
        (
            "user", "role", {"role": "viewer", "groups": "web, db"},
            GiveRole(user="bob", role=UserRole.VIEWER, groups=("web", "db")),
        ),
        ("user", "disable", {}, DisableUser(user="bob")),
        ("user", "enable", {}, DisableUser(user="bob", disabled=False)),
        ("user", "password", {"password": "word", "again": "word"}, GivePassword(user="bob", password="word")),
        ("user", "remove password", {}, RemovePassword(user="bob")),
        ("user", "delete", {}, DeleteUser(user="bob")),
        (
            "token", "new", {"lasts": "30d", "groups": "web"},
            NewToken(user="bob", name="ci", lasts=30 * DAY, groups=("web",)),
        ),
        ("token", "new", {"lasts": "never"}, NewToken(user="bob", name="ci", lasts=None)),
        ("token", "rotate", {"lasts": "90d"}, RotateToken(user="bob", token="ci", lasts=90 * DAY)),
        ("token", "finish", {}, RotateToken(user="bob", token="ci", finish=True)),
        ("token", "revoke", {}, RevokeToken(user="bob", token="ci")),
        ("pair", "new", {"lasts": "365d"}, NewKeyPair(user="bob", name="ci", lasts=365 * DAY)),
        ("pair", "rotate", {"lasts": "90d"}, RotateKeyPair(user="bob", pair="ci", lasts=90 * DAY)),
        ("pair", "finish", {}, RotateKeyPair(user="bob", pair="ci", finish=True)),
        ("pair", "revoke", {}, RevokeKeyPair(user="bob", pair="ci")),
    ],
)  # fmt: skip
def test_a_form_is_one_operation_on_the_user_of_the_page(
    kind: str, act: str, texts: dict[str, str], wanted: UserAct
) -> None:
    assert user_act_of("bob", {"kind": kind, "act": act, "name": "ci", **texts}, ()) == wanted


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ({}, "press one of its buttons"),
        ({"kind": "user"}, "press one of its buttons"),
        ({"kind": "token", "act": "fly", "name": "ci"}, "press one of its buttons"),
        ({"kind": "pair", "act": "fly", "name": "ci"}, "press one of its buttons"),
        ({"kind": "token", "act": "new", "lasts": "90d"}, "a token needs a name"),
        ({"kind": "pair", "act": "revoke", "name": "x" * 65}, "a key pair needs a name"),
        ({"kind": "token", "act": "new", "name": "ci", "lasts": "5000d"}, "choose how long"),
        ({"kind": "user", "act": "role", "role": "king"}, "choose a role"),
        ({"kind": "user", "act": "password", "password": "one", "again": "other"}, "not the same both times"),
        ({"kind": "user", "act": "password"}, "at least one"),
    ],
)
def test_a_form_that_cannot_be_is_refused_with_the_reason(texts: dict[str, str], why: str) -> None:
    with pytest.raises(Refused, match=why):
        user_act_of("bob", texts, ())


@pytest.mark.parametrize("kind", ["token", "pair"])
def test_a_page_that_is_sent_once_more_ends_no_secret_that_it_has_just_shown(kind: str) -> None:
    again = {"kind": kind, "act": "rotate", "name": "ci", "lasts": "90d"}
    with pytest.raises(Refused, match="end the old one first"):
        user_act_of("bob", again, {(kind, "ci")})


def test_a_new_user_is_of_the_account_that_is_named_or_the_maker_s_own() -> None:
    assert new_user_of({"name": " eve ", "role": "viewer"}) == AddUser(name="eve", role=UserRole.VIEWER)
    named = new_user_of({"name": "eve", "role": "admin", "account": "books", "groups": "web"})
    assert named == AddUser(name="eve", role=UserRole.ADMIN, groups=("web",), account="books")


def test_each_credential_says_what_it_may_do_and_until_when() -> None:
    page = shown(tokens=(replace(TOKEN, verbs=(Verb.READ, Verb.SCALE), groups=("web",)),))
    assert "read, scale; web" in page
    assert "expires 2023" in page
    assert "does not expire" in page
    late = replace(TOKEN, expires_at=Instant(NOW - 60), verbs=None, groups=None)
    assert "expired 2023" in shown(tokens=(late,))
    assert "do not open it" in shown(pairs=((PAIR, False),))


def test_of_two_secrets_the_old_one_is_ended_and_neither_rotated() -> None:
    page = shown(tokens=(replace(TOKEN, old_digest="digest"),), pairs=())
    assert ("End the old one of ci" in page, "Rotate ci" in page) == (True, False)


def test_no_secret_is_on_a_page_but_the_one_that_was_just_made() -> None:
    token = replace(TOKEN, digest="DIGEST", old_digest="DIGEST")
    pair = replace(PAIR, secret="DIGEST", old_secret="DIGEST")
    page = shown(tokens=(token,), pairs=((pair, True),))
    assert "DIGEST" not in page
    made = NewSecret(title="The token ci", parts=(("Token", "s3cret"),))
    assert "s3cret" in shown(made=made)
    assert "s3cret" not in repr(UserFacts(user=BOB, tokens=(), pairs=(), csrf="", now=NOW, made=made))


def test_the_own_page_asks_for_the_password_with_every_form_and_changes_nothing_but_credentials() -> None:
    page = str(own_page(UserFacts(user=BOB, tokens=(TOKEN,), pairs=((PAIR, True),), csrf="token", now=NOW)))
    assert page.count("<form") == page.count('name="now"') > 0
    assert 'value="user"' not in page
    with pytest.raises(Refused, match="press one of its buttons"):
        credential_act_of("bob", {"kind": "user", "act": "delete"}, ())


@pytest.mark.parametrize(("groups", "value"), [(None, ""), (("all",), "all"), (("db", "web"), "db, web")])
def test_the_form_for_a_role_keeps_the_groups_that_the_user_is_limited_to(
    groups: tuple[str, ...] | None, value: str
) -> None:
    assert f'<input id="change-groups" name="groups" value="{value}"' in shown(user=replace(BOB, groups=groups))


def test_who_is_not_logged_in_has_no_form() -> None:
    assert "<form" not in shown(csrf="")
    assert "<form" not in str(users_page(UsersFacts(users=(BOB,), csrf="")))


def test_what_people_wrote_is_text() -> None:
    hostile = replace(BOB, name=HOSTILE, display_name=HOSTILE, account=HOSTILE, groups=(HOSTILE,))
    token, pair = replace(TOKEN, name=HOSTILE), replace(PAIR, name=HOSTILE, api_key=HOSTILE)
    made = NewSecret(title=HOSTILE, parts=((HOSTILE, HOSTILE),))
    page = shown(user=hostile, tokens=(token,), pairs=((pair, True),), made=made, message=HOSTILE)
    texts = {"name": HOSTILE, "groups": HOSTILE, "account": HOSTILE}
    listed = str(users_page(UsersFacts(users=(hostile,), csrf="token", message=HOSTILE, texts=texts)))
    assert "<img" not in page + listed
