"""Notifications about groups in trouble, and the recording of samples."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from config.model.access import SecretRef
from config.units import Seconds


class Severity(enum.Enum):
    """What a group's trouble amounts to; the lesser first."""

    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyCommand:
    """A program that takes the notice on its standard input and in ``TRIMTAB_*``."""

    command: tuple[str, ...]


class NoticeFormat(enum.Enum):
    """How a notice is written for an address."""

    TRIMTAB = "trimtab"
    """The notice alone, as JSON."""
    CLOUDEVENTS = "cloudevents"
    """A CloudEvent 1.0 in structured mode, with the notice as its data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyUrl:
    """An address that takes the notice as signed JSON. Its path may be a secret of the receiver's."""

    url: str = field(repr=False)
    secret: SecretRef
    """What the signature is made with: where it is kept."""
    format: NoticeFormat = NoticeFormat.TRIMTAB


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifySlack:
    """An incoming webhook of Slack, or of what takes the same, such as Mattermost: its address is its secret."""

    url: SecretRef
    """Where the address is kept."""


NotifyTarget = NotifyCommand | NotifyUrl | NotifySlack


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Where notifications go, and at which severities."""

    target: NotifyTarget
    on: tuple[Severity, ...] = (Severity.WARNING, Severity.ERROR)
    """The lesser first. Never WARNING alone; empty: no notification of trouble is sent."""
    decisions: bool = False
    """Changes of the desired size are sent, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """How the samples of every tick are kept, and for how long."""

    budget: int = 10 << 30
    """Bytes on the disk, never exceeded."""
    whole: Seconds = 7 * 86400.0
    """How long every sample is kept, while the budget allows it."""
    then: Seconds = 300.0
    """How much time one row stands for after that; divides an hour."""


DEFAULTS = Recording()
"""For a recording that a person switches on, where the file declares none."""
