"""Operations on the daemon's other records: garbage, the store, webhooks and their tokens, recordings."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated

from annotated_types import Gt, IsFinite, Le, Len

from config.errors import Refused
from config.model.access import SecretRef
from config.model.effects import EffectKind
from config.units import ROOT_ACCOUNT, GroupId, MemberName, PolicyId
from handler.identity.rights import Verb
from handler.operations.address import ABOUT, group_or_all, installation, its_groups, its_webhook, over
from trigger.verdicts import Direction

if TYPE_CHECKING:
    from handler.identity.actors import Actor
    from handler.ingest.alerts.tokens import NewWebhook
    from handler.leasing.workers import ClusterStatus
    from handler.operations.facade import Operations
    from handler.operations.outcomes import Shown
    from handler.planning.status import Adoption
    from handler.recording.status import RecordingStatus


@over("DELETE", "/garbage/{name}", "abandon", verb=Verb.DELETE, on=installation)
class AbandonGarbage:
    """Forget a piece of garbage: its record is closed, and its machine is never touched again."""

    name: MemberName

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.garbage.abandon(self.name, by=by.name)
        return {"name": self.name, "abandoned": True}


@over(
    "POST",
    "/store/adopt",
    "adopt",
    body="handler.web.stores.AdoptBody",
    may_be_bare=True,
    verb=Verb.STORE,
    on=group_or_all,
)
class AdoptStore:
    """Accept the store of one group, or of every group in doubt, as the newest, and have this daemon act."""

    group: GroupId | None = None

    async def perform(self, operations: Operations, by: Actor) -> Adoption:
        return await operations.stores.adopt(self.group, by=by.name)


@over("POST", "/store/flush", "flush", verb=Verb.STORE, on=installation)
class FlushStore:
    """Write to the store what is only in memory."""

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.stores.flush()
        return {"flushed": True}


@over("POST", "/cluster/hand-over", "hand_over", verb=Verb.STORE, on=installation)
class HandOver:
    """Have the holder of the lease give it back, so that another worker takes over."""

    async def perform(self, operations: Operations, by: Actor) -> ClusterStatus:
        return operations.cluster.hand_over()


@over("PUT", "/recording", "switch", body="RecordBody", tag="recording", verb=Verb.TUNE, on=installation)
class SwitchRecording:
    """Start or stop recording samples, overriding the file; ``for_s``: for this many seconds only."""

    on: bool
    for_s: Annotated[float, Gt(0), Le(366 * 86400), IsFinite] | None = None

    async def perform(self, operations: Operations, by: Actor) -> RecordingStatus:
        return await operations.record(on=self.on, span=self.for_s, by=by.name)


@over(
    "POST",
    "/hooks",
    "make",
    secret=True,
    body="HookBody",
    tag="webhooks",
    status=201,
    verb=Verb.HOOKS,
    on=its_groups,
)
class MakeHook:
    """Make a webhook; its token is shown only once, in the answer."""

    name: Annotated[str, Len(1, 64)]
    groups: Annotated[tuple[GroupId, ...], Len(1, 1000)] | None = field(
        default=None, metadata={ABOUT: "Null: every group."}
    )
    effects: tuple[EffectKind, ...] | None = field(
        default=None, metadata={ABOUT: "Left out: all effects, if it takes alerts."}
    )
    directions: tuple[Direction, ...] = tuple(Direction)
    hmac_env: Annotated[str, Len(0, 200)] | None = field(
        default=None, metadata={ABOUT: "The file that holds the secret for signatures."}
    )
    hmac_file: Annotated[str, Len(0, 1000)] | None = None
    push: bool = field(default=False, metadata={ABOUT: "It takes values for these groups, and no alerts."})
    policy: Annotated[PolicyId, Len(1, 200)] | None = field(
        default=None, metadata={ABOUT: "A request executes this policy of its one group; it takes no alerts."}
    )
    observe: bool = field(default=False, metadata={ABOUT: "Events of a cloud have its groups looked at."})
    sign_for: Annotated[str, Len(1, 255)] | None = field(
        default=None,
        metadata={ABOUT: "Also return a signed URL, for requests whose Host header is this when they reach Trimtab."},
    )

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        _check_signing(self, by)
        wanted = replace(_wanted(self), name=operations.webhooks.name_for(self.name, by.account))
        shown = _shown(operations, wanted.name, await operations.webhooks.make(wanted))
        if self.sign_for is None:
            return shown
        return {**shown, "signed_path": operations.webhooks.signed_url(wanted.name, self.sign_for)}


@over(
    "POST",
    "/hooks/{name}/rotate",
    "rotate",
    secret=True,
    body="RotateBody",
    tag="webhooks",
    verb=Verb.HOOKS,
    on=its_webhook,
)
class RotateHook:
    """Give a webhook a new token, shown only once; with ``finish``, only end the old token."""

    name: str
    finish: bool = field(default=False, metadata={ABOUT: "Only end the old token."})

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        if self.finish:
            await operations.webhooks.finish(self.name)
            return {"name": self.name, "finished": True}
        return _shown(operations, self.name, await operations.webhooks.rotate(self.name))


@over(
    "POST",
    "/member-tokens/rotate",
    "rotate_members",
    secret=True,
    body="RotateBody",
    tag="webhooks",
    verb=Verb.HOOKS,
    on=installation,
)
class RotateMemberTokens:
    """Give new members tokens of a new key; with ``finish``, only end the tokens of the old key."""

    finish: bool = field(default=False, metadata={ABOUT: "Only end the old token."})

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await (
            operations.webhooks.finish_member_tokens() if self.finish else operations.webhooks.rotate_member_tokens()
        )
        return {"rotated": not self.finish, "finished": self.finish}


@over("DELETE", "/hooks/{name}", "revoke", tag="webhooks", verb=Verb.HOOKS, on=its_webhook)
class RevokeHook:
    """Revoke a webhook's tokens, so that it accepts nothing any more."""

    name: str

    async def perform(self, operations: Operations, by: Actor) -> Shown:
        await operations.webhooks.revoke(self.name)
        return {"name": self.name, "revoked": True}


DaemonOperation = (
    AbandonGarbage
    | AdoptStore
    | FlushStore
    | HandOver
    | SwitchRecording
    | MakeHook
    | RotateHook
    | RotateMemberTokens
    | RevokeHook
)


def _wanted(hook: MakeHook) -> NewWebhook:
    """Return the new webhook's declaration.

    Raises:
        Refused: its secret is given in two places.
    """
    from handler.ingest.alerts.tokens import NewWebhook

    if hook.hmac_env is not None and hook.hmac_file is not None:
        raise Refused("give the secret for signatures as a variable or as a file, not as both")
    signed = hook.hmac_env is not None or hook.hmac_file is not None
    every = () if hook.push or hook.observe or hook.policy is not None else tuple(EffectKind)
    return NewWebhook(
        name=hook.name,
        groups=hook.groups or (),
        effects=every if hook.effects is None else hook.effects,
        directions=hook.directions,
        hmac_secret=SecretRef(env=hook.hmac_env, file=hook.hmac_file) if signed else None,
        pushes=hook.push,
        policy=hook.policy,
        observes=hook.observe,
    )


def _check_signing(hook: MakeHook, by: Actor) -> None:
    """Check what a signed URL needs, and which secrets may be named, before the webhook is made.

    Raises:
        Refused: it executes no policy, or has no secret; or another account than the root names one of the daemon's.
    """
    if by.account != ROOT_ACCOUNT and (hook.hmac_env is not None or hook.hmac_file is not None):
        raise Refused("only account root may name secrets of the daemon's machine: leave hmac_env and hmac_file out")
    if hook.sign_for is not None and (hook.policy is None or (hook.hmac_env is None and hook.hmac_file is None)):
        raise Refused("a signed URL executes a policy and needs a secret: give both, or leave sign_for out")


def _shown(operations: Operations, name: str, token: str) -> Shown:
    """Show a token, this one time, and the path to send to."""
    from handler.ingest.addresses import ALERTS, EXECUTE, OBSERVE
    from handler.ingest.pushes.receiver import PATH as PUSH
    from handler.ports.alerts import HookUse

    use = next((hook.use for hook in operations.webhooks.all() if hook.name == name), HookUse.ALERTS)
    places = {HookUse.ALERTS: ALERTS, HookUse.EXECUTE: EXECUTE, HookUse.OBSERVE: OBSERVE}
    path = PUSH if use is HookUse.VALUES else f"{places[use]}/{token}"
    return {"name": name, "token": token, "path": path, "push": use is HookUse.VALUES}
