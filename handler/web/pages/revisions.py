"""The page of revisions: what each changed of what is declared over the API, by which person or program. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from markupsafe import Markup

from config.document.edits import edits
from config.document.entities import Entity
from config.document.places import Plain
from config.document.statement import Statement, values_of, veiled
from handler.ports.declarations import EntityChange, EntityRevision
from handler.web.pages.declared import text_of
from handler.web.pages.figures import minute
from handler.web.pages.layout import PageTemplate
from handler.web.session_cookie import DECLARED

REVISIONS: Final = f"{DECLARED}/revisions"
_TEMPLATE = PageTemplate("revisions.html")
_ON_A_PAGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    what: str
    """Section, id and display name."""
    act: str
    lines: tuple[str, ...]
    """What changed, value by value."""
    document: str
    """Of an entity that was made or deleted; empty: it was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Revision:
    number: int
    at: str
    by: str
    restores: str
    changes: tuple[_Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    revisions: tuple[_Revision, ...]
    newest: str
    """The address of the newest revisions; empty: these are."""
    older: str
    """The address of older revisions; empty: there are none."""


def revisions_page(revisions: Sequence[EntityRevision], before: int | None) -> Markup:
    """Lay out the page's content.

    No value that may be a secret is on it, for any visitor: that one was changed is shown, and nothing else of it.

    Args:
        revisions: all that the visitor may see, newest first.
        before: shows those with lower numbers; ``None``: the newest.
    """
    wanted = [each for each in revisions if before is None or each.number < before]
    shown = wanted[:_ON_A_PAGE]
    page = _Page(
        revisions=tuple(_revision(each) for each in shown),
        newest="" if before is None else REVISIONS,
        older=f"{REVISIONS}?before={shown[-1].number}" if len(wanted) > len(shown) else "",
    )
    return _TEMPLATE("page", page)


def _revision(revision: EntityRevision) -> _Revision:
    return _Revision(
        number=revision.number,
        at=minute(revision.at),
        by=f"{revision.by}, {revision.origin}" if revision.origin else revision.by,
        restores="" if revision.restored is None else f"restores revision {revision.restored}",
        changes=tuple(_change(each) for each in revision.changes),
    )


def _change(change: EntityChange) -> _Change:
    place, before, after = ".".join(change.key), change.before, change.after
    what = place if change.name in ("", change.key[-1]) else f"{place} ({change.name})"
    if before is not None and after is not None:
        return _Change(what=what, act="changed", lines=tuple(_lines(before, after)), document="")
    entity = after or before
    return _Change(
        what=what,
        act="deleted" if after is None else "made",
        lines=(),
        document="" if entity is None else _document(entity),
    )


def _lines(before: Entity, after: Entity) -> Iterator[str]:
    if before.name != after.name:
        yield f"name: {before.name} → {after.name}"
    around = f"{'.'.join(after.key)}."
    for each in edits(_statement(before), _statement(after), {}, after.site.file):
        yield each.words.removeprefix(around)


def _statement(entity: Entity) -> Statement:
    return Statement(values=values_of({entity.section.value: {entity.id: dict(entity.body)}}), used={})


def _document(entity: Entity) -> str:
    shown: Plain = veiled(dict(entity.body), entity.key)
    return text_of(cast("Mapping[str, object]", shown))
