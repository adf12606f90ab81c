"""The webhooks of a running daemon: created, rotated, revoked, and identified by their tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace

from config.errors import Refused, StoreError
from config.model.access import SecretRef
from config.units import GroupId, HookId, Instant
from handler import logs
from handler.ingest.alerts import tokens
from handler.ingest.alerts.tokens import NewWebhook
from handler.ingest.request_rates import TOKEN, Allowances
from handler.ports.alerts import StoredHook
from handler.ports.store import Store

HOOKS_AT_MOST = 100
"""Every one of them is compared with every token that comes."""


class Hooks:
    """Kept in memory as they are on disk; only the event loop writes. Changes are durable before they count."""

    def __init__(self, store: Store, read_secret: Callable[[SecretRef], str], now: Callable[[], Instant]) -> None:
        self._store = store
        self._read_secret = read_secret
        self._now = now
        self._hooks: dict[str, StoredHook] = {}
        self._secrets: dict[HookId, str | None] = {}
        self._used: dict[HookId, Instant] = {}
        self._allowances = Allowances(TOKEN, HOOKS_AT_MOST)
        self._turn = asyncio.Lock()

    async def load(self) -> None:
        """Read the store, and every secret afresh; one that cannot be read shuts its webhook and is logged."""
        async with self._turn:
            await self._read()
            await self._read_secrets()

    async def reload(self) -> None:
        """Likewise after a declaration was brought into force; while the store is away, only the secrets are read."""
        async with self._turn:
            try:
                await self._read()
            except StoreError as error:
                logs.warn("hooks_not_read", error=str(error))
            await self._read_secrets()

    async def _read(self) -> None:
        """Read the store. Between that and what is in memory no webhook may change: a revoked one would be back."""
        self._hooks = {hook.name: hook for hook in await asyncio.to_thread(self._store.hooks)}

    async def _read_secrets(self) -> None:
        for hook in self._hooks.values():
            self._secrets[hook.id] = await asyncio.to_thread(self._secret_of, hook)

    def all(self) -> tuple[StoredHook, ...]:
        """Every one ever made, by name, with its last use."""
        return tuple(
            replace(self._hooks[name], last_used_at=self._used.get(hook.id, hook.last_used_at))
            for name, hook in sorted(self._hooks.items())
        )

    def named(self, name: str) -> StoredHook | None:
        """One of them."""
        return self._hooks.get(name)

    def holder(self, token: str, now: Instant) -> StoredHook | None:
        """Return the webhook with this token, and record its use."""
        hook = tokens.holder(self._hooks.values(), token, now)
        if hook is not None:
            self._used[hook.id] = now
        return hook

    def is_too_often(self, hook: StoredHook, now: Instant) -> bool:
        """Take one request of a webhook; returns whether it has had too many."""
        return self._allowances.wait(hook.id, now) is not None

    def with_id(self, id: str) -> StoredHook | None:
        """Return the webhook with this id, unless it is revoked."""
        return next((hook for hook in self._hooks.values() if hook.id == id and hook.revoked_at is None), None)

    def used(self, hook: StoredHook, now: Instant) -> None:
        """Record a use of a webhook that its signature identified."""
        self._used[hook.id] = now

    def secret(self, hook: StoredHook) -> str | None:
        """What a hook's bodies are signed with; ``None`` if it could not be read."""
        return self._secrets.get(hook.id)

    async def make(self, wanted: NewWebhook, groups: Iterable[GroupId]) -> str:
        """Create a webhook and return its token, which is shown only once.

        Raises:
            Refused: the name is no name or taken, a group is not declared, nothing is allowed, there are too many, or
                its secret cannot be read.
            StoreError: it could not be written down.
        """
        async with self._turn:
            self._check(wanted, frozenset(groups))
            if wanted.hmac_secret is not None:
                await asyncio.to_thread(self._read_secret, wanted.hmac_secret)
            token = tokens.mint()
            await self._save(
                StoredHook(
                    id=tokens.mint_id(),
                    name=wanted.name,
                    token=tokens.hashed(token),
                    groups=wanted.groups,
                    effects=wanted.effects,
                    directions=wanted.directions,
                    hmac_secret=wanted.hmac_secret,
                    pushes=wanted.pushes,
                    policy=wanted.policy,
                    observes=wanted.observes,
                    created_at=self._now(),
                )
            )
        logs.say("hook_made", hook=wanted.name)
        return token

    async def rotate(self, name: str) -> str:
        """Return a new token, shown only once; the old one stays valid until `finish` or the next rotation.

        Raises as `make`.
        """
        async with self._turn:
            token = tokens.mint()
            await self._save(tokens.rotated(self._living(name), tokens.hashed(token)))
        logs.say("hook_rotated", hook=name)
        return token

    async def finish(self, name: str) -> None:
        """End the old token of a rotation. Raises as `make`."""
        async with self._turn:
            await self._save(tokens.finished(self._living(name)))
        logs.say("hook_rotation_finished", hook=name)

    async def revoke(self, name: str) -> None:
        """Have it take nothing any more. Raises as `make`."""
        async with self._turn:
            await self._save(replace(self._living(name), revoked_at=self._now()))
        logs.say("hook_revoked", hook=name)

    async def flush(self) -> None:
        """Write down when webhooks were used. Raises StoreError."""
        async with self._turn:
            used, self._used = self._used, {}
            if not used:
                return
            try:
                await asyncio.to_thread(self._store.use_hooks, used)
            except StoreError:
                self._used = used | self._used
                raise
            self._hooks = {
                name: replace(hook, last_used_at=used.get(hook.id, hook.last_used_at))
                for name, hook in self._hooks.items()
            }

    def _check(self, wanted: NewWebhook, groups: frozenset[GroupId]) -> None:
        if not tokens.is_name(wanted.name):
            raise Refused(f"{wanted.name[:70]!r} is no name: lower-case letters, digits, '-' and '_', at most 64")
        if wanted.name in self._hooks:
            raise Refused(f"there is a webhook {wanted.name} already, or was: names are not used twice")
        if len(self._hooks) >= HOOKS_AT_MOST:
            raise Refused(f"there are {HOOKS_AT_MOST} webhooks already")
        foreign = sorted(set(wanted.groups) - groups)
        if foreign:
            raise Refused(f"there is no group {foreign[0]}")
        _check_use(wanted)

    def _living(self, name: str) -> StoredHook:
        hook = self._hooks.get(name)
        if hook is None:
            raise Refused(f"there is no webhook {name}")
        if hook.revoked_at is not None:
            raise Refused(f"webhook {name} is revoked: make another one")
        return hook

    async def _save(self, hook: StoredHook) -> None:
        await asyncio.to_thread(self._store.save_hook, hook)
        self._hooks[hook.name] = hook
        self._secrets[hook.id] = await asyncio.to_thread(self._secret_of, hook)

    def _secret_of(self, hook: StoredHook) -> str | None:
        if hook.hmac_secret is None or hook.revoked_at is not None:
            return None
        try:
            return self._read_secret(hook.hmac_secret)
        except Refused as error:
            logs.warn("hook_secret_unreadable", hook=hook.name, error=str(error))
            return None


def _check_use(wanted: NewWebhook) -> None:
    if sum((wanted.pushes, wanted.policy is not None, wanted.observes)) > 1:
        raise Refused("a webhook is for one thing: values, a policy or events; make one for each")
    if wanted.pushes:
        _check_pushing(wanted)
    elif wanted.observes or wanted.policy is not None:
        _check_bound(wanted)
    elif not wanted.effects:
        raise Refused("a webhook that may do nothing is of no use: name an effect")


def _check_bound(wanted: NewWebhook) -> None:
    if not wanted.groups or (wanted.policy is not None and len(wanted.groups) > 1):
        raise Refused("name the group: a webhook for events is for named groups, one for a policy is for one group")
    if wanted.effects:
        raise Refused("a webhook for a policy or for events takes no alerts: effects are for those that do")


def _check_pushing(wanted: NewWebhook) -> None:
    if not wanted.groups:
        raise Refused("name the groups whose values may be pushed: one token for all groups is not allowed")
    if wanted.effects or wanted.hmac_secret is not None:
        raise Refused("a webhook for values takes no alerts: effects and signatures are for those that do")
