"""The port to stored webhooks, the alerts that came in through them, and the notices that go out."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from config.model.access import SecretRef
from config.model.effects import EffectKind
from config.model.observability import NotifyTarget
from config.units import AlertId, GroupId, HookId, Instant, PolicyId
from handler.ports.notices import Filed, Notice, Tried
from trigger.verdicts import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHash:
    """What is kept of a token: enough to know it again, too little to make it. Both in hex."""

    salt: str = field(repr=False)
    digest: str = field(repr=False)


class HookUse(enum.Enum):
    """What a webhook takes."""

    ALERTS = "alerts"
    VALUES = "values"
    """Pushed values of its groups."""
    EXECUTE = "execute"
    """Requests that execute its policy of its one group."""
    OBSERVE = "observe"
    """Events of a cloud: the group concerned is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHook:
    """A webhook, and what may come in through it."""

    id: HookId
    name: str
    """The operator's name for it; unique, also among revoked ones."""
    token: TokenHash
    old_token: TokenHash | None = None
    """The one before, while the sender changes over."""
    old_until: Instant | None = None
    """When the old token ceases to be accepted."""
    groups: tuple[GroupId, ...]
    effects: tuple[EffectKind, ...]
    directions: tuple[Direction, ...]
    hmac_secret: SecretRef | None = None
    """What bodies are signed with, if they are: where it is kept."""
    pushes: bool = False
    """Values of its groups come in through it, and no alerts."""
    policy: PolicyId | None = None
    """The policy of its one group that a request executes, if it is for that."""
    observes: bool = False
    """Events of a cloud come in through it, and have its groups looked at."""
    created_at: Instant
    revoked_at: Instant | None = None
    """When it stopped accepting anything; the row is kept."""
    last_used_at: Instant | None = None

    @property
    def use(self) -> HookUse:
        """What it takes: one kind of request, for which its token alone is good."""
        if self.policy is not None:
            return HookUse.EXECUTE
        if self.observes:
            return HookUse.OBSERVE
        return HookUse.VALUES if self.pushes else HookUse.ALERTS


class AlertStatus(enum.Enum):
    """The status of one alert in a delivery."""

    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The first delivery of one alert for one group, and its result; identified by its first five fields."""

    group: GroupId
    alert: AlertId
    fingerprint: str
    starts_at: Instant
    status: AlertStatus
    at: Instant
    """When it was first taken in."""
    decision: str
    """The id of its first decision; repeated deliveries get the same id."""


class OutsideStore(Protocol):
    """The part of the store for alerts that come in and notices that go out."""

    # Alerts from outside
    def hooks(self) -> tuple[StoredHook, ...]:
        """Return every webhook, revoked ones too, sorted by name."""
        ...

    def save_hook(self, hook: StoredHook) -> None:
        """Insert or replace a webhook; its last use only ever moves forward.

        Raises:
            StoreError: another webhook has this name.
        """
        ...

    def use_hooks(self, used: Mapping[HookId, Instant]) -> None:
        """Store when webhooks were last used, in one transaction; unknown ones are left out."""
        ...

    def deliver(self, deliveries: Sequence[Delivery]) -> None:
        """Store deliveries in one transaction; repeated ones keep their first decision.

        Call this after the decision is stored: after a crash in between the sender delivers again, and the
        request's id then finds the first answer.
        """
        ...

    def delivered(self, group: GroupId, alert: AlertId, fingerprint: str) -> tuple[Delivery, ...]:
        """Return all stored deliveries of one alert; the latest start first, FIRING before RESOLVED."""
        ...

    # Notices
    def file_notices(self, filed: Sequence[Filed]) -> None:
        """Store notices, due at once, in one transaction: from then on they count as given.

        The same id again changes nothing.
        """
        ...

    def last_notices(self) -> tuple[Notice, ...]:
        """Return the last notice of trouble of each existing group, sorted by group; retention keeps it."""
        ...

    def last_decision_notices(self) -> Mapping[GroupId, Instant]:
        """Return when each existing group made the decision of its last notice of one; retention keeps that."""
        ...

    def waiting_targets(self) -> Sequence[tuple[GroupId, NotifyTarget]]:
        """Return where notices that wait to be sent would go: each target of each group once."""
        ...

    def redirect_notices(self, targets: Mapping[GroupId, NotifyTarget]) -> None:
        """Have the notices of these groups that wait go to other targets, in one transaction."""
        ...

    def end_decision_notices(self, groups: Sequence[GroupId]) -> None:
        """Let go of the last decisions of groups that send them no longer; those that wait are still sent."""
        ...

    def due_notices(self, now: Instant, limit: int, *, besides: Sequence[NotifyTarget] = ()) -> tuple[Filed, ...]:
        """Return the oldest notices that are due, in the order of storing; none for the targets in ``besides``.

        Of a group that waits for another attempt nothing is due: its notices never overtake each other.
        """
        ...

    def notice_tried(self, id: str, tried: Tried) -> None:
        """Store an attempt and, if it is the last one, a line of history in the same transaction."""
        ...
