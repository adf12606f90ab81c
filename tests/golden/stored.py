"""What stored values look like: everything in the store that is JSON, and what digests make of declared values."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Any, Final

from config.build.digest import digest_of
from config.build.wire import TAGS as DECLARED
from config.model.catalogue import Catalogue
from handler.store.codec import to_text
from handler.store.columns import JsonColumn
from handler.store.schema import METADATA
from handler.store.tags import TAGS
from tests.support.filled import classes_in, filled
from trigger.requests import FleetPause

STORED: Final[tuple[Any, ...]] = (
    *(
        column.type.kind
        for table in METADATA.tables.values()
        for column in table.c
        if isinstance(column.type, JsonColumn)
    ),
    FleetPause,
)
"""The types of all columns that hold JSON, and of what ``meta`` holds as JSON."""


def stored_values() -> str:
    """A line for each class that can be stored: one value with every field set, as it is written."""
    kinds = [kind for kind in classes_in(STORED) if is_dataclass(kind)]
    return _lines(to_text(filled(kind), kind) for kind in kinds)


def words() -> str:
    """A line for each enum that is stored or declared: its words."""
    enums = [kind for kind in classes_in((*STORED, Catalogue)) if issubclass(kind, enum.Enum)]
    return _lines({json.dumps(sorted(str(member.value) for member in kind)) for kind in enums})


def digests() -> str:
    """A line for each class that can be declared: its tag, and the digest of one value with every field set."""
    kinds = [kind for kind in classes_in((Catalogue,)) if kind in DECLARED]
    return _lines(f"{TAGS[kind]} {digest_of({'': filled(kind)})}" for kind in kinds)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in sorted(lines))
