"""One thing that a person may do from a page: an operation, and what will happen, in sentences."""

from __future__ import annotations

from dataclasses import dataclass

from handler.operations.registry import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One thing that a person may do now."""

    operation: Operation
    label: str
    happens: tuple[str, ...]
    """What will happen, in sentences."""
    done: str
    """What has happened, where the answer has no words of its own."""
    lines: tuple[str, ...] = ()
    """What changes of a declaration, line by line."""
