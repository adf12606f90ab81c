"""Operations on users and their bearer tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from annotated_types import Gt, Le, Len

from config.errors import Refused
from config.units import AccountId, GroupId, Seconds
from handler.identity.actors import Way
from handler.identity.grants import Anonymous
from handler.identity.rights import UserRole, Verb
from handler.operations.address import ABOUT, STAYS, installation, its_account, its_credentials, its_user, over

if TYPE_CHECKING:
    from handler.identity.actors import Actor
    from handler.operations.facade import Operations
    from handler.operations.outcomes import Shown
    from handler.ports.credentials import StoredKeyPair
    from handler.ports.identity import StoredToken, StoredUser

DAYS_90 = 90 * 86400.0
Named = Annotated[str, Len(1, 64)]
Scope = Annotated[tuple[GroupId, ...], Len(1, 1000)] | None
Lasts = Annotated[float, Gt(0), Le(3660 * 86400)] | None
_EVERY_GROUP = {ABOUT: "Null: every group of its account; of account root, every group and the daemon itself."}
_GROUPS_STAY: tuple[GroupId, ...] = ()
AS_BEFORE = 0.0
"""Seconds of what is rotated: as long as the one before it was made for."""
ROTATED: Mapping[str, object] = MappingProxyType(
    {ABOUT: "Seconds until it expires; null: never; left out: as long as the one before it was made for.", STAYS: True}
)
_SECONDS = {ABOUT: "Seconds until it expires; null: never."}


@over("POST", "/users/first", "begin_users", verb=Verb.USERS, on=installation, body="FirstUserBody", tag="users")
class BeginUsers:
    """Make the first user, an admin. From now on rights hold, and the token of the state directory ends."""

    name: Named
    anonymous: Anonymous = field(metadata={ABOUT: "What requests without a credential may do."})

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        if by.origin.way is not Way.SOCKET:
            raise Refused("the first user is made over the unix socket: trimtab user init")
        await operations.users.begin(self.name, self.anonymous)
        return {"name": self.name, "role": UserRole.ADMIN, "anonymous": self.anonymous}


@over("PUT", "/anonymous", "allow_anonymous", verb=Verb.USERS, on=installation, body="AnonymousBody", tag="users")
class AllowAnonymous:
    """Change what requests without a credential may do."""

    anonymous: Anonymous

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        before = operations.users.anonymous()
        await operations.users.allow_anonymous(self.anonymous)
        return {"anonymous": self.anonymous, "before": before}


@over("POST", "/users", "add_user", verb=Verb.USERS, on=its_account, body="UserBody", tag="users", status=201)
class AddUser:
    """Make a user; one of another account than `root` gets a name with a suffix, which the answer has."""

    name: Named
    role: UserRole
    groups: Scope = field(default=None, metadata=_EVERY_GROUP)
    account: AccountId | None = field(default=None, metadata={ABOUT: "That it belongs to; null: the caller's own."})

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        account = by.account if self.account is None else self.account
        operations.users.require(self.groups, by.grants)
        return shown_user(await operations.users.add(self.name, self.role, self.groups, account))


@over("PUT", "/users/{user}/role", "give_role", verb=Verb.USERS, on=its_user, body="RoleBody", tag="users")
class GiveRole:
    """Change a user's role and groups."""

    user: str
    role: UserRole
    groups: Scope = field(
        default=_GROUPS_STAY, metadata={ABOUT: f"Left out: its groups stay. {_EVERY_GROUP[ABOUT]}", STAYS: True}
    )

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        before = operations.users.user(self.user)
        operations.users.require(self.groups, by.grants)
        if self.groups == _GROUPS_STAY:
            after = await operations.users.change_role(self.user, self.role)
        else:
            after = await operations.users.give_role(self.user, self.role, self.groups)
        return {**shown_user(after), "before": {"role": before.role, "groups": before.groups}}


@over("POST", "/users/{user}/disable", "disable_user", verb=Verb.USERS, on=its_user, body="DisableBody", tag="users")
class DisableUser:
    """Have a user's tokens not be accepted, or accepted again."""

    user: str
    disabled: bool = True

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        return shown_user(await operations.users.disable(self.user, disabled=self.disabled))


@over(
    "PUT", "/users/{user}/password", "give_password", verb=Verb.USERS, on=its_user, body="PasswordBody",
    tag="users", audited=lambda _: "",
)  # fmt: skip
class GivePassword:
    """Set the password with which a user logs in to the console. The user's sessions end."""

    user: str
    password: Annotated[str, Len(1, 1000)] = field(repr=False)

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.users.give_password(self.user, self.password)
        return {"user": self.user, "password": True}


@over("DELETE", "/users/{user}/password", "remove_password", verb=Verb.USERS, on=its_user, tag="users")
class RemovePassword:
    """Delete a user's password, so that it cannot log in by one. The user's sessions end."""

    user: str

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.users.remove_password(self.user)
        return {"user": self.user, "password": False}


@over("DELETE", "/users/{user}", "delete_user", verb=Verb.USERS, on=its_user, tag="users")
class DeleteUser:
    """Delete a user and its tokens."""

    user: str

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.users.delete(self.user)
        return {"name": self.user, "deleted": True}


@over(
    "POST", "/users/{user}/tokens", "new_token", verb=Verb.USERS, on=its_credentials, body="TokenBody", tag="users",
    status=201, secret=True,
)  # fmt: skip
class NewToken:
    """Make a bearer token of a user; it is shown only once, in the answer."""

    user: str
    name: Named
    groups: Scope = field(default=None, metadata={ABOUT: "Only these of the user's groups; null: all of them."})
    verbs: Annotated[tuple[Verb, ...], Len(1, 100)] | None = field(
        default=None, metadata={ABOUT: "Only these of the role's verbs; null: all of them."}
    )
    lasts: Lasts = field(default=DAYS_90, metadata=_SECONDS)

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        operations.users.require(self.groups, by.grants)
        token = await operations.users.new_token(self.user, self.name, self.groups, self.verbs, self.lasts)
        return {**shown_token(operations.users.token(self.user, self.name)), "token": token}


@over(
    "POST", "/users/{user}/tokens/{token}/rotate", "rotate_token", verb=Verb.USERS, on=its_credentials,
    body="RotateTokenBody", may_be_bare=True, tag="users", secret=True,
)  # fmt: skip
class RotateToken:
    """Make a new token in place of one, shown only once; with ``finish``, only end the old token."""

    user: str
    token: str
    finish: bool = field(default=False, metadata={ABOUT: "Only end the old token."})
    lasts: Lasts = field(default=AS_BEFORE, metadata=ROTATED)

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        if self.finish:
            await operations.users.finish(self.user, self.token)
            return {"user": self.user, "name": self.token, "finished": True}
        token = await operations.users.rotate(self.user, self.token, lambda old: lasting(old, self.lasts))
        return {**shown_token(operations.users.token(self.user, self.token)), "token": token}


@over("DELETE", "/users/{user}/tokens/{token}", "revoke_token", verb=Verb.USERS, on=its_credentials, tag="users")
class RevokeToken:
    """Delete a token, and the one before it."""

    user: str
    token: str

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.users.revoke(self.user, self.token)
        return {"user": self.user, "name": self.token, "revoked": True}


def lasting(old: StoredToken | StoredKeyPair, lasts: Seconds | None) -> Seconds | None:
    """Return how long what is made in place of a token or a pair lasts; ``None``: for ever."""
    if lasts != AS_BEFORE:
        return lasts
    return None if old.expires_at is None else old.expires_at - old.created_at


UserOperation = (
    BeginUsers
    | AllowAnonymous
    | AddUser
    | GiveRole
    | DisableUser
    | GivePassword
    | RemovePassword
    | DeleteUser
    | NewToken
    | RotateToken
    | RevokeToken
)


def shown_user(user: StoredUser) -> Shown:
    """Return a user as everyone with the right sees it."""
    return {
        "name": user.name,
        "display_name": user.display_name,
        "uuid": user.uuid,
        "account": user.account,
        "role": user.role,
        "groups": user.groups,
        "created_at": user.created_at,
        "disabled_at": user.disabled_at,
    }


def shown_token(token: StoredToken) -> Shown:
    """Return a token without the token itself."""
    return {
        "user": token.user,
        "name": token.name,
        "groups": token.groups,
        "verbs": token.verbs,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "rotating": token.old_digest is not None,
        "last_used_at": token.last_used_at,
    }
