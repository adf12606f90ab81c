"""Move every instant of a value by one step of the clock. Pure.

The types tell which fields are instants, so that a new field moves without further code. Calendar times (when a
schedule is due) stay: they are times of day, not spans.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import MappingProxyType, NoneType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from config.units import Instant, Seconds
from trigger.requests import Request, Watched

T = TypeVar("T")

CALENDAR: tuple[type, ...] = (Watched, Request)
"""Their instants are those of a calendar."""


def moved(value: T, kind: object, step: Seconds) -> T:
    """Return the value with every instant moved by ``step``.

    Args:
        value: of type ``kind``.
        kind: its type, as in an annotation.
        step: seconds; negative: earlier.

    >>> moved((Instant(5.0), None), tuple[Instant | None, ...], 10.0)
    (15.0, None)
    """
    return cast("T", _moved(value, kind, step)) if step and has_instants(kind) else value


def _moved(value: Any, kind: object, step: Seconds) -> object:  # noqa: ANN401  # of whatever type ``kind`` says
    if value is None or not has_instants(kind):
        return value
    if kind is Instant:
        return Instant(value + step)
    if isinstance(kind, type) and is_dataclass(kind):
        found = {name: _moved(getattr(value, name), hint, step) for name, hint in instants_of(kind).items()}
        return replace(value, **found)
    return _within(value, get_origin(kind), get_args(kind), step)


def _within(value: Any, origin: object, parts: Sequence[object], step: Seconds) -> object:  # noqa: ANN401
    if origin is tuple and parts[-1] is Ellipsis:
        return tuple(_moved(each, parts[0], step) for each in value)
    if origin is tuple:
        return tuple(_moved(each, part, step) for each, part in zip(value, parts, strict=True))
    if isinstance(value, Mapping):
        found = {key: _moved(each, parts[1], step) for key, each in value.items()}
        return found if isinstance(value, dict) else MappingProxyType(found)
    if isinstance(value, Sequence):
        return tuple(_moved(each, parts[0], step) for each in value)
    (other,) = (part for part in parts if part is not NoneType)  # `X | None`
    return _moved(value, other, step)


@cache
def instants_of(kind: type) -> Mapping[str, object]:
    """Return the fields of a dataclass that are, or contain, instants that move, with their types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind) if has_instants(hints[field.name])}


@cache
def has_instants(kind: object) -> bool:
    """Whether a type is, or contains, an instant that moves."""
    return _has_instants(kind, frozenset())


def _has_instants(kind: object, above: Set[object]) -> bool:
    if kind is Instant:
        return True
    if isinstance(kind, type) and get_origin(kind) is None:
        if kind in CALENDAR or kind in above or not is_dataclass(kind):
            return False
        inside = get_type_hints(kind)
        return any(_has_instants(inside[field.name], above | {kind}) for field in fields(kind))
    return any(_has_instants(part, above) for part in get_args(kind))
