"""What is remembered of edits of the file; as a port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from config.document.statement import Statement
from config.model.edits import Edit
from config.units import GroupId, Instant

EDITED = "edited"
"""What history calls an edit of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A file that comes into force, and what was edited in it since the one before."""

    by: str
    """Who had it read: a person, a signal, or a start."""
    statement: Statement
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEdit:
    """What one edit of the file changed for one group."""

    at: Instant
    by: str
    edits: tuple[Edit, ...]
    """In the order of keys; without the groups that each touches."""


class EditStore(Protocol):
    """The file as it was taken last, and what was edited for each group."""

    def statement(self) -> Statement | None:
        """What the file said that was taken last; ``None``: none was, or by a release that did not keep it."""
        ...

    def edits(self, group: GroupId, limit: int) -> tuple[GroupEdit, ...]:
        """The newest edits of the file that touched a group, newest first."""
        ...
