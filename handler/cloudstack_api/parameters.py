"""What a command takes, how its parameters are read, and which page of a list they ask for. Pure.

Names count in any case. A list is one value with commas; a map is ``name[0].key=…&name[0].value=…``. Parameters that a
command does not know are ignored, as CloudStack does.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import parse_qsl

from handler.cloudstack_api.faults import CloudstackFault, FaultCode, invalid, missing, wrong

_INDEXED: Final = re.compile(r"([a-z0-9]+)\[(\d{1,4})\]\.([a-z0-9_.\-]{1,100})")
_INTEGER_AT_MOST: Final = 2**31 - 1
_LONG_AT_MOST: Final = 2**63 - 1
_PAIRS_AT_MOST: Final = 100
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ENTRY_NAMES: Final = ("name", "key")
"""How clients call the name of an entry of a map: the server's own clients, and the Go client."""


PAGE_AT_MOST: Final = 500
"""What CloudStack calls ``default.page.size``."""
_ALL: Final = -1
"""Page size of a whole list."""

_Item = TypeVar("_Item")


class Kind(enum.Enum):
    """The type of a parameter, as listApis names it."""

    STRING = "string"
    UUID = "uuid"
    INTEGER = "integer"
    LONG = "long"
    BOOLEAN = "boolean"
    LIST = "list"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class CommandParameter:
    """One parameter of a command."""

    name: str
    """In lower case."""
    kind: Kind
    about: str
    required: bool = False
    since: str = ""
    """The first release that has it; empty: it always had it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command."""

    name: str
    about: str
    envelope: str
    """The key on top of its answer, without ``response``."""
    entity: str = ""
    """The key of its object or objects below that; empty: it only succeeds."""
    parameters: tuple[CommandParameter, ...] = ()
    is_job: bool = False
    """It answers with a job, whose result says what became of it."""
    makes: bool = False
    """The job makes an entity, whose id is in the first answer."""
    since: str = ""
    related: str = ""
    """Commands that are about the same."""

    @property
    def key(self) -> str:
        """The key on top of an answer."""
        return f"{self.envelope}response"


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameters of one request, of the types that its command declares."""

    command: Command
    values: Mapping[str, object] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """Return a text or an id; ``None``: it is not given."""
        value = self.values.get(name)
        return value if isinstance(value, str) else None

    def need(self, name: str) -> str:
        """Return a text that is required.

        Raises:
            CloudstackFault: it is not given.
        """
        value = self.text(name)
        if value is None:
            raise missing(self.command.envelope, name)
        return value

    def number(self, name: str) -> int | None:
        """Return a number; ``None``: it is not given."""
        value = self.values.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def need_number(self, name: str) -> int:
        """Return a number that is required.

        Raises:
            CloudstackFault: it is not given.
        """
        value = self.number(name)
        if value is None:
            raise missing(self.command.envelope, name)
        return value

    def flag(self, name: str) -> bool | None:
        """Return a truth; ``None``: it is not given."""
        value = self.values.get(name)
        return value if isinstance(value, bool) else None

    def many(self, name: str) -> tuple[str, ...] | None:
        """Return a list; ``None``: it is not given."""
        value = self.values.get(name)
        return value if isinstance(value, tuple) else None

    def pairs(self, name: str) -> Mapping[str, str] | None:
        """Return a map; ``None``: it is not given."""
        value = self.values.get(name)
        return {str(key): str(each) for key, each in value.items()} if isinstance(value, Mapping) else None


def lowered(parameters: Mapping[str, str]) -> Mapping[str, str]:
    """Return parameters by lower-case names.

    Raises:
        CloudstackFault: a name is given twice, in different case.
    """
    found: dict[str, str] = {}
    for name, value in parameters.items():
        if name.lower() in found:
            raise CloudstackFault(
                FaultCode.MALFORMED_PARAMETER, f"The parameter {name.lower()} is given twice, in different case"
            )
        found[name.lower()] = value
    return found


def read(command: Command, parameters: Mapping[str, str]) -> Arguments:
    """Read what a request gives to a command.

    Args:
        command: that it asks for.
        parameters: decoded, by lower-case names.

    Raises:
        CloudstackFault: a parameter is missing, malformed or of another type; the text is CloudStack's.
    """
    maps = _maps(command, parameters)
    values: dict[str, object] = {}
    for parameter in command.parameters:
        if parameter.kind is Kind.MAP and parameter.name in maps:
            values[parameter.name] = maps[parameter.name]
            continue
        text = parameters.get(parameter.name)
        if text is None or (not text and parameter.kind is not Kind.STRING):
            if parameter.required:
                raise missing(command.envelope, parameter.name)
            continue
        values[parameter.name] = _read_one(command, parameter, text)
    return Arguments(command, values)


def _read_one(command: Command, parameter: CommandParameter, text: str) -> object:
    if _CONTROL.search(text):
        raise wrong(f"Received value containing illegal ASCII non-printable characters for parameter {parameter.name}")
    if parameter.required and not text.strip():
        raise missing(command.envelope, parameter.name)
    if not _fits(text):
        raise invalid(command.envelope, parameter.name, "of half a character")
    try:
        return _READERS[parameter.kind](text)
    except ValueError:
        raise invalid(command.envelope, parameter.name, text[:200]) from None


def _fits(text: str) -> bool:
    """Tell whether a text can be written as UTF-8."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _maps(command: Command, parameters: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """Read the maps: entries ``[i]`` of a name or key, and a value; or of fields that are entries themselves."""
    known = {parameter.name for parameter in command.parameters if parameter.kind is Kind.MAP}
    entries: dict[str, dict[int, dict[str, str]]] = {}
    for name, text in parameters.items():
        base = name.partition("[")[0]
        if base not in known or base == name:
            continue
        match = _INDEXED.fullmatch(name)
        if match is None:
            raise _malformed(base)
        _read_one(command, CommandParameter(base, Kind.STRING, ""), text)
        entries.setdefault(base, {}).setdefault(int(match[2]), {})[match[3]] = text
    return {base: _joined(by_index[index] for index in sorted(by_index)) for base, by_index in entries.items()}


def _joined(entries: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for entry in entries:
        name = next((entry[each] for each in _ENTRY_NAMES if each in entry), None)
        if name is not None and "value" in entry:
            found[name] = entry["value"]
        else:
            found.update(entry)
    return found


def _malformed(name: str) -> CloudstackFault:
    return CloudstackFault(
        FaultCode.MALFORMED_PARAMETER,
        f"Unable to decode parameter {name}; if specifying an object array, please use parameter[index].field=XXX, "
        f"for example {name}[0].name=XXX",
    )


def _number(text: str, at_most: int) -> int:
    if not _NUMBER.fullmatch(text.strip()):
        raise ValueError(text)
    number = int(text)
    if abs(number) > at_most:
        raise ValueError(text)
    return number


def _boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError(text)
    return text.lower() == "true"


def _list(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))


def _pairs(text: str) -> Mapping[str, str]:
    """Read a map that is one text, as the specification of 2012 has it: ``name=value&name=value``."""
    return dict(parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=_PAIRS_AT_MOST))


_READERS: Final[Mapping[Kind, Callable[[str], object]]] = {
    Kind.STRING: str,
    Kind.UUID: str.strip,
    Kind.INTEGER: lambda text: _number(text, _INTEGER_AT_MOST),
    Kind.LONG: lambda text: _number(text, _LONG_AT_MOST),
    Kind.BOOLEAN: _boolean,
    Kind.LIST: _list,
    Kind.MAP: _pairs,
}


def page_of(items: Sequence[_Item], arguments: Arguments) -> Sequence[_Item]:
    """Return the part of a list that a request asks for.

    Raises:
        CloudstackFault: its page and size make no sense; the texts are CloudStack's.
    """
    page, size = arguments.number("page"), arguments.number("pagesize")
    if page is None and size == _ALL:
        return items
    if page is None and size is None:
        return items[:PAGE_AT_MOST]
    if page is None:
        raise wrong('"page" parameter is required when "pagesize" is specified')
    if size is None:
        raise wrong('"pagesize" parameter is required when "page" is specified')
    if size > PAGE_AT_MOST:
        raise wrong(f"Page size can't exceed max allowed page size value: {PAGE_AT_MOST}")
    if page < 1 or size < 1:
        raise wrong("page and pagesize must be greater than 0")
    return items[(page - 1) * size : page * size]
