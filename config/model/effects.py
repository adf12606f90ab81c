"""Alerts from outside as the core sees them: which ones mean something here, and what they do."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from config.units import AlertId, GroupId, PolicyId, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class FirePolicy:
    """Carry out a policy of the group, once for each time that the alert begins."""

    policy: PolicyId


@dataclass(frozen=True, slots=True, kw_only=True)
class RaiseFloor:
    """While it fires: at least this many members."""

    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shield:
    """While it fires: no scale-in, except by a person."""


class FrozenDirection(enum.Enum):
    """Which changes of size are frozen."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """While it fires: no change of size in this direction, except by a person."""

    way: FrozenDirection


@dataclass(frozen=True, slots=True, kw_only=True)
class BringValue:
    """While it fires: the number in this label, annotation or (Grafana) ``values`` entry is a counter's reading."""

    field: str


Effect = FirePolicy | RaiseFloor | Shield | Freeze | BringValue


class EffectKind(enum.Enum):
    """The kinds of effect, spelt as their keys in the file: what a webhook may be allowed."""

    FIRE = "fire"
    FLOOR = "floor"
    SHIELD = "shield"
    FREEZE = "freeze"
    VALUE = "value"


def kind_of(effect: Effect) -> EffectKind:
    """Say which kind of effect it is.

    >>> kind_of(RaiseFloor(size=8))
    <EffectKind.FLOOR: 'floor'>
    """
    match effect:
        case FirePolicy():
            return EffectKind.FIRE
        case RaiseFloor():
            return EffectKind.FLOOR
        case Shield():
            return EffectKind.SHIELD
        case Freeze():
            return EffectKind.FREEZE
        case BringValue():
            return EffectKind.VALUE
        case _:
            assert_never(effect)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert of Alertmanager or Grafana that has one effect on some groups."""

    id: AlertId
    match: Mapping[str, str]
    """Label → exact value; all must be there. Never empty."""
    groups: tuple[GroupId, ...]
    """The groups that it may affect."""
    group_label: str | None = None
    """The label that names the one group of ``groups`` that is affected; ``None``: all of them are."""
    effect: Effect
    ttl: Seconds
    """A signal ends after this long without being sent again: "resolved" may never arrive."""
