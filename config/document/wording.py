"""pydantic's complaints → problems, one per cause, each with the wrong value, what was expected and the nearest key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import ErrorDetails

from config.document.declared import Declared
from config.document.fields import example_at, is_hidden, mapping_at
from config.document.places import ParsedText, Plain
from config.document.profile_keys import known_keys
from config.document.sources import is_reference
from config.errors import Problem
from config.model.where import Where, dotted, hint, nearest_of

_LONGEST_SHOWN = 60


def problems_of(errors: Sequence[ErrorDetails], reading: ParsedText) -> tuple[Problem, ...]:
    """Return the problems in the order of the file; complaints that follow from another are left out."""
    later, unknown = _stray_keys(errors)
    problems = [
        _not_yet(where, feature, keys, reading)
        for where, features in later.items()
        for feature, keys in features.items()
    ]
    for error in errors:
        where = place(error)
        if error["type"] == "extra_forbidden":
            if where[-1] in unknown.get(where[:-1], ()):
                problems.append(_unknown_key(where, reading))
        elif not _follows(error, later, unknown, reading):
            problems.append(_wrong_value(error, reading))
    return tuple(problems)


def place(error: ErrorDetails) -> Where:
    """Where an error is, in the words of the file."""
    return tuple(str(part) for part in error["loc"] if part != "[key]")


def _stray_keys(
    errors: Iterable[ErrorDetails],
) -> tuple[dict[Where, dict[str, list[str]]], dict[Where, list[str]]]:
    """Keys that do not belong: those of later versions, by mapping and feature, and the truly unknown, by mapping."""
    later: dict[Where, dict[str, list[str]]] = {}
    unknown: dict[Where, list[str]] = {}
    for error in errors:
        if error["type"] != "extra_forbidden":
            continue
        where = place(error)
        owner, key = mapping_at(where[:-1]), where[-1]
        if owner is not None and key in owner.later:
            later.setdefault(where[:-1], {}).setdefault(owner.later[key], []).append(key)
        else:
            unknown.setdefault(where[:-1], []).append(key)
    return later, unknown


def _follows(
    error: ErrorDetails,
    later: Mapping[Where, Mapping[str, Sequence[str]]],
    unknown: Mapping[Where, Sequence[str]],
    reading: ParsedText,
) -> bool:
    """Whether a complaint has the cause of a stray key: what is missing is misspelt, or all is for a later version."""
    where = place(error)
    if error["type"] not in {"missing", "later"}:
        return False
    owner = mapping_at(where[:-1])
    strays = unknown.get(where[:-1], ())
    known = known_keys(where[:-1], owner.keys(), reading.data) if owner else ()
    misspelt = {nearest_of(stray, known) for stray in strays} if owner else set()
    return where[:-1] in later or where[-1] in misspelt


def _not_yet(where: Where, feature: str, keys: Sequence[str], reading: ParsedText) -> Problem:
    """The first key of a feature stands for all: there is one cause."""
    head = f"{dotted(where)}: " if where else ""
    names = f"{', '.join(keys)} ({feature})" if [feature] != list(keys) else feature
    verb = "is" if len(keys) == 1 else "are"
    return reading.problem(reading.key_site((*where, keys[0])), f"{head}{names} {verb} not supported in this version")


def _unknown_key(where: Where, reading: ParsedText) -> Problem:
    owner = mapping_at(where[:-1])
    known = known_keys(where[:-1], owner.keys(), reading.data) if owner else ()
    head = f"{dotted(where[:-1])}: " if where[:-1] else ""
    if owner and where[-1] in owner.refused:
        return reading.problem(reading.key_site(where), f"{head}no {where[-1]} here: {owner.refused[where[-1]]}")
    message = f"takes no keys, so not {where[-1]!a}" if owner and not known else f"unknown key {where[-1]!a}"
    tail = "" if owner and not known else hint(where[-1], known)
    return reading.problem(reading.key_site(where), f"{head}{message}{tail}")


def _wrong_value(error: ErrorDetails, reading: ParsedText) -> Problem:
    where, context = place(error), error.get("ctx", {})
    if error["type"] in {"sentence", "later"}:
        key = str(context.get("key", ""))
        site = reading.site((*where, key)) if key else reading.key_site(where)
        return reading.problem(site, f"{dotted(where)}: {error['msg']}")
    if error["type"] == "missing":
        site = reading.key_site(where[:-1])
        return reading.problem(site, f"{dotted(where[:-1])}: {where[-1]} is missing{_example(where)}")
    if "[key]" in error["loc"]:
        return reading.problem(
            reading.key_site(where), f"{dotted(where[:-1])}: {where[-1]!a} is not {_expected(error, where)}"
        )
    shown = "this value" if is_hidden(where) else show(error["input"])
    return reading.problem(reading.site(where), f"{dotted(where)}: {shown} is not {_expected(error, where)}")


def _example(where: Where) -> str:
    example = example_at(where)
    return "" if example is None else f": write, for example, {where[-1]}: {json.dumps(example)}"


def _expected(error: ErrorDetails, where: Where) -> str:
    context = error.get("ctx", {})
    if "error" in context:
        return str(context["error"])
    if error["type"] in {"enum", "literal_error"}:
        words = re.findall(r"'([^']*)'", str(context["expected"]))
        near = nearest_of(str(error["input"]), words)
        tail = f"; the nearest is {near}" if near else ""
        return f"one of {', '.join(words)}{tail}" if words else str(context["expected"])
    if is_reference(mapping_at(where)):
        return "a reference, and this file must not hold secrets: write {env: NAME} or {file: PATH}"
    if error["type"] in {"model_type", "dict_type"}:
        return f"a mapping{_keys_of(mapping_at(where))}"
    expected = _EXPECTED.get(error["type"])
    return expected(context) if expected else f"right: {error['msg']}"


def _keys_of(owner: type[Declared] | None) -> str:
    return f" with keys such as {', '.join(list(owner.keys())[:4])}" if owner and owner.keys() else ""


def _kind_of(context: Mapping[str, Any]) -> str:
    return "a mapping" if context["field_type"] == "Dictionary" else "a list"


_EXPECTED: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "bool_type": lambda _: "true or false",
    "string_type": lambda _: "text: put it in quotes",
    "int_type": lambda _: "a whole number",
    "int_from_float": lambda _: "a whole number",
    "float_type": lambda _: "a plain number",
    "finite_number": lambda _: "a finite number",
    "list_type": lambda _: "a list, such as [a, b]",
    "greater_than": lambda context: f"more than {context['gt']:g}",
    "greater_than_equal": lambda context: f"{context['ge']} or more",
    "less_than_equal": lambda context: f"{context['le']} or less",
    "too_short": lambda context: f"{_kind_of(context)} of {context['min_length']} or more",
    "too_long": lambda context: f"a list of {context['max_length']} or less",
}


def show(value: Plain) -> str:
    """Write a value on one line and not for ever. What is inside mappings and lists may be secret: only the kind."""
    match value:
        case None:
            return "an empty value"
        case str():
            text = ascii(value)
        case dict():
            return "a mapping" if value else "{}"
        case list() if not all(type(item) in {int, float} for item in value):
            return "a list"
        case _:
            text = json.dumps(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
