"""What is remembered of the world outside: webhooks, what was told through them, and what is to be told; as a port."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from config.model.access import SecretRef
from config.model.effects import EffectKind
from config.model.observability import NotifyTarget
from config.units import AlertId, GroupId, HookId, Instant
from handler.ports.notices import Filed, Notice, Tried
from trigger.verdicts import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHash:
    """What is kept of a token: enough to know it again, too little to make it. Both in hex."""

    salt: str = field(repr=False)
    digest: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHook:
    """A webhook through which alerts come in, or pushed values, and what they may do here."""

    id: HookId
    name: str
    """The operator's word for it; unique, also among those that are revoked."""
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
    created_at: Instant
    revoked_at: Instant | None = None
    """It takes nothing any more; the row says that it once did."""
    last_used_at: Instant | None = None


class AlertStatus(enum.Enum):
    """What a delivery says of one alert."""

    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One alert as it was first told about one group, and what came of that; known by its first five fields."""

    group: GroupId
    alert: AlertId
    fingerprint: str
    starts_at: Instant
    status: AlertStatus
    at: Instant
    """When it was first taken in."""
    decision: str
    """The id of what it first led to; whoever tells it again gets this."""


class OutsideStore(Protocol):
    """The part of the store for alerts that come in and notices that go out."""

    # Alerts from outside
    def hooks(self) -> tuple[StoredHook, ...]:
        """Every webhook ever made, revoked ones too, sorted by name."""
        ...

    def save_hook(self, hook: StoredHook) -> None:
        """Write a webhook whole (insert or replace); its last use only ever moves forward.

        Raises:
            StoreError: another webhook has this name.
        """
        ...

    def use_hooks(self, used: Mapping[HookId, Instant]) -> None:
        """Write down when webhooks were last used, in one transaction; those that are not there are left out."""
        ...

    def deliver(self, deliveries: Sequence[Delivery]) -> tuple[Delivery, ...]:
        """Write down what was told, in one transaction; what was told before keeps its first decision.

        To be called after that decision is recorded: a crash in between makes the sender tell it again, and the
        request's id then finds the first answer.

        Returns:
            For each, in order, how it was first told: the same, if this is the first time.
        """
        ...

    def delivered(self, group: GroupId, alert: AlertId, fingerprint: str) -> tuple[Delivery, ...]:
        """What was ever told of one alert, until retention; the latest start first, FIRING before RESOLVED."""
        ...

    # Notices
    def file_notices(self, filed: Sequence[Filed]) -> None:
        """Write down what is to be told, due at once, in one transaction: from then on it counts as told.

        The same id again changes nothing.
        """
        ...

    def last_notices(self) -> tuple[Notice, ...]:
        """What was written down last of each group that is there, sorted by group; retention keeps it."""
        ...

    def due_notices(self, now: Instant, limit: int, *, besides: Sequence[NotifyTarget] = ()) -> tuple[Filed, ...]:
        """The oldest that are due, in the order in which they were written; none for the targets in ``besides``.

        Of a group that waits for another attempt nothing is due: its notices never overtake each other.
        """
        ...

    def notice_tried(self, id: str, tried: Tried) -> None:
        """Write down an attempt, and in the same transaction, if there will be no other, a line of history."""
        ...
