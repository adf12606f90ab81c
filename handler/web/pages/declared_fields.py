"""Forms of what is declared over the API: which keys of a document have a field, and text of a form ↔ document. Pure.

A form has fields for the keys that most entities have. All other keys stand together in one text, in the form that the
file has them in, so that no document loses a key by being edited here.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from config.document.conditions import ConditionDocument
from config.document.counters import CounterDocument
from config.document.declared import Declared
from config.document.file import GroupDocument
from config.document.places import Plain, read_places
from config.document.policies import PolicyDocument
from config.document.profiles import ProfileDocument
from config.errors import DeclarationError, Refused
from config.model.sections import Section

MORE: Final = "more"
"""The field of all other keys."""
_FORM: Final = "the field 'other keys'"

Document = dict[str, Plain]


class FieldKind(enum.Enum):
    """What a field takes."""

    TEXT = "text"
    VALUE = "value"
    """A number, or a text such as ``10%``."""
    TEXTS = "texts"
    """Texts, with commas between them."""
    VALUES = "values"
    ONE = "one"
    """One of a list."""
    SOME = "some"
    """Some of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormField:
    """One field, for one key of a document."""

    path: tuple[str, ...]
    """The key, and the keys that it is below. ``first`` is the only item of a list."""
    kind: FieldKind = FieldKind.TEXT
    choices: tuple[str, ...] = ()
    """Of a closed list."""
    of: str = ""
    """The section whose entries may be named; empty: none."""

    @property
    def name(self) -> str:
        """Its name in the form."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedField:
    """Two fields for keys of which exactly one is written: which one, and its value."""

    name: str
    keys: tuple[str, ...]
    kind: FieldKind

    @property
    def value(self) -> str:
        """The name of the second field in the form."""
        return f"{self.name}.value"


_FIRST: Final = "first"
_COMPARED: Final = ("above", "at_least", "below", "at_most", "equals")
_SCALAR_SOURCES: Final = (
    "snmp", "haproxy", "netscaler", "prometheus", "push", "alert", "opennebula", "cloudstack", "nova", "builtin",
)  # fmt: skip

FIELDS: Final[Mapping[Section, Sequence[FormField | KeyedField]]] = {
    Section.COUNTERS: (
        KeyedField(name="source", keys=_SCALAR_SOURCES, kind=FieldKind.TEXT),
        FormField(path=("kind",), kind=FieldKind.ONE, choices=("gauge", "counter")),
        FormField(path=("unit",)),
        FormField(path=("range",), kind=FieldKind.VALUES),
    ),
    Section.CONDITIONS: (
        FormField(path=("counter",), kind=FieldKind.ONE, of="counters"),
        FormField(path=("across",)),
        FormField(path=("window",)),
        FormField(path=("aggregate",)),
        KeyedField(name="comparison", keys=_COMPARED, kind=FieldKind.VALUE),
    ),
    Section.POLICIES: (
        FormField(path=("when",), kind=FieldKind.SOME, of="conditions"),
        FormField(path=("duration",)),
        KeyedField(name="change", keys=("add", "remove", "set"), kind=FieldKind.VALUE),
        FormField(path=("quiet_time",)),
    ),
    Section.PROFILES: (
        FormField(path=("cloud",)),
        FormField(path=("zone",)),
        FormField(path=("template",)),
        FormField(path=("offering",)),
        FormField(path=("networks",), kind=FieldKind.TEXTS),
        FormField(path=("snmp", "port"), kind=FieldKind.VALUE),
    ),
    Section.GROUPS: (
        FormField(path=("profile",), kind=FieldKind.ONE, of="profiles"),
        FormField(path=("balancers", _FIRST, "use")),
        FormField(path=("balancers", _FIRST, "port"), kind=FieldKind.VALUE),
        FormField(path=("min",), kind=FieldKind.VALUE),
        FormField(path=("max",), kind=FieldKind.VALUE),
        FormField(path=("interval",)),
        FormField(path=("policies",), kind=FieldKind.SOME, of="policies"),
        FormField(path=("drain",)),
        FormField(path=("mode",), kind=FieldKind.ONE, choices=("act", "advise", "off")),
    ),
}
_DOCUMENTS: Final[Mapping[Section, type[Declared]]] = {
    Section.COUNTERS: CounterDocument,
    Section.CONDITIONS: ConditionDocument,
    Section.POLICIES: PolicyDocument,
    Section.PROFILES: ProfileDocument,
    Section.GROUPS: GroupDocument,
}


def about(section: Section, key: str) -> str:
    """Return what the reference says of a key of a section's entries."""
    return _DOCUMENTS[section].keys()[key].description or ""


def usual(section: Section, path: Sequence[str]) -> str:
    """Return the value that a key has if it is left out; empty: it has none that a field could show.

    >>> usual(Section.GROUPS, ("interval",)), usual(Section.GROUPS, ("mode",)), usual(Section.GROUPS, ("min",))
    ('30s', 'act', '')
    """
    default = _DOCUMENTS[section].keys()[path[0]].default
    return _text(default) if len(path) == 1 and isinstance(default, str | int) else ""


# Document → form


def texts_of(section: Section, document: Mapping[str, Plain]) -> dict[str, str]:
    """Return a document as the texts of a form: what a field does not hold is among the other keys.

    >>> texts_of(Section.CONDITIONS, {"counter": "cpu", "above": 80, "window": "1m"})
    {'counter': 'cpu', 'window': '1m', 'comparison': 'above', 'comparison.value': '80', 'more': ''}
    """
    rest: Document = json.loads(json.dumps(document))
    found: dict[str, str] = {}
    for field in FIELDS[section]:
        if isinstance(field, KeyedField):
            found |= _taken_keyed(field, rest)
        else:
            found |= _taken(field, rest)
    return {**found, MORE: json.dumps(rest, indent=1, ensure_ascii=False) if rest else ""}


def _taken_keyed(field: KeyedField, rest: Document) -> dict[str, str]:
    given = [key for key in field.keys if key in rest]
    if len(given) != 1 or not _is_scalar(rest[given[0]]):
        return {}
    return _if_same(field, {field.name: given[0], field.value: _text(rest[given[0]])}, rest, (given[0],))


def _taken(field: FormField, rest: Document) -> dict[str, str]:
    holders = _holders(field.path, rest)
    value = holders[-1].get(field.path[-1]) if holders else None
    return _if_same(field, _shown(field, value), rest, field.path)


def _shown(field: FormField, value: Plain) -> dict[str, str]:
    """Return a value as the texts of its field; nothing: the field cannot show it."""
    match field.kind:
        case FieldKind.SOME:
            return {f"{field.name}.{each}": "on" for each in value} if isinstance(value, list) else {}
        case FieldKind.TEXTS | FieldKind.VALUES:
            return {field.name: ", ".join(map(_text, value))} if isinstance(value, list) else {}
        case FieldKind.TEXT | FieldKind.ONE | FieldKind.VALUE:
            return {field.name: _text(value)} if _is_scalar(value) else {}


def _if_same(
    field: FormField | KeyedField, texts: dict[str, str], rest: Document, path: tuple[str, ...]
) -> dict[str, str]:
    """Take a value out of a document if its texts say exactly this value; else it stays among the other keys."""
    holders = _holders(path, rest)
    said = list(_given(field, texts))
    if not holders or not said or _exact(said[0][1]) != _exact(holders[-1].get(path[-1])):
        return {}
    del holders[-1][path[-1]]
    if len(path) > 1 and rest[path[0]] in ({}, [{}]):
        del rest[path[0]]
    return texts


def _exact(value: Plain) -> str:
    """Tell values apart that Python holds equal, such as 1, 1.0 and true."""
    return json.dumps(value)


def _holders(path: Sequence[str], document: Document) -> list[Document]:
    """Return the mappings that a key is below, the outermost first; empty: there is not such a place."""
    found, at = [document], document
    for key, below in pairwise(path):
        if key == _FIRST:
            continue
        inner = at.get(key)
        if below == _FIRST:
            inner = inner[0] if isinstance(inner, list) and len(inner) == 1 else None
        if not isinstance(inner, dict):
            return []
        found.append(inner)
        at = inner
    return found


def _is_scalar(value: Plain) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _text(value: Plain) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# Form → document


def document_of(section: Section, texts: Mapping[str, str]) -> Document:
    """Return the document that the texts of a form say.

    Raises:
        Refused: the other keys are no YAML, or one of them has a field as well.

    >>> document_of(Section.POLICIES, {"when.busy": "on", "duration": "2m", "change": "add", "change.value": "2"})
    {'when': ['busy'], 'duration': '2m', 'add': 2}
    """
    found = _more(texts.get(MORE, ""))
    for field in FIELDS[section]:
        for path, value in _given(field, texts):
            _put(found, path, value)
    return found


def _given(field: FormField | KeyedField, texts: Mapping[str, str]) -> Iterator[tuple[tuple[str, ...], Plain]]:
    """Yield where a field's value goes, and the value; nothing: it is left empty."""
    if isinstance(field, KeyedField):
        key, text = texts.get(field.name, ""), texts.get(field.value, "").strip()
        if key in field.keys and text:
            yield (key,), _value(field.kind, text)
    elif field.kind is FieldKind.SOME:
        prefix = f"{field.name}."
        chosen: list[Plain] = [name.removeprefix(prefix) for name in texts if name.startswith(prefix)]
        if chosen:
            yield field.path, chosen
    elif text := texts.get(field.name, "").strip():
        yield field.path, _value(field.kind, text)


def _value(kind: FieldKind, text: str) -> Plain:
    match kind:
        case FieldKind.TEXT | FieldKind.ONE | FieldKind.SOME:
            return text
        case FieldKind.VALUE:
            return _number(text)
        case FieldKind.TEXTS:
            return [each.strip() for each in text.split(",") if each.strip()]
        case FieldKind.VALUES:
            return [_number(each.strip()) for each in text.split(",") if each.strip()]


def _number(text: str) -> Plain:
    """Return a number, or the text of what is none."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _put(document: Document, path: Sequence[str], value: Plain) -> None:
    at: Document = document
    for key, below in pairwise(path):
        if key == _FIRST:
            continue
        inner = at.setdefault(key, [{}] if below == _FIRST else {})
        if isinstance(inner, list) and len(inner) == 1:
            inner = inner[0]
        if not isinstance(inner, dict):
            raise Refused(f"{key} has a field, and stands among the other keys, too: keep one of them")
        at = inner
    if path[-1] in at:
        raise Refused(f"{'.'.join(path)} has a field, and stands among the other keys, too: keep one of them")
    at[path[-1]] = value


def _more(text: str) -> Document:
    if not text.strip():
        return {}
    try:
        read = read_places(text, _FORM)
    except DeclarationError as error:
        raise Refused("; ".join(map(str, error.problems[:3]))) from error
    if read.problems:
        raise Refused("; ".join(map(str, read.problems[:3])))
    return read.data
