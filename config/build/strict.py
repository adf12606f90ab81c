"""Converters of cattrs that read strictly: what is of another type is refused, never converted (ADR 0031).

What the store keeps and worlds that people write are read by these; each adds its own scalars.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Mapping
from itertools import repeat
from operator import call
from typing import Any, NewType, NoReturn, Union, get_args, get_origin

from cattrs import Converter
from cattrs.errors import BaseValidationError, IterableValidationNote

Read = Callable[[Any, Any], Any]
"""From what JSON holds, and the type that it shall have."""


class Unfit(ValueError):
    """What was found is not what was expected."""

    def __init__(self, expected: str, found: object) -> None:
        super().__init__(f"expected {expected}")
        self.expected = expected
        self.found = found


def strict(because: str) -> Converter:
    """Make a converter that reads enums by value, and tuples, and refuses types that nothing is registered for.

    cattrs itself knows ``X | None`` and new types. What is registered later is asked first.

    Args:
        because: ends the sentence that says of a type that it cannot be read, for the ``TypeError``.
    """
    converter = Converter()

    def impossible(kind: object) -> NoReturn:
        raise TypeError(f"{kind!r} {because}")

    converter.register_structure_hook_factory(_is_strange, impossible)
    converter.register_unstructure_hook_factory(_is_strange, impossible)
    converter.register_structure_hook_factory(is_enum, _enum_reader)
    converter.register_structure_hook_factory(is_tuple, lambda kind: tuple_reader(kind, converter))
    return converter


def only(expected: str, fits: Callable[[Any], bool]) -> Read:
    """Read what fits as it is, and refuse anything else."""

    def read(found: object, _: object) -> object:
        if fits(found):
            return found
        raise Unfit(expected, found)

    return read


def is_enum(kind: object) -> bool:
    """Whether a type is an enum."""
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def is_tuple(kind: object) -> bool:
    """Whether a type is a tuple of declared types."""
    return get_origin(kind) is tuple


def _is_strange(kind: object) -> bool:
    """Whether cattrs would make something else of a type than we mean."""
    return not isinstance(kind, NewType) and get_origin(kind) not in {Mapping, types.UnionType, Union}


def _enum_reader(kind: type[enum.Enum]) -> Read:
    words = {member.value: member for member in kind}

    def read(found: object, _: object) -> enum.Enum:
        if isinstance(found, (str, int)) and found in words:
            return words[found]
        raise Unfit(f"one of {', '.join(map(str, words))}", found)

    return read


def tuple_reader(kind: object, converter: Converter) -> Read:
    """Read a tuple, either as long as it is declared or of any length; an error says how far it came."""
    kinds = [each for each in get_args(kind) if each is not ...]
    hooks = [converter.get_structure_hook(each) for each in kinds]
    size = None if ... in get_args(kind) else len(kinds)
    each = (hooks, kinds) if size is not None else (repeat(*hooks), repeat(*kinds))

    def read(found: object, _: object) -> tuple[object, ...]:
        if not isinstance(found, list):
            raise Unfit("an array", found)
        if size is not None and len(found) != size:
            raise Unfit(f"{size} items", found)
        done: list[object] = []
        try:
            done.extend(map(call, each[0], found, each[1]))
        except (BaseValidationError, Unfit) as error:
            error.add_note(IterableValidationNote("", len(done), kind))
            raise
        return tuple(done)

    return read
