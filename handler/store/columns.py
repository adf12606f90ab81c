"""What the columns of all tables share: names of constraints, instants, enums by value, frozen dataclasses as JSON."""

from __future__ import annotations

import enum
from collections.abc import Hashable
from functools import lru_cache
from typing import TypeVar, cast

from sqlalchemy import REAL, BigInteger, Column, Dialect, ForeignKey, Integer, MetaData, Text, TypeDecorator
from sqlalchemy.types import TypeEngine

from config.errors import StoreError
from handler.store.codec import from_text, to_text

E = TypeVar("E", bound=enum.Enum)
D = TypeVar("D")


SECONDS: TypeEngine[float] = REAL()
"""An instant or a span: eight bytes (`handler.store.dialects`)."""

NUMBER: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
"""A number that the database gives, or one that grows with history. SQLite's own has eight bytes."""

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    }
)


def group_column(*, primary_key: bool = False, of_groups: bool = False) -> Column[str]:
    """Make the column that names the group; ``of_groups``: rows go when their group does."""
    owner = [ForeignKey("groups.id", ondelete="CASCADE")] if of_groups else []
    return Column("group_id", Text, *owner, key="group", primary_key=primary_key, nullable=False)


class Word(TypeDecorator[E]):
    """An enum, by value."""

    impl = Text
    cache_ok = True

    def __init__(self, words: type[E]) -> None:
        super().__init__()
        self.words = words

    def process_bind_param(self, value: E | None, dialect: Dialect) -> str | None:
        """Convert for the database."""
        return None if value is None else str(value.value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> E | None:
        """Convert from the database."""
        if value is None:
            return None
        try:
            return self.words(value)
        except ValueError as error:
            raise StoreError(f"the store holds {value!r}, which is no {self.words.__name__} of this release") from error


class JsonColumn(TypeDecorator[D]):
    """A frozen dataclass, or a tuple of such, as JSON."""

    impl = Text
    cache_ok = True

    def __init__(self, kind: type[D]) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: D | None, dialect: Dialect) -> str | None:
        """Convert for the database."""
        return None if value is None else to_text(value, self.kind)

    def process_result_value(self, value: str | None, dialect: Dialect) -> D | None:
        """Convert from the database."""
        if value is None or len(value) > _SHORT:
            return None if value is None else from_text(value, self.kind)
        return cast("D", _seen_before(value, cast("Hashable", self.kind)))


_SHORT = 200
"""Characters. Thousands of members have the same few balancers; documents that are longer are hardly ever the same."""

_seen_before = lru_cache(maxsize=1024)(from_text)
"""Documents become frozen values, so equal texts may share one value."""
