"""The pages of what is declared: a list of every entity, and a form for one. Pure, with every value as text."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from markupsafe import Markup

from config.model.sections import Section
from handler.operations.declaration_admin import DeclaredEntry
from handler.web.pages.declared_fields import FIELDS, MORE, FieldKind, FormField, KeyedField, about, texts_of, usual
from handler.web.pages.layout import PageTemplate
from handler.web.session_cookie import DECLARED

_TEMPLATE = PageTemplate("declared.html")
_ONE: Final = {
    Section.COUNTERS: "counter",
    Section.CONDITIONS: "condition",
    Section.POLICIES: "policy",
    Section.PROFILES: "profile",
    Section.GROUPS: "group",
}

Names = Mapping[str, Mapping[str, str]]
"""Section → the ids of its entries that a document may hold, and what they are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    id: str
    name: str
    href: str
    owner: str
    document: str
    used_by: str
    problem: str
    """Why it is not in force; empty: it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    title: str
    new: str
    """The path of the form for one more; empty: the visitor may not make one."""
    one: str
    rows: tuple[_Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    name: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """One field, or two that belong together."""

    name: str
    label: str
    about: str
    kind: str
    text: str = ""
    usual: str = ""
    """What it is if it is left empty."""
    choices: tuple[_Choice, ...] = ()
    value: str = ""
    """The name of the second field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityForm:
    """What a form is for, and what it holds."""

    section: Section
    entry: DeclaredEntry | None
    """``None``: it makes a new entity."""
    texts: Mapping[str, str]
    names: Names
    csrf: str
    name: str = ""
    message: str = ""
    """Why the last try was refused; empty: there was none."""
    group_state: str = ""
    """Of a group that runs: ``enabled`` or ``disabled``; empty: there is no such group, or it may not be changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    title: str
    action: str
    csrf: str
    name: str
    message: str
    fields: tuple[_Shown, ...]
    more: str
    revision: str
    is_new: bool
    used_by: str
    group_state: str
    has_members: bool


def declared_page(entries: Iterable[DeclaredEntry], *, tunes: bool, documents: Mapping[tuple[str, str], str]) -> Markup:
    """Return the page of all that is declared.

    Args:
        entries: in any order.
        tunes: the visitor may declare.
        documents: section and id → the document as text, without what the visitor may not see.
    """
    by_section: dict[Section, list[DeclaredEntry]] = {section: [] for section in Section}
    for entry in entries:
        by_section[entry.section].append(entry)
    lists = tuple(
        _Listed(
            title=section.value.capitalize(),
            new=f"{DECLARED}/{section.value}/new" if tunes else "",
            one=_ONE[section],
            rows=tuple(_row(each, documents[section.value, each.id]) for each in found),
        )
        for section, found in by_section.items()
    )
    return _TEMPLATE("page", lists)


def text_of(document: Mapping[str, object]) -> str:
    """Return a document in one line."""
    return json.dumps(document, ensure_ascii=False)


def form_page(form: EntityForm) -> Markup:
    """Return the page of one entity's form."""
    section, entry = form.section, form.entry
    used_by = () if entry is None else entry.used_by
    shown = _Form(
        title=f"New {_ONE[section]}" if entry is None else f"{_ONE[section].capitalize()} {entry.name}",
        action=f"{DECLARED}/{section.value}/new" if entry is None else href(section, entry.id),
        csrf=form.csrf,
        name=form.name if entry is None or form.name else entry.name,
        message=form.message,
        fields=tuple(_shown(section, field, form.texts, form.names) for field in FIELDS[section]),
        more=form.texts.get(MORE, ""),
        revision="" if entry is None or entry.revision is None else str(entry.revision),
        is_new=entry is None,
        used_by=", ".join(used_by),
        group_state=form.group_state,
        has_members=section is Section.GROUPS,
    )
    return _TEMPLATE("form", shown)


def document_page(entry: DeclaredEntry, document: str) -> Markup:
    """Return the page of an entity that the visitor cannot change here."""
    return _TEMPLATE("document", _row(entry, document), _ONE[entry.section].capitalize())


def href(section: Section, id: str) -> str:
    """Return the path of an entity's form."""
    return f"{DECLARED}/{section.value}/at/{quote(id, safe='')}"


def texts_before(section: Section, entry: DeclaredEntry | None) -> Mapping[str, str]:
    """Return what a form holds at first."""
    return {} if entry is None else texts_of(section, entry.declared)


def _row(entry: DeclaredEntry, document: str) -> _Row:
    return _Row(
        id=entry.id,
        name=entry.name,
        href=href(entry.section, entry.id),
        owner=entry.at if entry.owner == "file" else f"declared here, revision {entry.revision}",
        document=document,
        used_by=", ".join(entry.used_by),
        problem="; ".join(entry.quarantined),
    )


def _shown(section: Section, field: FormField | KeyedField, texts: Mapping[str, str], names: Names) -> _Shown:
    if isinstance(field, KeyedField):
        chosen = texts.get(field.name, "")
        choices = _choices(dict.fromkeys(field.keys, ""), {chosen} - {""})
        lines = "; ".join(f"{key}: {about(section, key)}" for key in field.keys if key == chosen)
        text = texts.get(field.value, "")
        return _Shown(
            name=field.name, label=field.name, about=lines, kind="keyed", text=text, choices=choices, value=field.value
        )
    label = " ".join(key for key in field.path if key != "first")
    text, told, left_out = texts.get(field.name, ""), about(section, field.path[0]), usual(section, field.path)
    match field.kind:
        case FieldKind.SOME:
            prefix = f"{field.name}."
            now = {name.removeprefix(prefix) for name in texts if name.startswith(prefix)}
            choices = _choices(names.get(field.of, {}), now, prefix)
            return _Shown(name=field.name, label=label, about=told, kind="some", choices=choices)
        case FieldKind.ONE:
            known = dict.fromkeys(field.choices, "") if field.choices else names.get(field.of, {})
            choices = _choices(known, {text} - {""})
            return _Shown(name=field.name, label=label, about=told, kind="one", usual=left_out, choices=choices)
        case FieldKind.TEXT | FieldKind.VALUE | FieldKind.TEXTS | FieldKind.VALUES:
            return _Shown(name=field.name, label=label, about=told, kind="text", text=text, usual=left_out)


def _choices(known: Mapping[str, str], now: Collection[str], prefix: str = "") -> tuple[_Choice, ...]:
    """Return what may be chosen, and what is chosen now, whether it is known or not."""
    ids = dict.fromkeys((*known, *sorted(now)))
    return tuple(_Choice(name=f"{prefix}{each}", label=known.get(each) or each, chosen=each in now) for each in ids)
