"""What the forms of the pages of users ask for: each is one operation. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from config.errors import Refused
from config.units import AccountId, GroupId, Seconds, parse_span
from handler.identity.rights import UserRole
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
from handler.web.pages.users import LASTS
from handler.web.pages.webhooks import groups_in

CredentialAct = NewToken | RotateToken | RevokeToken | NewKeyPair | RotateKeyPair | RevokeKeyPair
UserAct = CredentialAct | GiveRole | DisableUser | GivePassword | RemovePassword | DeleteUser
_NAME_AT_MOST: Final = 64
_PASSWORD_AT_MOST: Final = 1000
_NO_ACT: Final = "the form does not say what to do: press one of its buttons"


def new_user_of(texts: Mapping[str, str]) -> AddUser:
    """Return the user that a form asks for.

    Raises:
        Refused: it has no name, or no role.
    """
    account = texts.get("account", "").strip()
    return AddUser(
        name=_name(texts, "user"),
        role=_role(texts),
        groups=_scope(texts),
        account=AccountId(account) if account else None,
    )


def user_act_of(user: str, texts: Mapping[str, str], rotating: Collection[tuple[str, str]]) -> UserAct:
    """Return what a form on the page of a user asks for.

    Args:
        user: whose page it is.
        texts: the form's fields.
        rotating: tokens and key pairs that have two secrets now, as kind (``token``, ``pair``) and name.

    Raises:
        Refused: it asks for nothing, or for what cannot be.
    """
    if texts.get("kind") == "user":
        return _of_user(user, texts.get("act"), texts)
    return credential_act_of(user, texts, rotating)


def credential_act_of(user: str, texts: Mapping[str, str], rotating: Collection[tuple[str, str]]) -> CredentialAct:
    """Return what a form asks for of a user's tokens and key pairs. As `user_act_of`."""
    act = texts.get("act")
    match texts.get("kind"):
        case "token":
            return _of_token(user, act, texts, _checked("token", act, texts, rotating))
        case "pair":
            return _of_pair(user, act, texts, _checked("pair", act, texts, rotating))
        case _:
            raise Refused(_NO_ACT)


def _of_user(user: str, act: str | None, texts: Mapping[str, str]) -> UserAct:
    match act:
        case "role":
            return GiveRole(user=user, role=_role(texts), groups=_scope(texts))
        case "disable" | "enable":
            return DisableUser(user=user, disabled=act == "disable")
        case "password":
            return GivePassword(user=user, password=_password(texts))
        case "remove password":
            return RemovePassword(user=user)
        case "delete":
            return DeleteUser(user=user)
        case _:
            raise Refused(_NO_ACT)


def _of_token(user: str, act: str | None, texts: Mapping[str, str], name: str) -> CredentialAct:
    match act:
        case "new":
            return NewToken(user=user, name=name, lasts=_lasts(texts), groups=_scope(texts))
        case "rotate":
            return RotateToken(user=user, token=name, lasts=_lasts(texts))
        case "finish":
            return RotateToken(user=user, token=name, finish=True)
        case "revoke":
            return RevokeToken(user=user, token=name)
        case _:
            raise Refused(_NO_ACT)


def _of_pair(user: str, act: str | None, texts: Mapping[str, str], name: str) -> CredentialAct:
    match act:
        case "new":
            return NewKeyPair(user=user, name=name, lasts=_lasts(texts))
        case "rotate":
            return RotateKeyPair(user=user, pair=name, lasts=_lasts(texts))
        case "finish":
            return RotateKeyPair(user=user, pair=name, finish=True)
        case "revoke":
            return RevokeKeyPair(user=user, pair=name)
        case _:
            raise Refused(_NO_ACT)


def _checked(kind: str, act: str | None, texts: Mapping[str, str], rotating: Collection[tuple[str, str]]) -> str:
    """Return the name that a form gives.

    A page that is sent once more must not end the secret that it has just shown: while there are two, a form rotates
    none.
    """
    name = _name(texts, "token" if kind == "token" else "key pair")
    if act == "rotate" and (kind, name) in rotating:
        raise Refused(f"{name} has two secrets already: end the old one first")
    return name


def _name(texts: Mapping[str, str], what: str) -> str:
    name = texts.get("name", "").strip()
    if not 0 < len(name) <= _NAME_AT_MOST:
        raise Refused(f"a {what} needs a name of at most {_NAME_AT_MOST} characters")
    return name


def _role(texts: Mapping[str, str]) -> UserRole:
    word = texts.get("role", "")
    if word not in {role.value for role in UserRole}:
        raise Refused("choose a role")
    return UserRole(word)


def _scope(texts: Mapping[str, str]) -> tuple[GroupId, ...] | None:
    """Return the groups that are named; ``None``: none is, which means all."""
    return groups_in(texts.get("groups", "")) or None


def _password(texts: Mapping[str, str]) -> str:
    password = texts.get("password", "")
    if password != texts.get("again", ""):
        raise Refused("the password is not the same both times")
    if not 0 < len(password) <= _PASSWORD_AT_MOST:
        raise Refused(f"a password has at most {_PASSWORD_AT_MOST} characters, and at least one")
    return password


def _lasts(texts: Mapping[str, str]) -> Seconds | None:
    chosen = texts.get("lasts", "")
    if chosen not in LASTS:
        raise Refused("choose how long it lasts")
    return None if chosen == "never" else parse_span(chosen)
