"""What the engine says of itself: whether it is ready, and what a reload did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from config.errors import Problem
from config.model.edits import Edit
from config.units import GroupId


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """What a reload did; with problems, nothing."""

    problems: tuple[Problem, ...]
    added: tuple[GroupId, ...]
    changed: tuple[GroupId, ...]
    orphaned: tuple[GroupId, ...]
    edits: tuple[Edit, ...]
    """What was edited in the file, in all its sections, since it was taken before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Liveness and readiness."""

    ready: bool
    checks: Mapping[str, str]
    """Check → ``ok`` or what is wrong."""
