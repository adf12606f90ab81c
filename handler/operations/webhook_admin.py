"""Make, rotate and revoke webhooks and their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from config.document.entities import suffixed
from config.errors import Refused
from config.units import ROOT_ACCOUNT, AccountId, GroupId, PolicyId
from handler.engine.engine import Engine
from handler.identity.grants import Grants
from handler.ingest.alerts.mapping import EVERYTHING, permissions_of
from handler.ingest.alerts.replies import AlertReply
from handler.ingest.alerts.tokens import NewWebhook
from handler.ingest.capabilities import signed_urls
from handler.operations.checking import checked
from handler.operations.lookup import NoSuch, nearest, runtime_of
from handler.operations.manual_requests import executable, requested
from handler.ports.alerts import StoredHook

_TAKEN = "check"
"""A webhook of this name would be changed at the address of the check of saved payloads."""


class WebhookAdmin:
    """Keeps webhooks. A token is shown once, when it is made."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def all(self) -> tuple[StoredHook, ...]:
        """Return every webhook ever made, by name."""
        return self._engine.ingest.hooks.all()

    def seen_by(self, grants: Grants) -> tuple[StoredHook, ...]:
        """Return the webhooks all of whose groups are a caller's, by name."""
        return tuple(hook for hook in self.all() if grants.covers(hook.groups or None))

    def name_for(self, name: str, account: AccountId) -> str:
        """Return what a new webhook is called; outside of the root account it tells nothing of others' webhooks.

        Raises:
            Refused: the account has one of this name already.
        """
        if account == ROOT_ACCOUNT:
            return name
        made = suffixed(name, "-", (account, "hooks", name), ())
        if self._engine.ingest.hooks.named(made) is not None:
            raise Refused(f"there is a webhook {name} already: choose another name, or rotate its token")
        return made

    async def make(self, wanted: NewWebhook) -> str:
        """Make a webhook; return its token, which is never shown again.

        Raises:
            Refused: the webhook cannot be, or its address would be that at which saved payloads are checked.
        """
        if wanted.name == _TAKEN:
            raise Refused(f"{_TAKEN} is the address at which saved payloads are checked: choose another name")
        if wanted.policy is not None:
            self._check_policy(wanted.groups, wanted.policy)
        return await self._engine.ingest.hooks.make(wanted, self._engine.catalogue().groups)

    async def rotate(self, name: str) -> str:
        """Give a webhook a new token, shown once; the old one stays valid until `finish`."""
        self._hook(name)
        return await self._engine.ingest.hooks.rotate(name)

    async def finish(self, name: str) -> None:
        """End the old token of a rotation."""
        self._hook(name)
        await self._engine.ingest.hooks.finish(name)

    async def revoke(self, name: str) -> None:
        """Revoke a webhook's tokens, so that it accepts nothing any more."""
        self._hook(name)
        await self._engine.ingest.hooks.revoke(name)

    async def rotate_member_tokens(self) -> None:
        """Give members that are made from now on tokens of a new key; older tokens stay valid until the finish."""
        await self._engine.parts.inbox.member_keys.rotate()

    async def finish_member_tokens(self) -> None:
        """End the tokens of the earlier key."""
        await self._engine.parts.inbox.member_keys.finish()

    async def check_alerts(self, body: bytes, hook: str | None) -> AlertReply:
        """Return the answer that a payload would get now through this webhook. Changes nothing."""
        may = EVERYTHING if hook is None else permissions_of(self._hook(hook))
        return await checked(self._engine, body, may)

    def signed_url(self, name: str, host: str) -> str:
        """Return path and query of a URL that executes a webhook's policy, signed for requests to a host.

        Raises:
            Refused: its secret cannot be read.
        """
        hook = self._hook(name)
        secret = self._engine.ingest.hooks.secret(hook)
        if not secret:
            raise Refused(f"the secret of webhook {name} cannot be read: see the daemon's log")
        stamp = datetime.fromtimestamp(self._engine.parts.clock().wall, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return signed_urls.signed_url(secret, host=host, name=name, key_id=hook.id, stamp=stamp)

    def _check_policy(self, groups: Sequence[GroupId], policy: PolicyId) -> None:
        """Check that the groups have a policy that can be executed. Raises `NoSuch`, and `Refused` as an execution."""
        for group in groups:
            definition = runtime_of(self._engine, group).definition.group
            known = executable(definition)
            if policy not in known:
                raise NoSuch(f"group {group} has no policy {policy}{nearest(policy, known)}")
            requested(self._engine.catalogue(), definition, policy, id="", by="")

    def _hook(self, name: str) -> StoredHook:
        hook = self._engine.ingest.hooks.named(name)
        if hook is None:
            names = [known.name for known in self._engine.ingest.hooks.all()]
            raise NoSuch(f"there is no webhook {name}{nearest(name, names)}")
        return hook
