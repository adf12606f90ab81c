"""Who is told when a group is in trouble."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from config.model.access import SecretRef


class Severity(enum.Enum):
    """What a group's trouble amounts to; the lesser first."""

    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyCommand:
    """A program that takes the notice on its standard input and in ``TRIMTAB_*``."""

    command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyUrl:
    """An address that takes the notice as signed JSON. Its path may be a secret of the receiver's."""

    url: str = field(repr=False)
    secret: SecretRef
    """What the signature is made with: where it is kept."""


NotifyTarget = NotifyCommand | NotifyUrl


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Who is told, and of what."""

    target: NotifyTarget
    on: tuple[Severity, ...] = (Severity.WARNING, Severity.ERROR)
    """The lesser first. Never WARNING alone; empty: nobody is told of anything."""
