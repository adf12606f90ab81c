"""Make, change and delete users and their tokens."""

from __future__ import annotations

from collections.abc import Callable, Collection

from config.units import AccountId, GroupId, Instant, Seconds
from handler.engine.engine import Engine
from handler.identity.grants import Anonymous, Grants
from handler.identity.rights import UserRole, Verb
from handler.operations.lookup import NoSuch, nearest, no_group
from handler.ports.credentials import StoredPassword
from handler.ports.identity import StoredToken, StoredUser
from handler.users.known import KnownUsers
from handler.users.login import Login
from handler.users.oidc import OidcLogin
from handler.users.sessions import Sessions


class UserAdmin:
    """Keeps users and tokens. A token is shown once, when it is made."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def known(self) -> KnownUsers:
        """Return the users and tokens that requests are compared with."""
        return self._engine.users

    @property
    def login(self) -> Login:
        """Return what makes sessions of names and passwords."""
        return self._engine.credentials.login

    @property
    def oidc(self) -> OidcLogin:
        """Return what makes sessions of what a provider proves."""
        return self._engine.oidc

    @property
    def sessions(self) -> Sessions:
        """Return the sessions of browsers."""
        return self._engine.credentials.sessions

    async def give_password(self, user: str, password: str, *, instead_of: StoredPassword | None = None) -> None:
        """Set a user's password; ``instead_of``: only if that is still the one.

        Raises:
            NoSuch: there is no such user.
            Refused: the password is too short, too long or the user's name, or another one is in force.
        """
        self._known(user)
        await self._engine.credentials.passwords.give(user, password, instead_of=instead_of)

    def password_of(self, user: str) -> StoredPassword | None:
        """Return the password in force, as its hash; ``None``: there is none."""
        return self._engine.credentials.passwords.known(user)

    async def remove_password(self, user: str) -> None:
        """Delete a user's password.

        Raises:
            NoSuch: there is no such user.
            Refused: it has none.
        """
        self._known(user)
        await self._engine.credentials.passwords.remove(user)

    def all(self, grants: Grants) -> tuple[StoredUser, ...]:
        """Return the users of the caller's accounts, by name."""
        return tuple(user for user in self._engine.users.users() if grants.holds(user.account))

    def user(self, name: str) -> StoredUser:
        """Return one user.

        Raises:
            NoSuch: there is no such user.
        """
        self._known(name)
        return self._engine.users.user(name)

    def anonymous(self) -> Anonymous | None:
        """Return what requests without a credential may do; ``None``: there are no users yet."""
        return self._engine.users.anonymous

    def tokens(self, user: str | None, grants: Grants) -> tuple[StoredToken, ...]:
        """Return the tokens of the caller's users, or those of one user.

        Raises:
            NoSuch: there is no such user.
        """
        own = {each.name for each in self.all(grants)}
        if user is not None and user not in own:
            raise NoSuch(f"there is no user {user}{nearest(user, own)}")
        return tuple(token for token in self._engine.users.tokens(user) if token.user in own)

    def tokens_of(self, user: str) -> tuple[StoredToken, ...]:
        """Return the tokens of one user, for itself."""
        return tuple(self._engine.users.tokens(user))

    async def begin(self, name: str, allowed: Anonymous) -> None:
        """Make the first user; from now on rights hold."""
        await self._engine.users.begin(name, allowed)

    async def allow_anonymous(self, allowed: Anonymous) -> None:
        """Change what requests without a credential may do."""
        await self._engine.users.allow_anonymous(allowed)

    async def add(
        self, name: str, role: UserRole, groups: Collection[GroupId] | None, account: AccountId
    ) -> StoredUser:
        """Make a user.

        Raises:
            NoSuch: there is no such account.
            Refused: the name is taken or no name.
        """
        known = [each.id for each in self._engine.users.accounts.all()]
        if account not in known:
            raise NoSuch(f"there is no account {account}{nearest(account, known)}")
        return await self._engine.users.add(name, role, groups, account)

    async def give_role(self, name: str, role: UserRole, groups: Collection[GroupId] | None) -> StoredUser:
        """Change a user's role and groups. Raises as `add`."""
        self._known(name)
        return await self._engine.users.give_role(name, role, groups)

    async def change_role(self, name: str, role: UserRole) -> StoredUser:
        """Change a user's role; its groups stay. Raises as `add`."""
        self._known(name)
        return await self._engine.users.change_role(name, role)

    async def disable(self, name: str, *, disabled: bool) -> StoredUser:
        """Have a user's tokens not be accepted, or accepted again. Raises as `add`."""
        self._known(name)
        return await self._engine.users.disable(name, disabled=disabled)

    async def delete(self, name: str) -> None:
        """Delete a user and its tokens. Raises as `add`."""
        self._known(name)
        await self._engine.users.delete(name)

    async def new_token(
        self,
        user: str,
        name: str,
        groups: Collection[GroupId] | None,
        verbs: Collection[Verb] | None,
        lasts: Seconds | None,
    ) -> str:
        """Make a token and return it, this one time. Raises as `add`."""
        self._known(user)
        wanted = StoredToken(
            user=user,
            name=name,
            digest="",
            groups=None if groups is None else tuple(sorted(set(groups))),
            verbs=None if verbs is None else tuple(sorted(set(verbs), key=lambda verb: verb.value)),
            created_at=self._now(),
            expires_at=self._ends(lasts),
        )
        return await self._engine.users.new_token(wanted)

    async def rotate(self, user: str, name: str, lasts: Callable[[StoredToken], Seconds | None]) -> str:
        """Return a new token in place of one; that is given, and stays valid until `finish`. Raises as `add`."""
        self._known_token(user, name)
        return await self._engine.users.rotate(user, name, lambda old: self._ends(lasts(old)))

    async def finish(self, user: str, name: str) -> None:
        """End the old token of a rotation. Raises as `add`."""
        self._known_token(user, name)
        await self._engine.users.finish(user, name)

    async def revoke(self, user: str, name: str) -> None:
        """Delete a token. Raises as `add`."""
        self._known_token(user, name)
        await self._engine.users.revoke(user, name)

    def require(self, groups: Collection[GroupId] | None, grants: Grants) -> None:
        """Check that the caller sees the groups that it names.

        Raises:
            NoSuch: it does not see one of them.
        """
        own = [group for group in self._engine.runtimes if grants.sees(group)]
        for group in groups or ():
            if group not in own:
                raise NoSuch(no_group(group, own))

    def token(self, user: str, name: str) -> StoredToken:
        """Return one token. Raises as `add`."""
        return self._engine.users.token(user, name)

    def _now(self) -> Instant:
        return self._engine.parts.clock().wall

    def _ends(self, lasts: Seconds | None) -> Instant | None:
        return None if lasts is None else Instant(self._now() + lasts)

    def _known(self, user: str) -> None:
        names = [known.name for known in self._engine.users.users()]
        if user not in names:
            raise NoSuch(f"there is no user {user}{nearest(user, names)}")

    def _known_token(self, user: str, name: str) -> None:
        self._known(user)
        names = [token.name for token in self._engine.users.tokens(user)]
        if name not in names:
            raise NoSuch(f"{user} has no token {name}{nearest(name, names)}")
