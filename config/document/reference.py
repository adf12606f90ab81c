"""The reference of the file: ``python -m config.document.reference`` writes docs/reference.md; ``--check`` compares it.

It is made of the JSON Schema alone, which is made of the document model: there is no second list of keys.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from config.document.declared import BOUNDS, IF_LEFT_OUT, NO_UNIT, UNIT, sentence_of
from config.document.schema import keep, schema

REFERENCE = Path(__file__).parents[2] / "docs" / "reference.md"

Schema = Mapping[str, Any]
Place = tuple[str, ...]
"""Keys from the top of the file; names that an operator chooses are left out."""

_HEAD = """\
# Every key of the file

Made from the document model by `make reference`; the same texts complete the file in editors that know
[its JSON Schema](../config/schema.json). Other pages say when to use what; this one says what there is.

* **Durations** carry units and may be put together: `500ms`, `30s`, `5m`, `1h30m`, `7d`. **Percentages** are written
  `10%`, **sizes** `512MiB`, `10GiB` or `10GB`.
* **Numbers** are of what stands in parentheses behind them.
* **Secrets** are references, `{env: NAME}` or `{file: PATH}`, never values.
* **Default** is what holds while the key is left out: what stands `like this` could as well be written; other words say
  what happens. A key without a default is one of several of which exactly one is written.
* An unknown key is refused, with the nearest known one.
"""
_COLUMNS = ("Key", "Type", "Bounds", "Default", "Example", "Meaning")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceTable:
    """One table: a mapping of the file, and every place where it may stand."""

    name: str
    """Of the definition in the schema."""
    mapping: Schema
    places: tuple[Place, ...]
    """The nearest to the top first."""

    @property
    def title(self) -> str:
        """What it is called, or the first of its places as the file has it."""
        return ".".join(self.places[0]) if self.is_placed else str(self.mapping["title"])

    @property
    def is_placed(self) -> bool:
        """Whether it belongs to a section of the file; not one that is called by what it is, and stands anywhere."""
        return bool(self.mapping.get("title", self.name) == self.name)


def sections(whole: Schema) -> tuple[ReferenceTable, ...]:
    """Find every mapping with keys of its own, in the order of the file; what may stand anywhere comes last."""
    found: dict[str, tuple[Schema, list[Place]]] = {}
    _follow(whole, (), whole["$defs"], found)
    tops = list(whole["properties"])
    tables = [
        ReferenceTable(name=name, mapping=mapping, places=tuple(sorted(places, key=len)))
        for name, (mapping, places) in found.items()
    ]
    return tuple(sorted(tables, key=lambda each: tops.index(each.places[0][0]) if each.is_placed else len(tops)))


def _follow(mapping: Schema, place: Place, known: Schema, found: dict[str, tuple[Schema, list[Place]]]) -> None:
    for key, value in mapping.get("properties", {}).items():
        name = _named(value)
        inner = None if name is None else mapping_of(known[name])
        if name is None or inner is None:
            continue
        first = name not in found
        found.setdefault(name, (inner, []))[1].append((*place, key))
        if first:
            _follow(inner, (*place, key), known, found)


def mapping_of(definition: Schema) -> Schema | None:
    """The mapping that a definition is, or that one of its alternatives is; ``None``: a word of a closed list."""
    if "properties" in definition:
        return definition
    return next((each for each in definition.get("anyOf", ()) if "properties" in each), None)


def _named(value: Schema) -> str | None:
    """The definition that a value is, a list holds or names lead to."""
    for inner in (value, value.get("items", {}), *value.get("patternProperties", {}).values()):
        if "$ref" in inner:
            return str(inner["$ref"]).rpartition("/")[2]
    return None


def choice_of(mapping: Schema) -> tuple[str, ...]:
    """The keys of which exactly one is written."""
    return tuple(each["required"][0] for each in mapping.get("oneOf", ()))


def inline(value: object) -> str:
    """Write a value in one line, as it may stand in the file.

    >>> inline(["a", {"b": "2m"}]), inline("0 9 * * mon-fri"), inline(True)
    ('[a, b: 2m]', '0 9 * * mon-fri', 'true')
    """
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = True
    writer.width = 10**6
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # ruamel declares it as None
    text = StringIO()
    writer.dump(value, text)
    return text.getvalue().removesuffix("\n").removesuffix("\n...").strip()


class _Words:
    """Says a schema in an operator's words; what has a table of its own is a link to it."""

    def __init__(self, known: Schema, tables: Sequence[ReferenceTable]) -> None:
        self._known = known
        self._titles = {each.name: each.title for each in tables}
        self._called = {each.name: "mapping" if each.is_placed else each.title for each in tables}

    def type(self, value: Schema) -> str:
        """What may be written."""
        if {"title", "enum", "const", "$ref"} & value.keys():
            words = str(value.get("title") or self._named(value))
        elif value.get("type") == "array":
            words = f"list: {self.type(value['items'])}"
        elif value.get("type") == "object":
            words = f"names → {self.type(next(iter(_values_of(value))))}"
        elif "anyOf" in value:
            words = " or ".join(self.type(each) for each in value["anyOf"])
        else:
            words = _PLAIN[str(value["type"])]
        unit = str(value.get(UNIT, NO_UNIT))
        return words if unit == NO_UNIT else f"{words} ({unit})"

    def _named(self, value: Schema) -> str:
        if "const" in value:
            return _code(inline(value["const"]))
        if "enum" in value:
            return "one of " + ", ".join(_code(inline(word)) for word in value["enum"])
        name = str(value["$ref"]).rpartition("/")[2]
        if name not in self._titles:
            return self._named(self._known[name])
        link = f"[{self._called[name]}](#{anchor_of(self._titles[name])})"
        words = [each for each in self._known[name].get("anyOf", ()) if "properties" not in each]
        return " or ".join([*(_word(each) for each in words), link])


_PLAIN = {"boolean": "`true` or `false`", "integer": "whole number", "number": "number", "string": "text"}


def _word(each: Schema) -> str:
    return _code(inline(each["const"])) if "const" in each else str(each["title"])


def _values_of(value: Schema) -> Iterator[Schema]:
    yield from value.get("patternProperties", {}).values()
    if isinstance(value.get("additionalProperties"), dict):
        yield value["additionalProperties"]
    yield {"type": "string"}


def bounds_of(value: Schema) -> str:
    """Return the limits of a value, beside its form; empty: none."""
    limits = [
        str(value.get(BOUNDS, "")),
        _between(value.get("minimum"), value.get("maximum"), ""),
        f"above {value['exclusiveMinimum']}" if "exclusiveMinimum" in value else "",
        _between(value.get("minItems"), value.get("maxItems"), " entries"),
        _between(value.get("minProperties"), value.get("maxProperties"), " entries"),
        _between(value.get("minLength"), value.get("maxLength"), " characters"),
    ]
    return "; ".join(each for each in limits if each)


def _between(least: float | None, most: float | None, of_what: str) -> str:
    if least is None:
        return ""
    if most is None:
        return f"from {least:g}{of_what if least > 1 else of_what.replace('entries', 'entry')}"
    return f"{least}{of_what}" if least == most else f"{least} to {most}{of_what}"


def default_of(key: str, value: Schema, mapping: Schema) -> str:
    """Say what holds without the key."""
    if key in mapping.get("required", ()):
        return "**required**"
    if IF_LEFT_OUT in value:
        return str(value[IF_LEFT_OUT])
    if "default" not in value:
        return ""
    if value["default"] in ({}, []):
        return "its own defaults" if "$ref" in value else "none"
    return _code(inline(value["default"]))


def reference_text() -> str:
    """The page as it is kept, with a final line end."""
    whole = schema()
    tables = sections(whole)
    words = _Words(whole["$defs"], tables)
    lines = [_HEAD, *_contents(whole, tables), "", "## The file", "", *_table(whole, words)]
    for section in tables:
        lines += ["", f"{'###' if '.' in section.title else '##'} {section.title}", ""]
        lines += [*_introduction(section), "", *_table(section.mapping, words)]
    return "\n".join(lines) + "\n"


def anchor_of(title: str) -> str:
    """Where a heading is found, by the rule of GitHub and of most others."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _contents(whole: Schema, tables: Sequence[ReferenceTable]) -> Iterator[str]:
    yield "* **[The file](#the-file)**"
    for key in whole["properties"]:
        links = [_link(each, key) for each in tables if each.is_placed and each.places[0][0] == key]
        if links:
            yield f"* **{links[0]}**{': ' if links[1:] else ''}{', '.join(links[1:])}"
    yield from (f"* **{_link(each, '')}**" for each in tables if not each.is_placed)


def _link(section: ReferenceTable, within: str) -> str:
    return f"[{section.title.removeprefix(f'{within}.')}](#{anchor_of(section.title)})"


def _introduction(section: ReferenceTable) -> Iterator[str]:
    yield " ".join(str(section.mapping.get("description", "")).split())
    further = section.places[1:] if section.is_placed else ()
    if further:
        yield f"\nThe same at {', '.join(_code('.'.join(place)) for place in further)}."
    if choice := choice_of(section.mapping):
        yield f"\nExactly one of {', '.join(map(_code, choice))}."
    needs: dict[tuple[str, ...], list[str]] = {}
    for key, others in section.mapping.get("dependentRequired", {}).items():
        needs.setdefault(tuple(others), []).append(key)
    for others, keys in needs.items():
        yield f"\n{', '.join(map(_code, keys))}: only beside {', '.join(map(_code, others))}."


def _table(mapping: Schema, words: _Words) -> Iterator[str]:
    if not mapping["properties"]:
        yield "It has no keys: write `{}`."
        return
    yield _row(_COLUMNS)
    yield _row(["---"] * len(_COLUMNS))
    for key, value in mapping["properties"].items():
        left_out = str(value.get(IF_LEFT_OUT, ""))
        meaning = str(value["description"]).removesuffix(sentence_of(left_out))
        example = _code(inline(value["examples"][0]))
        row = (_code(key), words.type(value), bounds_of(value), default_of(key, value, mapping), example, meaning)
        yield _row(row)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _code(text: str) -> str:
    return f"`{text}`"


def main(arguments: Sequence[str], path: Path = REFERENCE) -> int:
    """Write the page, or with ``--check`` compare it. Returns the exit code: 0 done, 1 stale, 2 usage."""
    return keep(reference_text(), path, arguments, module="config.document.reference", remedy="make reference")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
