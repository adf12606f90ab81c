"""One command of one caller, with everything that carrying it out needs, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from config.model.access import SecretRef
from config.model.sections import Section
from handler.cloudstack_api.changes import Changes, in_cloudstacks_terms
from handler.cloudstack_api.handles import Key
from handler.cloudstack_api.parameters import Arguments
from handler.cloudstack_api.rendering import Shown
from handler.cloudstack_api.view import View
from handler.operations.declaration_proposals import owned
from handler.operations.facade import Operations
from handler.ports.cloudstack_api import StoredHandle

_Kept = TypeVar("_Kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A command that is verified, and allowed."""

    arguments: Arguments
    view: View
    changes: Changes
    operations: Operations
    """For reading."""
    read_secret: Callable[[SecretRef], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What a job did."""

    key: Key
    """The entity that it was about."""
    uuid: str
    name: str
    is_gone: bool = False
    """The entity was deleted: there is nothing to show but success."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListResult:
    """What a list has, before it is divided into pages."""

    kind: str
    """The key of its objects."""
    objects: Sequence[Shown]


class Lazily(Sequence[Shown], Generic[_Kept]):
    """Objects that are made when they are looked at: of a long list, those of one page."""

    def __init__(self, kept: Sequence[_Kept], shown: Callable[[_Kept], Shown]) -> None:
        self._kept, self._shown = kept, shown

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, place: int) -> Shown: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Shown]: ...
    def __getitem__(self, place: int | slice) -> Shown | Sequence[Shown]:
        if isinstance(place, slice):
            return [self._shown(each) for each in self._kept[place]]
        return self._shown(self._kept[place])


def changeable(call: Call, section: Section) -> Key:
    """Return the key of the entity whose ``id`` is given, if this API may change it.

    Raises:
        CloudstackFault: there is none that the caller may see, or the file owns it; the text has the place.
    """
    key = section, call.view.find(call.arguments, "id", section)
    with in_cloudstacks_terms():
        owned(call.view.declared, *key)
    return key


def ended(view: View, key: Key, *, is_gone: bool = False) -> JobResult:
    """Return the end of a job about an entity of a view; take it before the entity is deleted."""
    return JobResult(key=key, uuid=view.uuid(key), name=view.name(key), is_gone=is_gone)


def begun(handle: StoredHandle, name: str) -> JobResult:
    """Return the end of a job that made an entity."""
    return JobResult(key=(handle.section, handle.id), uuid=handle.uuid, name=name)
