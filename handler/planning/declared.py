"""Revisions of what a group declares: what changed from one to the next, and which one it can go back to. Pure."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from config.build.wire import name_of
from config.model.access import SecretRef
from config.units import Instant
from handler.planning.desired import Definition

KEPT = 20
"""Revisions of one group that are kept, besides those that a rollback needs."""

_HIDDEN_KEYS = frozenset({"command", "context", "env", "extra", "metadata", "parameters", "url", "user_data"})
"""Fields that people put secrets into: only the fact of a change is shown, never the value."""
_LONGEST = 60
"""Characters; a longer value does not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """A group's definition as it was declared from one moment on."""

    number: int
    """From 1; never used twice while the group is there."""
    at: Instant
    definition: Definition
    converged_at: Instant | None = None
    """When a pass last found nothing to do and every member made of its profile; ``None``: never so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """New members use an earlier revision's profile, whatever the file declares."""

    revision: int
    at: Instant
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Converged:
    """Hold the revisions of a group when a pass last found nothing to do. A group with others needs convergence."""

    size: int
    """Revision of the desired size."""
    definition: int
    """Revision of the definition that was in force."""
    at: Instant

    def is_of(self, size: int, definition: int) -> bool:
        """Return whether these are the same revisions."""
        return (self.size, self.definition) == (size, definition)


def essence(definition: Definition) -> Definition:
    """Return a definition without the balancers that members still use although they are no longer declared."""
    used = {use.balancer for use in definition.group.balancers}
    return dataclasses.replace(
        definition, balancers={name: each for name, each in definition.balancers.items() if name in used}
    )


def last_good(revisions: Sequence[Revision], in_force: int) -> Revision | None:
    """Return the newest earlier revision that converged with another profile than the one in force."""
    now = next((each.definition.profile_digest for each in revisions if each.number == in_force), None)
    before = sorted((each for each in revisions if each.number < in_force), key=lambda each: -each.number)
    good = (each for each in before if each.converged_at is not None)
    return next((each for each in good if each.definition.profile_digest != now), None)


def superfluous(revisions: Sequence[Revision], in_force: int) -> tuple[int, ...]:
    """Return the numbers of revisions to drop: all but the newest, the one in force and the one to go back to."""
    newest = sorted(each.number for each in revisions)[-KEPT:]
    good = last_good(revisions, in_force)
    kept = {*newest, in_force, *([] if good is None else [good.number])}
    return tuple(each.number for each in revisions if each.number not in kept)


def changes(before: object, after: object) -> tuple[str, ...]:
    """Return what differs between two definitions, in words, field by field; never a value that may be a secret."""
    return tuple(_changes(before, after, ()))


def _changes(before: object, after: object, path: tuple[str, ...]) -> Iterator[str]:
    if before == after:
        return
    inner = _inner(before), _inner(after)
    alike = type(before) is type(after) or (isinstance(before, Mapping) and isinstance(after, Mapping))
    if inner[0] is None or inner[1] is None or not alike:
        yield _change(before, after, path)
        return
    for name in dict.fromkeys((*inner[0], *inner[1])):
        yield from _changes(inner[0].get(name), inner[1].get(name), (*path, name))


def _inner(value: object) -> Mapping[str, object] | None:
    """Return the fields of a value; ``None``: it is shown as one."""
    if isinstance(value, SecretRef):
        return None
    if isinstance(value, Mapping):
        return {str(name): each for name, each in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name_of(field): getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _change(before: object, after: object, path: tuple[str, ...]) -> str:
    name = " ".join(path)
    words = _word(before), _word(after)
    if _HIDDEN_KEYS & {*path} or None in words:
        return f"{name}: changed"
    return f"{name}: {words[0]} → {words[1]}"


def _word(value: object) -> str | None:
    """Return a value as text; ``None``: it has no short form, or may be a secret."""
    match value:
        case None | ():
            return "none"
        case enum.Enum():
            return _word(value.value)
        case int() | float():
            return f"{value:.15g}" if isinstance(value, float) else str(value)
        case str():
            return value if value.isprintable() and 0 < len(value) <= _LONGEST else None
        case tuple():
            words = [word for word in map(_word, value) if word is not None]
            return ", ".join(words) if len(words) == len(value) else None
        case _:
            return None
