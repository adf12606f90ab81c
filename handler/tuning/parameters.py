"""What can be tuned in a group: the thresholds, durations, windows, steps and quiet times that its file writes down.

A parameter is a scalar of the file, at its place. What the file leaves to a default is not tuned: there is no line to
show what would change. Neither are schedules, forecasts and steps by distance.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from config.document.places import Plain
from config.errors import Refused
from config.model.catalogue import Catalogue, Compare, Condition
from config.model.reductions import OUTGROWING
from config.model.where import Where, dotted
from config.units import ConditionId, GroupId, Seconds, exact_span, parse_span
from handler.tuning.choices import amounts, levels, spans

_NUMBER = re.compile(r"\s*([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(\s*\D.*)?")
_SPANS = ("duration", "quiet_time")
_AMOUNTS = ("add", "remove")
_COMPARES = tuple(compare.value for compare in Compare if compare is not Compare.EQUALS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One value of the file that may be another one."""

    where: Where
    today: float
    """A number in the unit in which it is written; of a duration, seconds."""
    unit: str | None
    """What is written behind the number; ``None``: it is a duration."""
    choices: tuple[float, ...]
    """What it may be, ascending; today's value is among them."""

    @property
    def name(self) -> str:
        """As people say it: ``conditions.busy.above``."""
        return dotted(self.where)

    def text(self, value: float) -> str:
        """Write a value as YAML.

        >>> busy = Parameter(where=("conditions", "busy", "above"), today=250.0, unit=" ms", choices=(250.0,))
        >>> busy.text(300.0)
        '300 ms'
        """
        return exact_span(value) if self.unit is None else f"{value:.10g}{self.unit}"

    def read(self, text: str) -> float:
        """Read a value as a person writes it, with or without the unit.

        Raises:
            Refused: says what was expected.
        """
        try:
            if self.unit is None:
                return parse_span(text)
            value = float(text.strip().removesuffix(self.unit.strip() or " "))
        except ValueError as error:
            raise Refused(f"{self.name}: {text!r}; expected a value such as {self.text(self.today)}") from error
        if not math.isfinite(value):
            raise Refused(f"{self.name}: {text!r} is no number")
        return value

    def plain(self, value: float) -> Plain:
        """Return a value as it is read from YAML."""
        if self.unit == "":
            return int(value) if value == int(value) else value
        return self.text(value)


Candidate = tuple[float, ...]
"""A value of each parameter, in their order."""


def today_of(parameters: tuple[Parameter, ...]) -> Candidate:
    """Return the setting that the file has."""
    return tuple(parameter.today for parameter in parameters)


def parameters_of(data: Mapping[str, Plain], catalogue: Catalogue, group: GroupId) -> tuple[Parameter, ...]:
    """List what can be tuned of a group, in the order of its policies; a condition of two policies is listed once.

    Args:
        data: the file as plain values.
        catalogue: made of the same file.
        group: a group of it.
    """
    interval, found = catalogue.groups[group].interval, dict[Where, Parameter]()
    for name in catalogue.groups[group].named:
        policy = _mapping(data, "policies", name)
        if {"schedule", "at", "forecast"} & policy.keys():
            continue
        for where in _places(name, policy):
            _put(found, _parameter(data, where, interval, None))
        for condition in _conditions(policy):
            limits = _limits(catalogue, ConditionId(condition))
            for key in ("window", *_COMPARES):
                _put(found, _parameter(data, ("conditions", condition, key), interval, limits))
    return tuple(found.values())


def _limits(catalogue: Catalogue, name: ConditionId) -> tuple[float, float] | None:
    """Return the least and the greatest value that a condition may compare; ``None``: that is not known."""
    condition = catalogue.conditions[name]
    if not isinstance(condition, Condition) or condition.per_member:
        return None
    outgrows = bool({condition.across, condition.aggregate} & OUTGROWING)
    return None if outgrows else catalogue.counters[condition.counter].range


def _places(name: str, policy: Mapping[str, Plain]) -> Iterator[Where]:
    """Yield the places of a policy that may have a parameter."""
    yield from (("policies", name, key) for key in (*_SPANS, *_AMOUNTS))
    for kind in ("target", "pass_through"):
        if kind in policy:
            yield from (("policies", name, kind, key) for key in ("value", "each", "window"))
            yield from (("policies", name, kind, way, key) for way in ("out", "in") for key in (*_SPANS, "at_most"))


def _conditions(policy: Mapping[str, Plain]) -> Iterator[str]:
    when = policy.get("when")
    yield from (each for each in when if isinstance(each, str)) if isinstance(when, list) else ()


def _parameter(
    data: Mapping[str, Plain], where: Where, interval: Seconds, limits: tuple[float, float] | None
) -> Parameter | None:
    """Return the parameter at a place; ``None``: nothing is written there, or nothing else may be."""
    written, key = _at(data, where), where[-1]
    today, unit = _span(written) if key in {*_SPANS, "window"} else _quantity(written)
    if today is None:
        return None
    if unit is None:
        choices = spans(today, interval, least=interval if key == "window" else 0.0)
    elif where[0] == "policies" and key in {*_AMOUNTS, "at_most"}:
        choices = amounts(today, percent=unit == "%")
    else:
        choices = levels(today, limits if unit == "" else None)
    return Parameter(where=where, today=today, unit=unit, choices=choices) if len(choices) > 1 else None


def _span(written: Plain) -> tuple[Seconds | None, None]:
    return parse_span(written) if isinstance(written, str) else None, None


def _quantity(written: Plain) -> tuple[float | None, str | None]:
    if isinstance(written, bool) or not isinstance(written, int | float | str):
        return None, ""
    found = _NUMBER.fullmatch(str(written))
    return (float(found[1]), found[2] or "") if found else (None, "")


def _put(found: dict[Where, Parameter], parameter: Parameter | None) -> None:
    if parameter is not None:
        found.setdefault(parameter.where, parameter)


def _mapping(data: Mapping[str, Plain], section: str, name: str) -> Mapping[str, Plain]:
    entry = _at(data, (section, name))
    return entry if isinstance(entry, dict) else {}


def _at(data: Mapping[str, Plain], where: Where) -> Plain:
    value: Plain = dict(data)
    for part in where:
        value = value.get(part) if isinstance(value, dict) else None
    return value
