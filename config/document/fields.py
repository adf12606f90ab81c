"""From a place in the file to the class or field of the document that stands there."""

from __future__ import annotations

import types
from functools import lru_cache
from typing import Annotated, Any, Union, get_args, get_origin

from config.document.declared import Declared
from config.document.file import Document
from config.model.where import Where


def mapping_at(where: Where) -> type[Declared] | None:
    """The class of the mapping at a place; ``None`` where there is none, or its keys are free."""
    kind = _kind_at(where)
    return kind if isinstance(kind, type) and issubclass(kind, Declared) else None


def is_hidden(where: Where) -> bool:
    """Whether what stands at a place may be a secret: the innermost mapping around it says."""
    for length in range(len(where) - 1, -1, -1):
        owner = mapping_at(where[:length])
        if owner is not None:
            return where[length] in owner.hidden
    return False


def example_at(where: Where) -> object:
    """A valid value for the field at a place; ``None`` where no field stands."""
    owner = mapping_at(where[:-1]) if where else None
    field = owner.keys().get(where[-1]) if owner else None
    return field.examples[0] if field and field.examples else None


@lru_cache(maxsize=1024)
def _kind_at(where: Where) -> Any:  # noqa: ANN401 an annotation can be anything
    """The annotation at a place, without ``Annotated`` and ``None``."""
    if not where:
        return Document
    kind = _kind_at(where[:-1])
    if isinstance(kind, type) and issubclass(kind, Declared):
        field = kind.keys().get(where[-1])
        return _bare(field.annotation) if field else None
    if get_origin(kind) is dict:
        return _bare(get_args(kind)[1])
    if get_origin(kind) is list:
        return _bare(get_args(kind)[0])
    return None


def _bare(kind: Any) -> Any:  # noqa: ANN401 an annotation can be anything
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in {Union, types.UnionType}:
        return next((_bare(part) for part in get_args(kind) if part is not types.NoneType), None)
    return kind
