"""What a template came to → YAML as people would write it."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from config.document.places import Plain
from config.errors import Refused
from config.importers.oneflow.imported import Imported
from config.importers.oneflow.policies import Entry

_WIDTH = 4096
"""No line is folded, least of all text from the OneFlow service."""


def declaration(imported: Imported, base: str = "") -> str:
    """Write a declaration.

    Args:
        imported: what a template came to.
        base: a declaration, in YAML, that it is added to; its comments stay. Without one, clouds and profiles are still
            missing, and the text ends with a sketch of them.

    Raises:
        Refused: something of the same name is declared in ``base``.
    """
    yaml = YAML()
    yaml.width = _WIDTH
    whole: CommentedMap = yaml.load(base) if base else CommentedMap()
    for section, entries in imported.document.items():
        if entries:
            _add(whole, section, entries)
    stream = io.StringIO()
    yaml.dump(whole, stream)
    return "".join((_header(imported), stream.getvalue(), *(() if base else _sketch(imported))))


def _add(whole: CommentedMap, section: str, entries: Mapping[str, Entry]) -> None:
    """A group stands on several lines, all else on one."""
    written = whole.setdefault(section, CommentedMap())
    for name, entry in entries.items():
        if name in written:
            raise Refused(f"{section}.{name} is declared already: rename one of the two")
        written[name] = _mapping(entry, on_one_line=section != "groups")


def _mapping(entry: Mapping[str, Plain], *, on_one_line: bool) -> CommentedMap:
    written = CommentedMap({key: _value(key, value) for key, value in entry.items()})
    if on_one_line:
        written.fa.set_flow_style()
    return written


def _value(key: str, value: Plain) -> object:
    match value:
        case dict():
            return _mapping(value, on_one_line=True)
        case list():
            items = CommentedSeq(value)
            items.fa.set_flow_style()
            return items
        case str() if key == "expression":
            return DoubleQuotedScalarString(value)
        case _:
            return value


def _header(imported: Imported) -> str:
    return f"# From the OneFlow service template {_one_line(imported.service)}.\n"


def _sketch(imported: Imported) -> Iterator[str]:
    if not imported.profiles:
        return
    yield "# Still to be written: what members are made of, and where they come from. For example:\n"
    yield "# clouds:\n#   local: {process: {}}\n# profiles:\n"
    for name, template in sorted(imported.profiles.items()):
        made_of = "" if template is None else f"  # was the VM template {template}"
        yield f"#   {name}: {{cloud: local, command: [/usr/local/bin/{name}]}}{made_of}\n"


def _one_line(text: str) -> str:
    """Nothing that stands in a template ends a comment."""
    return ascii(text[:80])
