"""The page of users, and the page of one with its tokens and key pairs. Pure, with values as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from markupsafe import Markup

from config.units import GroupId, Instant
from handler.identity.rights import UserRole
from handler.ports.credentials import StoredKeyPair
from handler.ports.identity import StoredToken, StoredUser
from handler.web.pages.figures import ABSENT, minute
from handler.web.pages.layout import PageTemplate
from handler.web.session_cookie import TOKENS, USERS

_TEMPLATE = PageTemplate("users.html")
LASTS: Final = {"30d": "30 days", "90d": "90 days", "365d": "a year", "never": "until it is revoked"}
"""How long a new token or key pair lasts: the field's value, and its words."""
LASTS_AT_FIRST: Final = "90d"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSecret:
    """What is shown this one time."""

    title: str
    parts: tuple[tuple[str, str], ...] = field(repr=False)
    """Each with its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersFacts:
    """What the page of all users is made of."""

    users: Iterable[StoredUser]
    """Those that the visitor may manage, by name."""
    csrf: str
    """What a form must show; empty: the visitor is not logged in, and may change nothing."""
    message: str = ""
    """Why the last form was refused; empty: none was."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """The form of a new user as it was sent, if it was refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserFacts:
    """What the page of one user is made of."""

    user: StoredUser
    tokens: Iterable[StoredToken]
    pairs: Iterable[tuple[StoredKeyPair, bool]]
    """Each, and whether the seal opens it."""
    csrf: str
    """As in `UsersFacts`."""
    now: Instant
    made: NewSecret | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _User:
    name: str
    href: str
    account: str
    role: str
    groups: str
    limited_to: str
    """The same in the field of a form; empty: all."""
    since: str
    is_disabled: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Credential:
    """A token or a key pair."""

    kind: str
    """In the acts of its forms."""
    name: str
    shows: str
    """What a request shows of it; empty: that is a secret."""
    limits: str
    since: str
    used: str
    notes: str
    has_two: bool


@dataclass(frozen=True, slots=True)
class _Choice:
    value: str
    words: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _UserList:
    users: tuple[_User, ...]
    message: str
    csrf: str
    is_open: bool
    texts: Mapping[str, str]
    roles: tuple[_Choice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OneUser:
    user: _User
    action: str
    """Where its forms are sent to."""
    asks_password: bool
    tokens: tuple[_Credential, ...]
    pairs: tuple[_Credential, ...]
    made: NewSecret | None
    message: str
    csrf: str
    roles: tuple[_Choice, ...]
    lasts: tuple[_Choice, ...]


def users_page(facts: UsersFacts) -> Markup:
    """Lay out the page of all users."""
    shown = _UserList(
        users=tuple(map(_user, facts.users)),
        message=facts.message,
        csrf=facts.csrf,
        is_open=bool(facts.texts),
        texts=facts.texts,
        roles=_roles(facts.texts.get("role", UserRole.VIEWER.value)),
    )
    return _TEMPLATE("listed", shown)


def user_page(facts: UserFacts) -> Markup:
    """Lay out the page of one user."""
    return _TEMPLATE("one", _one(facts, user_href(facts.user.name)))


def own_page(facts: UserFacts) -> Markup:
    """Lay out the page of the visitor's own tokens and key pairs, whose forms ask for the password."""
    return _TEMPLATE("own", _one(facts, TOKENS, asks_password=True))


def _one(facts: UserFacts, action: str, *, asks_password: bool = False) -> _OneUser:
    return _OneUser(
        user=_user(facts.user),
        action=action,
        asks_password=asks_password,
        tokens=tuple(_token(each, facts.now) for each in facts.tokens),
        pairs=tuple(_pair(each, facts.now, opens=opens) for each, opens in facts.pairs),
        made=facts.made,
        message=facts.message,
        csrf=facts.csrf,
        roles=_roles(facts.user.role.value),
        lasts=tuple(_Choice(value, words, value == LASTS_AT_FIRST) for value, words in LASTS.items()),
    )


def user_href(name: str) -> str:
    """Return the address of a user's page."""
    return f"{USERS}/{quote(name, safe='')}"


def _user(user: StoredUser) -> _User:
    return _User(
        name=user.name,
        href=user_href(user.name),
        account=user.account,
        role=user.role.value,
        groups=_groups(user.groups),
        limited_to=", ".join(user.groups or ()),
        since=minute(user.created_at),
        is_disabled=user.disabled_at is not None,
    )


def _groups(groups: tuple[GroupId, ...] | None) -> str:
    return "all" if groups is None else ", ".join(groups)


def _roles(chosen: str) -> tuple[_Choice, ...]:
    return tuple(_Choice(role.value, role.value, role.value == chosen) for role in UserRole)


def _token(token: StoredToken, now: Instant) -> _Credential:
    verbs = "" if token.verbs is None else ", ".join(verb.value for verb in token.verbs)
    groups = "" if token.groups is None else _groups(token.groups)
    return _Credential(
        kind="token",
        name=token.name,
        shows="",
        limits="; ".join(text for text in (verbs, groups) if text) or "none but the role",
        since=minute(token.created_at),
        used=ABSENT if token.last_used_at is None else minute(token.last_used_at),
        notes=", ".join(_notes(token.expires_at, now, has_two=token.old_digest is not None)),
        has_two=token.old_digest is not None,
    )


def _pair(pair: StoredKeyPair, now: Instant, *, opens: bool) -> _Credential:
    notes = _notes(pair.expires_at, now, has_two=pair.old_api_key is not None)
    shut = () if opens else ("the seal's keys do not open it: it signs nothing",)
    return _Credential(
        kind="pair",
        name=pair.name,
        shows=pair.api_key,
        limits="none but the role",
        since=minute(pair.created_at),
        used=ABSENT if pair.last_used_at is None else minute(pair.last_used_at),
        notes=", ".join((*notes, *shut)),
        has_two=pair.old_api_key is not None,
    )


def _notes(expires_at: Instant | None, now: Instant, *, has_two: bool) -> Iterator[str]:
    if expires_at is None:
        yield "does not expire"
    else:
        yield f"{'expired' if expires_at <= now else 'expires'} {minute(expires_at)}"
    if has_two:
        yield "the old one is accepted, too"
