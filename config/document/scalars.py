"""How one value is written in YAML: durations, amounts, names; `config.document.addresses` has addresses.

Each type here reads what YAML gives and says, where it cannot, *what was expected*: a phrase that completes
"VALUE is not …". Values that were read already (defaults) are never passed through a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema

from config.document.declared import PERCENT_PATTERN, worded
from config.units import Seconds, parse_span

_LONGEST = 366 * 86400.0
_SPAN_PATTERN = r"^\s*(\d+(\.\d+)?\s*(ms|s|m|h|d)\s*)+$"
_PERCENTAGE = re.compile(r"(?P<number>\d{1,6}(?:\.\d{1,6})?)\s*%")
_FLOOR = re.compile(r"floor\s+(?P<size>\d{1,9})")
LAST_PORT = 65535
"""Of TCP and UDP."""

T = TypeVar("T")


def read_span(value: object) -> Seconds:
    """Read a duration. Zero needs no unit.

    Raises:
        ValueError: says what was expected.
    """
    expected = "a duration with a unit, such as 30s, 5m or 1h30m"
    if value == 0 and type(value) is int:
        return 0.0
    if type(value) is int and value > 0:
        raise ValueError(f"{expected}: is {value}s meant?")
    if not isinstance(value, str):
        raise ValueError(expected)
    try:
        span = parse_span(value)
    except ValueError as error:
        raise ValueError(expected) from error
    if span > _LONGEST:
        raise ValueError("a duration of at most 366d")
    return span


def read_positive_span(value: object) -> Seconds:
    """Read a duration that is more than nothing.

    Raises:
        ValueError: says what was expected.
    """
    span = read_span(value)
    if span == 0:
        raise ValueError("more than 0s")
    return span


Span = Annotated[
    Seconds,
    PlainValidator(read_span),
    worded("duration", "0s to 366d", anyOf=[{"type": "string", "pattern": _SPAN_PATTERN}, {"const": 0}]),
]
PositiveSpan = Annotated[
    Seconds,
    PlainValidator(read_positive_span),
    worded("duration", "above 0s, to 366d", type="string", pattern=_SPAN_PATTERN),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much an adjustment changes: members, or a percentage of the desired size."""

    number: float
    percent: bool


def amount_reader(*, least: int, most_percent: int) -> Callable[[object], Amount]:
    """Make a reader of ``2`` or ``"10%"`` within limits; its refusals are ``ValueError``."""

    def read(value: object) -> Amount:
        if type(value) is int and value >= least:
            return Amount(number=float(min(value, 10**9)), percent=False)
        percent = _percentage(value)
        if percent is not None and percent <= most_percent and (percent > 0 or least == 0):
            return Amount(number=percent, percent=True)
        lowest = "more than 0%" if least else "0%"
        raise ValueError(f"a whole number from {least}, or a percentage from {lowest} to {most_percent}% such as 10%")

    return read


def _percentage(value: object) -> float | None:
    match = _PERCENTAGE.fullmatch(value) if isinstance(value, str) else None
    return float(match["number"]) if match else None


def _amount_schema(*, least: int, most_percent: int) -> WithJsonSchema:
    lowest = f"from 1, or above 0% to {most_percent}%" if least else f"from 0, or 0% to {most_percent}%"
    choices = [{"type": "integer", "minimum": least}, {"type": "string", "pattern": PERCENT_PATTERN}]
    return worded("members, or percent", lowest, anyOf=choices)


Growth = Annotated[
    Amount,
    PlainValidator(amount_reader(least=1, most_percent=1000)),
    _amount_schema(least=1, most_percent=1000),
]
Shrinkage = Annotated[
    Amount,
    PlainValidator(amount_reader(least=1, most_percent=100)),
    _amount_schema(least=1, most_percent=100),
]
Size = Annotated[
    Amount,
    PlainValidator(amount_reader(least=0, most_percent=1000)),
    _amount_schema(least=0, most_percent=1000),
]


def read_share(value: object) -> float:
    """Read a percentage above 0 % as a share.

    Raises:
        ValueError: says what was expected.
    """
    percent = _percentage(value)
    if percent is None or not 0 < percent <= 100:  # noqa: PLR2004 per cent
        raise ValueError("a percentage from more than 0% to 100%, such as 95%")
    return percent / 100


Share = Annotated[
    float,
    PlainValidator(read_share),
    worded("percent", "above 0% to 100%", type="string", pattern=PERCENT_PATTERN),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind:
    """What to do while there is not enough data: hold, or raise to a floor."""

    floor: int | None


def read_blind(value: object) -> Blind:
    """Read ``hold``, ``floor 3`` or ``{floor: 3}``.

    Raises:
        ValueError: says what was expected.
    """
    match value:
        case "hold":
            return Blind(floor=None)
        case {"floor": int(size), **rest} if not rest and type(size) is int and size >= 0:
            return Blind(floor=size)
        case str(text) if written := _FLOOR.fullmatch(text.strip()):
            return Blind(floor=int(written["size"]))
        case _:
            raise ValueError("hold, or floor N such as floor 3")


BlindRule = Annotated[
    Blind,
    PlainValidator(read_blind),
    WithJsonSchema(
        {
            "title": "`hold`, or `floor N`",
            "x-bounds": "N from 0",
            "anyOf": [
                {"const": "hold"},
                {"type": "string", "pattern": r"^floor \d+$"},
                {
                    "type": "object",
                    "properties": {"floor": {"type": "integer", "minimum": 0}},
                    "required": ["floor"],
                    "additionalProperties": False,
                },
            ],
        }
    ),
]


def _present(value: T | None) -> T:
    if value is None:
        raise ValueError("allowed: write a value, or remove the key")
    return value


Given = BeforeValidator(_present)
"""For keys that may be left out: what is written must not be empty. ``None`` in the model means "left out"."""


def read_yes(value: object) -> bool:
    """Read ``true``: for keys that say something by being there.

    Raises:
        ValueError: says what was expected.
    """
    if value is not True:
        raise ValueError("true: without it, remove the key")
    return True


Yes = Annotated[bool, PlainValidator(read_yes), worded("`true`", const=True)]

Port = Annotated[int, Field(ge=1, le=LAST_PORT, title="port")]


def _form(pattern: str, expected: str) -> PlainValidator:
    """Text of a form that has a name in words; patterns are for machines."""

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise ValueError(f"{expected}: put it in quotes" if isinstance(value, (int, float)) else expected)
        if not re.fullmatch(pattern, value):
            raise ValueError(expected)
        return value

    return PlainValidator(read)


def _pattern(words: str, pattern: str, bounds: str = "") -> WithJsonSchema:
    return worded(words, bounds, type="string", pattern=f"^{pattern}$")


_NAME = "[A-Za-z_][A-Za-z0-9_-]{0,79}"
_GROUP = "[a-z][a-z0-9-]{0,39}"
_VARIABLE = "[A-Za-z_][A-Za-z0-9_]*"
_PATH = "/[^\\u0000]{0,4095}"
_BACKEND = "[A-Za-z0-9_.:-]{1,255}"
_BUS_WORD = "[A-Za-z0-9_.:-]{1,127}"
_MAP = "/[A-Za-z0-9_./-]{1,400}"
_HTTP_PATH = "/[!-~]{0,2000}"
_IDENTIFIER = "[A-Za-z0-9][A-Za-z0-9_-]{0,79}"
_TEXT = "[^\\u0000]{1,4096}"
_CREDENTIAL = "[A-Za-z0-9_:@-][A-Za-z0-9._:@-]{0,254}"
_VAULT_PATH = "[A-Za-z0-9_.-]{1,200}(/[A-Za-z0-9_.-]{1,200}){1,20}"
_MOUNT = "[A-Za-z0-9_.-]{1,200}(/[A-Za-z0-9_.-]{1,200}){0,20}"
_LABEL = "[^\\u0000]{1,200}"

Name = Annotated[
    str,
    _form(_NAME, "a name: up to 80 letters, digits, _ and -, with a letter or _ first"),
    _pattern("name", _NAME, "1 to 80 characters"),
]
GroupName = Annotated[
    str,
    _form(_GROUP, "a group name: use 1 to 40 of a-z, 0-9 and -, with a letter first (it becomes part of host names)"),
    _pattern("name", _GROUP, "1 to 40 characters"),
]
Identifier = Annotated[
    str,
    _form(_IDENTIFIER, "an id such as 7c0a5a1e-4f5e-4c8b-9a43-2f4b7f0d2c11"),
    _pattern("id", _IDENTIFIER, "1 to 80 characters"),
]
Variable = Annotated[
    str, _form(_VARIABLE, "the name of an environment variable"), _pattern("environment variable", _VARIABLE)
]
CredentialName = Annotated[
    str,
    _form(_CREDENTIAL, "the name of a credential: up to 255 letters, digits, and . _ : @ -, with no . first"),
    _pattern("credential name", _CREDENTIAL, "1 to 255 characters"),
]
VaultPath = Annotated[
    str,
    _form(_VAULT_PATH, "the path of a secret, with its mount, such as secret/trimtab/cloud (KV 2: without data/)"),
    _pattern("path in the vault", _VAULT_PATH),
]
VaultMount = Annotated[
    str, _form(_MOUNT, "a path without / at its ends, such as approle"), _pattern("path in the vault", _MOUNT)
]
AbsolutePath = Annotated[str, _form(_PATH, "an absolute path"), _pattern("absolute path", _PATH)]
BackendName = Annotated[
    str,
    _form(_BACKEND, "the name of a backend: letters, digits, _ - . and :"),
    _pattern("name of a backend", _BACKEND, "1 to 255 characters"),
]
MapFile = Annotated[
    str, _form(_MAP, "an absolute path of letters, digits, _ - . and /"), _pattern("absolute path", _MAP)
]
"""It is part of a command of HAProxy, where blanks, semicolons and backslashes mean something."""
BusWord = Annotated[
    str,
    _form(_BUS_WORD, "a name on a message bus: up to 127 letters, digits, and _ . : -"),
    _pattern("name on a message bus", _BUS_WORD, "1 to 127 characters"),
]
"""What AMQP 0-9-1 takes as the name of an exchange."""
HttpPath = Annotated[str, _form(_HTTP_PATH, "a path that begins with /"), _pattern("path of a URL", _HTTP_PATH)]
Label = Annotated[
    str,
    _form(_LABEL, "the name of a label: up to 200 characters"),
    _pattern("name of a label", _LABEL, "1 to 200 characters"),
]
"""Prometheus takes any UTF-8 for one, and so does Grafana."""
Text = Annotated[str, _form(_TEXT, "text"), _pattern("text", _TEXT, "1 to 4096 characters")]
