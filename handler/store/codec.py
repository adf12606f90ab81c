"""Frozen dataclasses as JSON text and back, faithfully.

What is written says which dataclass it is (``"type"``), so that a field whose type becomes a union later still reads
what was stored before. Reading is strict: a wrong type is an error, never a guess. Two things are forgiven, since
an older or a newer release may have written them: an unknown field is skipped, and a missing field takes its default
where it has one.

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
under (`config.build.wire.name_of`). Changing those, or taking away an enum's word, needs a migration.
"""

from __future__ import annotations

import enum
import json
import math
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import NewType, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from config.build.wire import name_of
from config.errors import StoreError
from handler.store.tags import TAGS

T = TypeVar("T")

_TYPE = "type"
_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coder:
    encode: Callable[[object], object]
    decode: Callable[[object], object]


class _Unreadable(ValueError):
    """A stored value is not of the declared type; grows its path on the way out."""

    def __init__(self, message: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path


def to_text(value: object, kind: object) -> str:
    """Write ``value``, which is of type ``kind``, as JSON.

    Raises:
        TypeError: it is not of that type, or such a type cannot be stored.
    """
    return json.dumps(_coder(kind).encode(value), separators=(",", ":"), allow_nan=False, ensure_ascii=False)


def from_text(text: str, kind: type[T]) -> T:
    """Read what `to_text` wrote, by this or another release.

    Raises:
        StoreError: it does not fit ``kind``; the message says where.
    """
    wanted: object = kind
    try:
        return cast("T", _coder(wanted).decode(json.loads(text)))
    except _Unreadable as error:
        where = ".".join(error.path) or "the whole"
        raise StoreError(f"a stored {_name(kind)} cannot be read: {where}: {error.message}") from error
    except json.JSONDecodeError as error:
        raise StoreError(f"a stored {_name(kind)} is not JSON: {error}") from error


@cache
def _coder(kind: object) -> _Coder:
    if isinstance(kind, NewType):
        return _coder(kind.__supertype__)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if isinstance(kind, type) and get_origin(kind) is None:
        return _class(kind)
    return _composite(get_origin(kind), get_args(kind))


def _class(kind: type) -> _Coder:
    if issubclass(kind, enum.Enum):
        return _enum(kind)
    if kind in TAGS:
        return _dataclass(kind)
    raise TypeError(f"{kind!r} cannot be stored: only what has a tag in handler/store/tags.py can")


def _composite(origin: object, arguments: Sequence[object]) -> _Coder:
    if origin in (types.UnionType, Union):
        return _union(arguments)
    if origin is Mapping:
        return _mapping(*arguments)
    if origin is tuple:
        return _list(arguments[0]) if arguments[1:] == (...,) else _tuple(arguments)
    raise TypeError(f"{origin!r} of {arguments!r} cannot be stored")


# Scalars


def _exactly(kind: type, article: str) -> _Coder:
    def decode(found: object) -> object:
        return found if type(found) is kind else _refuse(article, found)

    def encode(value: object) -> object:
        if not isinstance(value, kind):
            raise TypeError(f"expected {article}, found {value!r}")
        return value

    return _Coder(encode=encode, decode=decode)


def _encode_int(value: object) -> object:
    return operator.index(cast("int", value))


def _decode_int(found: object) -> object:
    return found if type(found) is int else _refuse("a whole number", found)


def _encode_float(value: object) -> object:
    if not isinstance(value, (int, float)):
        raise TypeError(f"expected a number, found {value!r}")
    number = float(value)
    return number if math.isfinite(number) else str(number)


def _decode_float(found: object) -> object:
    if type(found) is int or type(found) is float:
        return float(found)
    if isinstance(found, str) and found in _NOT_FINITE:
        return _NOT_FINITE[found]
    return _refuse("a number", found)


_SCALARS: Mapping[object, _Coder] = {
    str: _exactly(str, "a string"),
    bool: _exactly(bool, "true or false"),
    int: _Coder(encode=_encode_int, decode=_decode_int),
    float: _Coder(encode=_encode_float, decode=_decode_float),
    types.NoneType: _exactly(types.NoneType, "null"),
}


def _enum(kind: type[enum.Enum]) -> _Coder:
    words = {member.value: member for member in kind}

    def encode(value: object) -> object:
        if not isinstance(value, kind):
            raise TypeError(f"expected a {kind.__name__}, found {value!r}")
        return value.value

    def decode(found: object) -> object:
        if isinstance(found, (str, int)) and found in words:
            return words[found]
        return _refuse(f"one of {', '.join(map(str, words))}", found)

    return _Coder(encode=encode, decode=decode)


# Composites


def _list(kind: object) -> _Coder:
    inner = _coder(kind)

    def encode(value: object) -> object:
        return [inner.encode(item) for item in cast("tuple[object, ...]", value)]

    def decode(found: object) -> object:
        return tuple(_inside(str(index), inner, item) for index, item in enumerate(_array(found)))

    return _Coder(encode=encode, decode=decode)


def _tuple(kinds: Sequence[object]) -> _Coder:
    inner = [_coder(kind) for kind in kinds]

    def encode(value: object) -> object:
        pairs = zip(inner, cast("tuple[object, ...]", value), strict=True)
        return [coder.encode(item) for coder, item in pairs]

    def decode(found: object) -> object:
        items = _array(found)
        if len(items) != len(inner):
            return _refuse(f"{len(inner)} items", found)
        return tuple(_inside(str(i), coder, item) for i, (coder, item) in enumerate(zip(inner, items, strict=True)))

    return _Coder(encode=encode, decode=decode)


def _mapping(key: object, value: object) -> _Coder:
    keys, values = _coder(key), _coder(value)

    def encode(mapping: object) -> object:
        items = cast("Mapping[object, object]", mapping).items()
        return {cast("str", keys.encode(name)): values.encode(item) for name, item in items}

    def decode(found: object) -> object:
        items = _object(found).items()
        return types.MappingProxyType({_inside(k, keys, k): _inside(k, values, item) for k, item in items})

    return _Coder(encode=encode, decode=decode)


def _union(kinds: Sequence[object]) -> _Coder:
    """``X | None``, or several dataclasses told apart by ``type``, with or without ``None``."""
    others = [kind for kind in kinds if kind is not types.NoneType]
    chosen = _coder(others[0]) if len(others) == 1 else _one_of(others)
    if len(others) == len(kinds):
        return chosen

    def encode(value: object) -> object:
        return None if value is None else chosen.encode(value)

    def decode(found: object) -> object:
        return None if found is None else chosen.decode(found)

    return _Coder(encode=encode, decode=decode)


_PLAIN = frozenset({str, float, bool})
"""What JSON itself tells apart."""


def _plain(kinds: Sequence[object]) -> _Coder:
    words = " or ".join(map(_name, kinds))

    def encode(value: object) -> object:
        if type(value) not in kinds:
            raise TypeError(f"expected {words}, found {value!r}")
        return value

    def decode(found: object) -> object:
        return found if type(found) in kinds else _refuse(words, found)

    return _Coder(encode=encode, decode=decode)


def _text_or_list(kind: object) -> _Coder:
    inner = _coder(kind)

    def encode(value: object) -> object:
        return value if isinstance(value, str) else inner.encode(value)

    def decode(found: object) -> object:
        return found if isinstance(found, str) else inner.decode(found)

    return _Coder(encode=encode, decode=decode)


def _one_of(kinds: Sequence[object]) -> _Coder:
    if set(kinds) <= _PLAIN:
        return _plain(kinds)
    lists = [kind for kind in kinds if get_origin(kind) is tuple]
    if lists and set(kinds) == {str, lists[0]}:  # JSON tells text from a list, too
        return _text_or_list(lists[0])
    if not all(isinstance(kind, type) and kind in TAGS for kind in kinds):
        raise TypeError(
            f"a union of {', '.join(map(_name, kinds))} cannot be stored: only dataclasses with a tag say what they are"
        )
    coders = {TAGS[kind]: _coder(kind) for kind in cast("Sequence[type]", kinds)}

    def encode(value: object) -> object:
        if type(value) not in kinds:
            raise TypeError(f"expected one of {', '.join(coders)}, found {value!r}")
        return coders[TAGS[type(value)]].encode(value)

    def decode(found: object) -> object:
        name = _object(found).get(_TYPE)
        if not isinstance(name, str) or name not in coders:
            return _refuse(f"one of {', '.join(coders)}", name)
        return coders[name].decode(found)

    return _Coder(encode=encode, decode=decode)


def _dataclass(kind: type) -> _Coder:
    tag, hints = TAGS[kind], get_type_hints(kind)
    names = {name_of(field): field.name for field in fields(kind)}
    coders = {name: _coder(hints[attribute]) for name, attribute in names.items()}
    needed = {name_of(field) for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING}
    if _TYPE in coders:
        raise TypeError(f"{kind.__name__} cannot be stored: a field may not be called {_TYPE!r}")

    def encode(value: object) -> object:
        if type(value) is not kind:
            raise TypeError(f"expected a {kind.__name__}, found {value!r}")
        written: dict[str, object] = {_TYPE: tag}
        for name, coder in coders.items():
            written[name] = coder.encode(getattr(value, names[name]))
        return written

    def decode(found: object) -> object:
        stored = _object(found)
        if stored.get(_TYPE) != tag:
            return _refuse(tag, stored.get(_TYPE))
        missing = needed - stored.keys()
        if missing:
            raise _Unreadable("is missing", (min(missing),))
        given = {name: coder for name, coder in coders.items() if name in stored}
        return kind(**{names[name]: _inside(name, coder, stored[name]) for name, coder in given.items()})

    return _Coder(encode=encode, decode=decode)


# Reading


def _inside(name: str, coder: _Coder, found: object) -> object:
    try:
        return coder.decode(found)
    except _Unreadable as error:
        raise _Unreadable(error.message, (name, *error.path)) from None


def _array(found: object) -> list[object]:
    return found if isinstance(found, list) else cast("list[object]", _refuse("an array", found))


def _object(found: object) -> dict[str, object]:
    return found if isinstance(found, dict) else cast("dict[str, object]", _refuse("an object", found))


def _refuse(expected: str, found: object) -> object:
    """Say what was expected; of what was found only the sort, since a stored value may be anybody's."""
    shown = repr(found)[:40] if isinstance(found, (str, int, float)) or found is None else type(found).__name__
    raise _Unreadable(f"expected {expected}, found {shown}")


def _name(kind: object) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)
