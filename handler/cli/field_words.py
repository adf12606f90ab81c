"""What the daemon refuses in a field of a request, in the words of the command line. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from config.units import format_span

_ALSO: Mapping[str, str] = MappingProxyType(
    {"lasts": "--expires", "for_s": "--for", "max_groups": "--groups", "max_members": "--members"}
)
"""Fields whose option has another name than the field, and than the parameter of any command that has it."""
_SPANS = frozenset({"lasts", "for_s"})
"""Fields in seconds, which a person writes with a unit."""
_BOUNDS = (
    (r"Input should be less than or equal to (\S+)", "at most {}"),
    (r"Input should be greater than or equal to (\S+)", "at least {}"),
    (r"Input should be less than (\S+)", "less than {}"),
    (r"Input should be greater than (\S+)", "more than {}"),
)
_FORMS = (
    (r"(?:String|Tuple|List) should have (at (?:most|least) \d+ \w+).*", "{}"),
    (r"Input should be ('.+)", "{}"),
    (r"Input should be (a .+)", "{}"),
)


class InvalidRequest(Exception):
    """The daemon refused fields of a request (422); the text has each with its place."""

    def __init__(self, text: str, *, json: bool) -> None:
        super().__init__(text)
        self.json = json


def option_words(text: str, parameters: Sequence[Any]) -> str:
    """Return what the daemon refused, with the options and arguments of the command in place of fields."""
    return "; ".join(_words(each, parameters) for each in text.split("; "))


def _words(problem: str, parameters: Sequence[Any]) -> str:
    place, _, message = problem.partition(": ")
    _, _, field = place.partition(".")
    name = field.partition(".")[0]
    shown = next((_name(each) for each in parameters if _carries(each, name)), None)
    return problem if shown is None else f"{shown}: {_expected(message, is_span=name in _SPANS)}"


def _carries(parameter: Any, field: str) -> bool:  # noqa: ANN401  # typer hides its parameters' classes
    return parameter.name == field or _ALSO.get(field) in parameter.opts


def _name(parameter: Any) -> str:  # noqa: ANN401  # as above
    return str(parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar)


def _expected(message: str, *, is_span: bool) -> str:
    for pattern, words in _BOUNDS:
        if found := re.fullmatch(pattern, message):
            return f"expected {words.format(format_span(float(found[1])) if is_span else found[1])}"
    for pattern, words in _FORMS:
        if found := re.fullmatch(pattern, message):
            return f"expected {words.format(found[1].replace(chr(39), ''))}"
    return message
