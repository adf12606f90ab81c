"""The text of a MIB → what it defines, by pysnmp's own parser. The one module that knows pysmi.

pysmi is imported when the first MIB is parsed, never before: it takes a quarter of a second and 20 MB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_LONGEST = 200
_SET_ASIDE = re.compile(r'"[^"]*"|--[^\r\n]*')
_FALSE_KEYWORD = re.compile(r"\b(?:MACRO|CHOICE|EXPORTS)\b")
_HEADER = re.compile(r"\bDEFINITIONS\b\s*::=\s*\bBEGIN\b")


class MibSyntaxError(Exception):
    """A text is no MIB; ``line`` is where the parser gave up."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """An object that may have a value: a scalar or a column."""

    name: str
    syntax: str
    """The type that is written: ``Counter32``, or a name of the module's own or imported."""
    span: tuple[int, int] | None
    """Least and greatest value, where the syntax gives one span of numbers."""
    units: str
    description: str
    """Its first sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """What one MIB module defines, as written: nothing is looked up in other modules yet."""

    name: str
    imports: Mapping[str, str]
    """Symbol → the module that it comes from."""
    nodes: Mapping[str, tuple[str, str]]
    """Symbol → the symbol that its OID begins with (empty: none), and the arcs after it, ``1.3``."""
    types: Mapping[str, str]
    """Type → the type that it refines."""
    rows: frozenset[str]
    """Symbols of rows of tables: what is below one is a column."""
    leaves: tuple[Leaf, ...]


def is_mib(text: str) -> bool:
    """Whether a text has the header of a MIB module. Source: RFC 2578, section 3."""
    return _HEADER.search(text) is not None


def modules_of(text: str) -> tuple[Module, ...]:
    """Parse a file of MIB modules.

    Raises:
        MibSyntaxError: it does not parse, or holds no module.
    """
    from pysmi.error import PySmiError  # type: ignore[import-untyped]  # pysmi has no types

    try:
        parsed = _parser().parse(_without_false_keywords(text))
    except PySmiError as error:
        line = getattr(error, "lineno", 1)
        raise MibSyntaxError(_why(error, text, line), line if isinstance(line, int) else 1) from error
    if not parsed:
        raise MibSyntaxError("it holds no module", 1)
    return tuple(_module(*parts) for parts in parsed)


def import_line(text: str, module: str) -> int:
    """The line on which a module is imported from; 1 where it is not found."""
    found = re.search(rf"\bFROM\s+{re.escape(module)}(?![A-Za-z0-9-])", text)
    return text.count("\n", 0, found.end()) + 1 if found else 1


@lru_cache(maxsize=1)
def _parser() -> Any:  # noqa: ANN401  # pysmi has no types
    from pysmi.parser.dialect import smi_v1_relaxed  # type: ignore[import-untyped]  # pysmi has no types
    from pysmi.parser.smi import parserFactory  # type: ignore[import-untyped]  # pysmi has no types

    return parserFactory(**smi_v1_relaxed)()


def _why(error: Exception, text: str, line: object) -> str:
    """What stands at the place; the parser only gives an offset."""
    lines = text.splitlines()
    if isinstance(line, int) and 0 < line <= len(lines):
        return f"not understood near {' '.join(lines[line - 1].split())[:_LONGEST]!a}"
    return str(getattr(error, "msg", error))[:_LONGEST]


def _without_false_keywords(text: str) -> str:
    """Keep the parser from taking words in texts and comments for the beginning of a macro, which it skips."""

    def quiet(found: re.Match[str]) -> str:
        if found.group().startswith("--"):
            return ""
        return _FALSE_KEYWORD.sub(lambda word: word.group().lower(), found.group())

    return _SET_ASIDE.sub(quiet, text)


def _module(name: str, _oid: object, imports: Mapping[str, Iterable[str]], declarations: Iterable[Any]) -> Module:
    clauses = [clause for clause in declarations or () if clause]
    types = {clause[1]: refined for clause in clauses if (refined := _refined(clause)) is not None}
    objects = [clause for clause in clauses if clause[0] == "objectTypeClause"]
    sequences = {clause[1] for clause in clauses if clause[0] == "typeDeclaration" and clause[1] not in types}
    rows = frozenset(clause[1] for clause in objects if _is_row(clause, sequences))
    return Module(
        name=name,
        imports={symbol: module for module, symbols in imports.items() for symbol in symbols},
        nodes=dict(_nodes(clauses)),
        types=types,
        rows=rows,
        leaves=tuple(leaf for clause in objects if clause[1] not in rows and (leaf := _leaf(clause)) is not None),
    )


def _is_row(clause: Any, sequences: AbstractSet[str]) -> bool:  # noqa: ANN401  # pysmi has no types
    """A row has an index, or augments another; old MIBs leave that out, and only its type is a sequence."""
    return clause[8] is not None or clause[9] is not None or _type_of(clause[2]) in sequences


def _nodes(clauses: Iterable[Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Every symbol that has an OID. A trap's number is none."""
    for clause in clauses:
        oid = clause[-1]
        if clause[0] != "trapTypeClause" and isinstance(oid, tuple) and oid[0] == "objectIdentifier":
            first, *rest = oid[1]
            parent, arcs = ("", [first]) if isinstance(first, int) else (first, [])
            if isinstance(first, tuple):
                parent, arcs = "", [first[1]]
            arcs += [part[1] if isinstance(part, tuple) else part for part in rest]
            yield clause[1], (parent, ".".join(str(arc) for arc in arcs))


def _refined(clause: Any) -> str | None:  # noqa: ANN401  # pysmi has no types
    """The type that a type declaration refines; ``None`` for sequences and other clauses."""
    if clause[0] != "typeDeclaration" or clause[2] is None:
        return None
    syntax = clause[2][-1]
    return _type_of(syntax)


def _type_of(syntax: Any) -> str | None:  # noqa: ANN401  # pysmi has no types
    match syntax:
        case ("SimpleSyntax" | "ApplicationSyntax" | "row", str(name), *_):
            return name
        case ("BITS", *_):
            return "BITS"
        case _:
            return None


def _leaf(clause: Any) -> Leaf | None:  # noqa: ANN401  # pysmi has no types
    syntax = _type_of(clause[2])
    if syntax is None:
        return None
    return Leaf(
        name=clause[1],
        syntax=syntax,
        span=_span(clause[2]),
        units=_line(clause[3]),
        description=_sentence(_line(clause[6])),
    )


def _span(syntax: Any) -> tuple[int, int] | None:  # noqa: ANN401  # pysmi has no types
    match syntax:
        case (_, _, ("integerSubType", [(int(least), int(greatest))])):
            return least, greatest
        case _:
            return None


def _line(clause: Any) -> str:  # noqa: ANN401  # pysmi has no types
    return " ".join(clause[1].split()) if clause is not None else ""


def _sentence(text: str) -> str:
    end = re.search(r"(?<!\be\.g)(?<!\bi\.e)\.(?=\s|$)", text)
    first = text[: end.end()] if end else text
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"
