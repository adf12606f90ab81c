"""The users of a running daemon and their tokens: made, changed, deleted, and found by a token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace

from config.document.entities import suffixed
from config.errors import Refused
from config.units import ROOT_ACCOUNT, ROOT_DOMAIN, AccountId, GroupId, Instant
from handler import logs
from handler.identity.accounts import Account, reach_of
from handler.identity.actors import Actor, Origin, Way
from handler.identity.grants import Anonymous, Grants, grants_of_anonymous
from handler.identity.rights import VERBS, UserRole
from handler.ports.identity import IdentityStore, StoredToken, StoredUser, TokenKey
from handler.users.accounts import KnownAccounts
from handler.users.tokens import check_name, digest_of, mint, new_uuid

USERS_AT_MOST = 10_000
TOKENS_AT_MOST = 100
"""Of one user."""


class KnownUsers:
    """Kept in memory as they are on disk; only the event loop writes. Changes are durable before they count."""

    def __init__(
        self,
        store: IdentityStore,
        now: Callable[[], Instant],
        groups_of: Callable[[frozenset[AccountId]], frozenset[GroupId]] = lambda _: frozenset(),
    ) -> None:
        """Make them; ``groups_of`` returns the groups that accounts have now."""
        self._store = store
        self._groups_of = groups_of
        self._now = now
        self._anonymous: Anonymous | None = None
        self._users: dict[str, StoredUser] = {}
        self._tokens: dict[TokenKey, StoredToken] = {}
        self._holders: dict[str, TokenKey] = {}
        """By the hashes of tokens."""
        self._used: dict[TokenKey, Instant] = {}
        self._followers: list[Callable[[str], None]] = []
        self.turn = asyncio.Lock()
        """Held while a user, or what belongs to one, is changed."""
        self.accounts = KnownAccounts(store, now, self.turn)

    async def load(self) -> None:
        """Read the store. Raises `StoreError`."""
        await self.accounts.load()
        self._anonymous = await asyncio.to_thread(self._store.anonymous)
        self._users = {user.name: user for user in await asyncio.to_thread(self._store.users)}
        self._tokens = {(each.user, each.name): each for each in await asyncio.to_thread(self._store.tokens)}
        self._index()

    async def flush(self) -> None:
        """Write when tokens were last used. Raises `StoreError`."""
        used, self._used = self._used, {}
        if used:
            for key in used.keys() & self._tokens.keys():
                self._tokens[key] = replace(self._tokens[key], last_used_at=used[key])
            await asyncio.to_thread(self._store.use_tokens, used)

    # Which caller

    @property
    def exist(self) -> bool:
        """Whether there ever was a first user, so that rights hold."""
        return self._anonymous is not None

    @property
    def anonymous(self) -> Anonymous | None:
        """What requests without a credential may do; ``None``: there are no users yet."""
        return self._anonymous

    def without_token(self, peer: str) -> Actor:
        """Return the actor of a request that has no valid token."""
        return Actor(name="", origin=Origin(way=Way.NONE, peer=peer), grants=grants_of_anonymous(self._anonymous))

    def bearer(self, token: str, peer: str) -> Actor | None:
        """Return the user that this token belongs to, and record the token's use; ``None``: it is not accepted."""
        digest = digest_of(token)
        key = self._holders.get(digest)
        if key is None:
            return None
        found, user, now = self._tokens[key], self._users[key[0]], self._now()
        expires_at = found.expires_at if digest == found.digest else found.old_expires_at
        if user.disabled_at is not None or (expires_at is not None and now >= expires_at):
            return None
        self._used[key] = now
        return self.actor(user.name, Origin(way=Way.TOKEN, peer=peer, credential=found.name), found)

    def actor(self, name: str, origin: Origin, token: StoredToken | None = None) -> Actor | None:
        """Return a user as the actor of a request, within the scope of a token; ``None``: it may not ask at all.

        Every credential of a user leads here.
        """
        if not self.may_ask(name):
            return None
        user = self._users[name]
        grants = self._whole(user).within(None, user.groups)
        if token is not None:
            grants = grants.within(token.verbs, token.groups)
        return Actor(name=name, origin=origin, account=user.account, grants=grants, is_user=True)

    def has(self, name: str) -> bool:
        """Tell whether there is such a user."""
        return name in self._users

    def may_ask(self, name: str) -> bool:
        """Tell whether there is such a user and it is not disabled."""
        return name in self._users and self._users[name].disabled_at is None

    def follow(self, follower: Callable[[str], None]) -> None:
        """Call a function with the name of each user whose role, groups, state or password has changed.

        It is also called for one that was deleted.
        """
        self._followers.append(follower)

    # Users

    def users(self) -> tuple[StoredUser, ...]:
        """Return every user, sorted by name."""
        return tuple(self._users[name] for name in sorted(self._users))

    def user(self, name: str) -> StoredUser:
        """Return one user.

        Raises:
            Refused: there is no such user.
        """
        if name not in self._users:
            raise Refused(f"there is no user {name}")
        return self._users[name]

    def account_of(self, name: str) -> AccountId | None:
        """Return the account of a user; ``None``: there is no such user."""
        found = self._users.get(name)
        return None if found is None else found.account

    async def begin(self, name: str, allowed: Anonymous) -> None:
        """Make the first user, an admin: from now on rights hold.

        Raises:
            Refused: there was a first user already, or the name is no name.
            StoreError: it could not be written.
        """
        async with self.turn:
            if self.exist:
                raise Refused("there is a first user already: trimtab user add makes another one")
            check_name(name, "user")
            first = self._made(name, name, ROOT_ACCOUNT, UserRole.ADMIN, None)
            await asyncio.to_thread(self._store.begin_users, first, allowed)
            self._users[name], self._anonymous = first, allowed
        logs.say("users_begun", user=name, anonymous=allowed.value)

    async def allow_anonymous(self, allowed: Anonymous) -> None:
        """Change what requests without a credential may do.

        Raises:
            Refused: there are no users yet.
            StoreError: it could not be written.
        """
        async with self.turn:
            self._refuse_without_users()
            await asyncio.to_thread(self._store.save_anonymous, allowed)
            self._anonymous = allowed
        logs.say("anonymous_changed", anonymous=allowed.value)

    async def add(
        self, name: str, role: UserRole, groups: Iterable[GroupId] | None, account: AccountId = ROOT_ACCOUNT
    ) -> StoredUser:
        """Make a user; one of another account than `ROOT_ACCOUNT` gets a name that tells nothing of those of others.

        Raises:
            Refused: there is no first user yet, the name is taken or no name, or there are too many; there is no such
                account, or its admins would have more than it.
            StoreError: it could not be written.
        """
        async with self.turn:
            self._refuse_without_users()
            check_name(name, "user")
            self._refuse_admin_beside_root(role, self.accounts.account(account))
            if any((user.account, user.display_name) == (account, name) for user in self._users.values()):
                raise Refused(f"there is a user {name} already")
            own = name if account == ROOT_ACCOUNT else suffixed(name, "-", (account, "users", name), self._users)
            if own in self._users:
                raise Refused(f"there is a user {own} already")
            if len(self._users) >= USERS_AT_MOST:
                raise Refused(f"there are {USERS_AT_MOST} users already")
            user = self._made(own, name, account, role, groups)
            await self._save(user)
        logs.say("user_added", user=own, account=account, role=role.value)
        return user

    async def give_role(self, name: str, role: UserRole, groups: Iterable[GroupId] | None) -> StoredUser:
        """Change a user's role and groups. Raises as `add`, and `Refused` for the last admin."""
        async with self.turn:
            before = self.user(name)
            self._refuse_admin_beside_root(role, self.accounts.account(before.account))
            return await self._changed(replace(before, role=role, groups=_sorted(groups)))

    async def change_role(self, name: str, role: UserRole) -> StoredUser:
        """Change a user's role; its groups stay. Raises as `give_role`."""
        async with self.turn:
            before = self.user(name)
            self._refuse_admin_beside_root(role, self.accounts.account(before.account))
            return await self._changed(replace(before, role=role))

    async def disable(self, name: str, *, disabled: bool) -> StoredUser:
        """Have a user's tokens not be accepted, or accepted again. Raises as `give_role`."""
        async with self.turn:
            before = self.user(name)
            since = before.disabled_at if before.disabled_at is not None else self._now()
            return await self._changed(replace(before, disabled_at=since if disabled else None))

    async def delete(self, name: str) -> None:
        """Delete a user and its tokens. Raises as `give_role`."""
        async with self.turn:
            self._refuse_last_admin(self.user(name), None)
            await asyncio.to_thread(self._store.delete_user, name)
            del self._users[name]
            self._tokens = {key: token for key, token in self._tokens.items() if key[0] != name}
            self._used = {key: at for key, at in self._used.items() if key[0] != name}
            self._index()
            self.notify(name)
        logs.say("user_deleted", user=name)

    # Tokens

    def tokens(self, user: str | None = None) -> tuple[StoredToken, ...]:
        """Return every token, or those of one user, with their last uses."""
        return tuple(
            replace(token, last_used_at=self._used.get(key, token.last_used_at))
            for key, token in sorted(self._tokens.items())
            if user is None or key[0] == user
        )

    async def new_token(self, wanted: StoredToken) -> str:
        """Make a token and return it; it is never shown again. The digest of ``wanted`` is replaced.

        Raises:
            Refused: there is no such user, the name is taken or no name, or the user has too many.
            StoreError: it could not be written.
        """
        async with self.turn:
            self.user(wanted.user)
            check_name(wanted.name, "token")
            if (wanted.user, wanted.name) in self._tokens:
                raise Refused(f"{wanted.user} has a token {wanted.name} already: rotate it, or choose another name")
            if len(self.tokens(wanted.user)) >= TOKENS_AT_MOST:
                raise Refused(f"{wanted.user} has {TOKENS_AT_MOST} tokens already: revoke one")
            token = mint()
            await self._save_token(replace(wanted, digest=digest_of(token), created_at=self._now()))
        logs.say("token_made", user=wanted.user, token=wanted.name)
        return token

    async def rotate(self, user: str, name: str, ends: Callable[[StoredToken], Instant | None]) -> str:
        """Return a new token in place of one; the old one stays valid until `finish` or the next rotation.

        ``ends`` returns when the new one expires, of the old one. Raises as `new_token`.
        """
        async with self.turn:
            before, token = self.token(user, name), mint()
            older = replace(before, old_digest=before.digest, old_expires_at=before.expires_at)
            made = replace(older, digest=digest_of(token), created_at=self._now(), expires_at=ends(before))
            await self._save_token(made)
        logs.say("token_rotated", user=user, token=name)
        return token

    async def finish(self, user: str, name: str) -> None:
        """End the old token of a rotation. Raises as `new_token`."""
        async with self.turn:
            await self._save_token(replace(self.token(user, name), old_digest=None, old_expires_at=None))
        logs.say("token_rotation_finished", user=user, token=name)

    async def revoke(self, user: str, name: str) -> None:
        """Delete a token, and the one before it. Raises as `new_token`."""
        async with self.turn:
            self.token(user, name)
            await asyncio.to_thread(self._store.delete_token, (user, name))
            del self._tokens[user, name]
            self._used.pop((user, name), None)  # a new one of this name has not been used
            self._index()
        logs.say("token_revoked", user=user, token=name)

    def token(self, user: str, name: str) -> StoredToken:
        """Return one token.

        Raises:
            Refused: there is no such user, or it has no such token.
        """
        self.user(user)
        if (user, name) not in self._tokens:
            raise Refused(f"{user} has no token {name}")
        return self._tokens[user, name]

    async def _changed(self, user: StoredUser) -> StoredUser:
        self._refuse_last_admin(self._users[user.name], user)
        await self._save(user)
        self.notify(user.name)
        logs.say("user_changed", user=user.name, role=user.role.value, disabled=user.disabled_at is not None)
        return user

    def _made(
        self, name: str, display_name: str, account: AccountId, role: UserRole, groups: Iterable[GroupId] | None
    ) -> StoredUser:
        return StoredUser(
            name=name,
            display_name=display_name,
            uuid=new_uuid(),
            account=account,
            role=role,
            groups=_sorted(groups),
            created_at=self._now(),
        )

    def _whole(self, user: StoredUser) -> Grants:
        """Return what a user may do that is not limited to some groups."""
        account = self.accounts.named(user.account)
        reach = frozenset[AccountId]()
        if account is not None:
            found = reach_of(user.role, account, self.accounts.all(), self.accounts.domains)
            if found is None:
                return Grants(VERBS[user.role])
            reach = found
        return Grants(VERBS[user.role], self._groups_of(reach), reach)

    async def _save(self, user: StoredUser) -> None:
        await asyncio.to_thread(self._store.save_user, user)
        self._users[user.name] = user

    async def _save_token(self, token: StoredToken) -> None:
        await asyncio.to_thread(self._store.save_token, token)
        self._tokens[token.user, token.name] = token
        self._index()

    def notify(self, name: str) -> None:
        """Call the followers: something of this user has changed."""
        for follower in self._followers:
            follower(name)

    def _index(self) -> None:
        digests = ((key, digest) for key, each in self._tokens.items() for digest in (each.digest, each.old_digest))
        self._holders = {digest: key for key, digest in digests if digest is not None}

    def _refuse_without_users(self) -> None:
        if not self.exist:
            raise Refused("there are no users yet: trimtab user init makes the first one")

    def _refuse_admin_beside_root(self, role: UserRole, account: Account) -> None:
        """Refuse an admin of all accounts that is not one of the installation."""
        if role is UserRole.ADMIN and account.domain == ROOT_DOMAIN and account.id != ROOT_ACCOUNT:
            raise Refused(
                f"account {account.id} is in domain {ROOT_DOMAIN}, so its admin would have all accounts: make the "
                f"admin in account {ROOT_ACCOUNT}, or give the account a domain of its own"
            )

    def _refuse_last_admin(self, before: StoredUser, after: StoredUser | None) -> None:
        others = any(_is_full_admin(user) for user in self._users.values() if user.name != before.name)
        if _is_full_admin(before) and not others and (after is None or not _is_full_admin(after)):
            raise Refused(f"{before.name} is the last admin of all groups: make another one first")


def _is_full_admin(user: StoredUser) -> bool:
    is_whole = user.account == ROOT_ACCOUNT and user.groups is None
    return user.role is UserRole.ADMIN and is_whole and user.disabled_at is None


def _sorted(groups: Iterable[GroupId] | None) -> tuple[GroupId, ...] | None:
    return None if groups is None else tuple(sorted(set(groups)))
