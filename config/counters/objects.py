"""SNMP objects that have names: what people call them, and what their readings are. Pure.

`config.counters.well_known` is the table that Trimtab brings along; `config.counters.mibs` adds the objects of an
operator's own MIBs.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from config.model.counters import CounterKind

_PART = r"(?:[0-9]{1,10}|\"[ !#-~]{1,100}\")"
_NAME = re.compile(
    r"(?:(?P<module>[A-Za-z][A-Za-z0-9-]*)::)?(?P<object>[A-Za-z][A-Za-z0-9-]*)"
    rf"(?:\.(?P<instance>{_PART}(?:\.{_PART}){{0,60}}))?"
)
_OID = re.compile(r"\.?(?P<oid>[0-2](?:\.[0-9]{1,10}){2,127})")
_GREATEST_ARC = 2**32 - 1
_MOST_ARCS = 128
"""Of an OID. Source: RFC 3416, section 3, of `ObjectName`."""
_LONGEST_JUDGED = 100
_MOST_NEAR = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectShape:
    """What the readings of an object are."""

    kind: CounterKind = CounterKind.GAUGE
    bits: int = 32
    unit: str = ""
    """Of the value: of the reading times ``scale``, or of its rate per second times ``scale``."""
    scale: float = 1.0
    range: tuple[float, float] | None = None
    description: str = ""
    """What it tells, in a sentence; empty where only the form is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownObject:
    """One object that has a name."""

    name: str
    """With its module, and with its instance once that is known: ``UCD-SNMP-MIB::ssCpuUser.0``."""
    oid: str
    """Numeric, no leading dot; with the instance once that is known."""
    column: bool
    """A column of a table, so any instance; else the one instance 0."""
    compound: bool = False
    """Of a column: rows may be told apart by several numbers or by text, and not by one number."""
    shape: ObjectShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """All objects that have names, and how to find them."""

    by_oid: Mapping[str, KnownObject]
    by_name: Mapping[str, KnownObject]
    """By ``MODULE::object``, and by ``object`` alone where that is clear."""
    shared: Mapping[str, tuple[str, ...]]
    """``object`` → the full names of several objects that are called so."""
    whole: bool = True
    """Whether every MIB could be read: else an unknown name may be none of the writer's fault."""

    @classmethod
    def of(cls, entries: Iterable[KnownObject], *, whole: bool = True) -> Lexicon:
        """Index objects without instances. Of two with the same full name, or the same OID, the first counts."""
        by_oid: dict[str, KnownObject] = {}
        by_name: dict[str, KnownObject] = {}
        called: dict[str, dict[str, KnownObject]] = {}
        for entry in entries:
            if by_name.setdefault(entry.name, entry) is entry:
                called.setdefault(_bare(entry), {}).setdefault(entry.oid, entry)
                by_oid.setdefault(entry.oid, entry)
        for short, same in called.items():
            if len(same) == 1:
                by_name[short] = next(iter(same.values()))
        shared = {
            short: tuple(entry.name for entry in same.values()) for short, same in called.items() if len(same) > 1
        }
        return cls(by_oid=by_oid, by_name=by_name, shared=shared, whole=whole)

    def resolve(self, name: str) -> KnownObject | None:
        """Find an object by ``MODULE::object.instance``, by ``object.instance`` where that is clear, or by numeric OID.

        An instance is one number, or several with dots between them; a text in double quotes stands for its length and
        its characters, as in Net-SNMP's tools.
        """
        oid = numeric(name)
        if oid is not None:
            return self.by_oid.get(oid) or self._by_stem(oid)
        match = _NAME.fullmatch(name)
        if match is None or match["instance"] is None:
            return None
        return _with_instance(self.by_name.get(_key(match)), _arcs(match["instance"]))

    def column(self, name: str) -> KnownObject | None:
        """Find a whole column of a table by ``MODULE::object``, or by ``object`` where that is clear."""
        entry = self.by_name.get(name)
        return entry if entry is not None and entry.column else None

    def rivals(self, name: str) -> tuple[str, ...]:
        """Full names of several objects that are called so, each with the instance; none where the name is clear."""
        match = _NAME.fullmatch(name)
        if match is None or match["module"] is not None:
            return ()
        tail = "" if match["instance"] is None else f".{match['instance']}"
        return tuple(full + tail for full in self.shared.get(match["object"], ()))

    def nearest(self, name: str) -> tuple[str, ...]:
        """Find up to three names that a mistaken one may have meant, best first, those of its own module before others.

        They are such as can be written: with an instance, but for a column where none was written.
        """
        module, separator, rest = name[:_LONGEST_JUDGED].rpartition("::")
        short, dot, _ = rest.partition(".")
        known: dict[str, list[KnownObject]] = {}
        for entry in self.by_oid.values():
            known.setdefault(_bare(entry).lower(), []).append(entry)
        close = difflib.get_close_matches(short.lower(), known, n=_MOST_NEAR, cutoff=0.6)
        found = [entry for called in close for entry in known[called]]
        found.sort(key=lambda entry: separator != "" and not entry.name.startswith(f"{module}::"))
        return tuple(entry.name if entry.column and not dot else _first(entry) for entry in found[:_MOST_NEAR])

    def _by_stem(self, oid: str) -> KnownObject | None:
        """The object of which a numeric OID is an instance."""
        arcs: tuple[str, ...] = ()
        while oid:
            oid, _, arc = oid.rpartition(".")
            arcs = (arc, *arcs)
            if (entry := self.by_oid.get(oid)) is not None:
                return _with_instance(entry, arcs)
        return None


def numeric(text: str) -> str | None:
    """Read a numeric OID and drop its leading dot; ``None`` for anything else.

    >>> numeric(".1.3.6.1")
    '1.3.6.1'
    """
    match = _OID.fullmatch(text)
    if match is None or any(int(arc) > _GREATEST_ARC for arc in match["oid"].split(".")):
        return None
    return match["oid"]


def _bare(entry: KnownObject) -> str:
    return entry.name.partition("::")[2]


def _first(entry: KnownObject) -> str:
    return f"{entry.name}.{1 if entry.column else 0}"


def _key(match: re.Match[str]) -> str:
    return match["object"] if match["module"] is None else f"{match['module']}::{match['object']}"


def _arcs(instance: str) -> tuple[str, ...]:
    """The numbers of an instance as it is written. Source of text: RFC 2578, section 7.7, variable-length strings."""
    arcs: list[str] = []
    for part in re.findall(_PART, instance):
        text = part.strip('"') if part.startswith('"') else None
        arcs += [part] if text is None else [str(len(text)), *(str(ord(character)) for character in text)]
    return tuple(arcs)


def _with_instance(entry: KnownObject | None, arcs: tuple[str, ...]) -> KnownObject | None:
    if entry is None or not _fits(entry, arcs) or any(int(arc) > _GREATEST_ARC for arc in arcs):
        return None
    tail = ".".join(str(int(arc)) for arc in arcs)
    if entry.oid.count(".") + 1 + len(arcs) > _MOST_ARCS:
        return None
    return replace(entry, name=f"{entry.name}.{tail}", oid=f"{entry.oid}.{tail}")


def _fits(entry: KnownObject, arcs: tuple[str, ...]) -> bool:
    return (len(arcs) == 1 or entry.compound) if entry.column else arcs == ("0",)
