"""Frozen dataclasses as JSON text and back, faithfully; cattrs compiles the functions (ADR 0031).

The text names the dataclass (``"type"``), so that a field whose type becomes a union later still reads older values.
Reading is strict: a wrong type is an error, never a guess. Two differences are allowed, since an older or a newer
release may have written the text: an unknown field is skipped, and a missing field takes its default if it has one.

========================  ====================================================
Python                    JSON
========================  ====================================================
dataclass                 object with its fields, and ``type``: the class's tag
`enum.Enum`               its value
``float``                 number; ``"inf"``, ``"-inf"``, ``"nan"``
``tuple``, ``Mapping``    array, object
``None``                  null
========================  ====================================================

Classes and fields may be renamed: a class keeps its tag (`handler.store.tags`), and a field the name that it is written
under (`config.build.wire.name_of`). A change of these, or the removal of an enum's word, needs a migration.
"""

from __future__ import annotations

import enum
import json
import math
import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin

from cattrs.cols import mapping_structure_factory
from cattrs.errors import AttributeValidationNote, BaseValidationError
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from config.build.strict import Read, Unfit, is_enum, is_tuple, only, strict
from config.build.wire import name_of
from config.errors import StoreError
from handler.store.tags import TAGS

T = TypeVar("T")

Write = Callable[[Any], Any]

_TYPE: Final = "type"
_NOT_FINITE: Final = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_PLAIN: Final = frozenset({str, float, bool, types.NoneType})
"""Types that JSON itself distinguishes."""
_CONVERTER: Final = strict("cannot be stored: only what has a tag in handler/store/tags.py can")
_reads = _CONVERTER.register_structure_hook_factory
_writes = _CONVERTER.register_unstructure_hook_factory


def to_text(value: object, kind: object) -> str:
    """Write ``value``, which is of type ``kind``, as JSON.

    Raises:
        TypeError: it is not of that type, or such a type cannot be stored.
    """
    return json.dumps(_writer(kind)(value), separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def from_text(text: str, kind: type[T]) -> T:
    """Read what `to_text` wrote, by this or another release.

    Raises:
        StoreError: it does not fit ``kind``; the message says where.
    """
    try:
        return cast("T", _reader(cast("Hashable", kind))(json.loads(text), kind))
    except (BaseValidationError, Unfit) as error:
        raise StoreError(f"a stored {_name(kind)} cannot be read: {_explained(error)}") from error
    except json.JSONDecodeError as error:
        raise StoreError(f"a stored {_name(kind)} is not JSON: {error}") from error


_writer = cache(_CONVERTER.get_unstructure_hook)
_reader = cache(_CONVERTER.get_structure_hook)


def _explained(error: BaseException) -> str:
    """Return the place of the first error, and what was expected there."""
    where: list[str] = []
    while True:
        notes = reversed(getattr(error, "__notes__", ()))
        where += [str(note.name if isinstance(note, AttributeValidationNote) else note.index) for note in notes]
        match error:
            case BaseValidationError():
                error = error.exceptions[0]
            case Unfit():
                return f"{'.'.join(where) or 'the top level'}: {error}, found {_sort_of(error.found)}"
            case _:
                return f"{'.'.join(where)}: {'is missing' if isinstance(error, KeyError) else error}"


def _sort_of(found: object) -> str:
    """Describe a found value; a long one only by its type, since a stored value may be private."""
    return repr(found)[:40] if isinstance(found, (str, int, float)) or found is None else type(found).__name__


def _object(found: object) -> dict[str, object]:
    if isinstance(found, dict):
        return found
    raise Unfit("an object", found)


def _name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


# Scalars


def _exactly(kind: type, article: str) -> None:
    def write(value: object) -> object:
        if not isinstance(value, kind):
            raise TypeError(f"expected {article}, found {value!r}")
        return value

    _CONVERTER.register_structure_hook(kind, only(article, lambda found: type(found) is kind))
    _CONVERTER.register_unstructure_hook(kind, write)


_exactly(str, "a string")
_exactly(bool, "true or false")
_exactly(int, "a whole number")
_exactly(types.NoneType, "null")


@_CONVERTER.register_structure_hook
def _read_float(found: object, _: object) -> float:
    if type(found) is int or type(found) is float:
        return float(found)
    if isinstance(found, str) and found in _NOT_FINITE:
        return _NOT_FINITE[found]
    raise Unfit("a number", found)


@_CONVERTER.register_unstructure_hook
def _write_float(value: float) -> object:
    if not isinstance(value, (int, float)):
        raise TypeError(f"expected a number, found {value!r}")
    number = float(value)
    return number if math.isfinite(number) else str(number)


@_writes(is_enum)
def _enum_writer(kind: type[enum.Enum]) -> Write:
    def write(value: object) -> object:
        if not isinstance(value, kind):
            raise TypeError(f"expected a {kind.__name__}, found {value!r}")
        return value.value

    return write


# Dataclasses


@_reads(TAGS.__contains__)
def _class_reader(kind: type) -> Read:
    tag = TAGS[kind]
    inner: Read = make_dict_structure_fn(kind, _CONVERTER, **_names(kind))

    def read(found: object, _: object) -> object:
        stored = _object(found)
        if stored.get(_TYPE) != tag:
            raise Unfit(tag, stored.get(_TYPE))
        return inner(stored, kind)

    return read


@_writes(TAGS.__contains__)
def _class_writer(kind: type) -> Write:
    tag = TAGS[kind]
    inner: Write = make_dict_unstructure_fn(kind, _CONVERTER, **_names(kind))

    def write(value: object) -> object:
        if type(value) is not kind:
            raise TypeError(f"expected a {kind.__name__}, found {value!r}")
        return {_TYPE: tag, **inner(value)}

    return write


def _names(kind: type) -> Mapping[str, Any]:
    names = {field.name: name_of(field) for field in fields(kind)}
    if _TYPE in names.values():
        raise TypeError(f"{kind.__name__} cannot be stored: a field may not be called {_TYPE!r}")
    return {name: override(rename=written) for name, written in names.items()}


# Tuples and mappings


@_writes(is_tuple)
def _tuple_writer(kind: object) -> Write:
    first, *others = get_args(kind)
    one = _CONVERTER.get_unstructure_hook(first)
    if others == [...]:
        return lambda value: [one(item) for item in value]
    writers = [one, *map(_CONVERTER.get_unstructure_hook, others)]
    return lambda value: [write(item) for write, item in zip(writers, value, strict=True)]


def _is_mapping(kind: object) -> bool:
    return get_origin(kind) is Mapping


@_reads(_is_mapping)
def _mapping_reader(kind: Any) -> Read:  # noqa: ANN401  # a type, as annotations have it
    inner = mapping_structure_factory(kind, _CONVERTER, structure_to=dict)
    return lambda found, _: types.MappingProxyType(inner(_object(found), kind))


# Unions of types that JSON or a tag distinguishes. cattrs handles ``X | None``.


def _is_choice(kind: object) -> bool:
    some = set(get_args(kind)) - {types.NoneType}
    return get_origin(kind) in {types.UnionType, Union} and len(some) > 1


@_reads(_is_choice)
def _choice_reader(kind: object) -> Read:
    readers = {_seen_as(each): (_CONVERTER.get_structure_hook(each), each) for each in get_args(kind)}
    words = ", ".join(each if isinstance(each, str) else each.__name__ for each in readers)

    def read(found: object, _: object) -> object:
        seen = found.get(_TYPE) if isinstance(found, dict) else type(found)
        if not isinstance(seen, (str, type)) or seen not in readers:
            raise Unfit(f"one of {words}", seen if isinstance(found, dict) else found)
        inner, kind = readers[seen]
        return inner(found, kind)

    return read


@_writes(_is_choice)
def _choice_writer(kind: object) -> Write:
    kinds = get_args(kind)
    writers = {get_origin(each) or each: _CONVERTER.get_unstructure_hook(each) for each in kinds if _seen_as(each)}
    writers |= dict.fromkeys(_PLAIN & writers.keys(), lambda value: value)  # a text must not become a number

    def write(value: object) -> object:
        if type(value) not in writers:
            raise TypeError(f"expected one of {', '.join(map(_name, kinds))}, found {value!r}")
        return writers[type(value)](value)

    return write


def _seen_as(kind: object) -> str | type:
    """Return what distinguishes a type from others of a union: its tag, or its type in JSON."""
    if isinstance(kind, type) and (kind in TAGS or kind in _PLAIN):
        return TAGS.get(kind, kind)
    if is_tuple(kind):
        return list
    raise TypeError(f"{_name(kind)} cannot be stored in a union: only dataclasses with a tag can be distinguished")
