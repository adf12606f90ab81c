"""Notifications of alerts as read, whichever system sends them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from config.units import Instant
from handler.ports.alerts import AlertStatus

ALERTS_AT_MOST = 1_000


class Sender(enum.Enum):
    """The sending system."""

    ALERTMANAGER = "alertmanager"
    GRAFANA = "grafana"
    AODH = "aodh"
    CLOUDEVENTS = "cloudevents"
    PLAIN = "plain"
    """Trimtab's own form, for scripts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedAlert:
    """One alert of a payload. Its own status counts, not that of the payload."""

    status: AlertStatus
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    values: Mapping[str, float]
    """Grafana: what its queries gave, by their letters; finite. Empty otherwise."""
    starts_at: Instant | None
    """By the sender's clock; ``None``: not in the payload."""
    ends_at: Instant | None
    fingerprint: str
    """Lower-case hex; derived from the labels if the sender gives none."""
    episode: str | None = None
    """What repetitions of one notification share, where the sender gives that instead of a start: the id of its request
    or event; ``None``: they share the start."""
    no_data: bool = False
    """The sender says that it has no data to judge; the labels are complete all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """One notification."""

    sender: Sender
    alerts: tuple[ReceivedAlert, ...]
    truncated: int
    """Alerts that the sender left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadablePayload:
    """Why a body is no payload, in words for its sender."""

    message: str
    sender: Sender | None = None
    """The probable sender."""
    too_large: bool = False
