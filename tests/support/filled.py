"""Values with every field set, made from nothing but their types: the same ones in every run, whatever names are."""

from __future__ import annotations

import enum
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NewType, Union, get_args, get_origin, get_type_hints

from config.units import Fraction

_SCALARS: Mapping[object, object] = {
    str: "word",
    int: 7,
    float: 1.5,
    bool: True,
    bytes: b"",
    Fraction: 0.5,
    object: "word",
    type(None): None,
}


def filled(kind: Any, above: tuple[object, ...] = ()) -> Any:
    """One value of a type: of ``X | None`` an X, of a list one item of each kind that it may hold.

    A class that contains itself ends with `None` or an empty list.
    """
    return next(every(kind, above))


def every(kind: Any, above: tuple[object, ...] = ()) -> Iterator[Any]:
    """Yield one value of each member of a union, and the one value of anything else."""
    if kind in _SCALARS:
        yield _SCALARS[kind]
    elif isinstance(kind, NewType):
        yield from every(kind.__supertype__, above)
    elif get_origin(kind) in (types.UnionType, Union):
        yield from _of_union(get_args(kind), above)
    elif get_origin(kind) is Literal:
        yield get_args(kind)[0]
    elif get_args(kind):
        yield _composite(get_origin(kind), get_args(kind), above)
    elif issubclass(kind, enum.Enum):
        yield next(iter(kind))
    elif is_dataclass(kind):
        yield _dataclass(kind, above)
    else:
        raise TypeError(f"no value of {kind!r} is known")


def _of_union(kinds: Sequence[Any], above: tuple[object, ...]) -> Iterator[Any]:
    others = [each for each in kinds if each is not type(None) and each not in above]
    for each in others:
        yield from every(each, above)
    if not others:
        yield None


def _composite(origin: Any, kinds: Sequence[Any], above: tuple[object, ...]) -> Any:
    if issubclass(origin, Mapping):
        return types.MappingProxyType({filled(kinds[0], above): filled(kinds[1], above)})
    if origin is tuple and kinds[-1] is not Ellipsis:
        return tuple(filled(each, above) for each in kinds)
    items = () if kinds[0] in above else tuple(every(kinds[0], above))
    return frozenset(items) if issubclass(origin, frozenset) else items


def _dataclass(kind: type, above: tuple[object, ...]) -> Any:
    hints = get_type_hints(kind)
    return kind(**{each.name: filled(hints[each.name], (*above, kind)) for each in fields(kind) if each.init})


def classes_in(kinds: Collection[Any]) -> frozenset[type]:
    """Every dataclass and enum that values of these types can hold, at any depth."""
    found: set[type] = set()
    open_ = list(kinds)
    while open_:
        kind = open_.pop()
        if isinstance(kind, NewType):
            open_.append(kind.__supertype__)
        elif get_args(kind):
            open_.extend(get_args(kind))
        elif isinstance(kind, type) and kind not in found and (is_dataclass(kind) or issubclass(kind, enum.Enum)):
            found.add(kind)
            open_.extend(get_type_hints(kind)[each.name] for each in fields(kind)) if is_dataclass(kind) else None
    return frozenset(found)
