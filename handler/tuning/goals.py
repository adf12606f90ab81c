"""``--goal`` and ``--sweep``: what a person writes, as values. Pure."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import replace

from config.errors import Refused
from config.units import parse_span
from handler.tuning.choices import round_step, stepped
from handler.tuning.outcomes import Goal
from handler.tuning.parameters import Candidate, Parameter

_GOAL = re.compile(r"(over|changes)\s+(\S+?)\s*/\s*day")
_SWEEP = re.compile(r"(?:([a-z_.]+)=)?([^.:]+(?:\.\d+[^.:]*)?)\.\.([^:]+?)(?::(.+))?")
_ABOUT = 8
"""Steps of a sweep that names none."""
MOST_SWEPT = 500
"""Settings of a sweep: each of them is a replay."""


def goal_of(texts: Sequence[str]) -> Goal | None:
    """Read goals; ``None``: there is none.

    >>> goal_of(["over 5m/day", "changes 12/day"])
    Goal(over=5.0, changes=12.0)

    Raises:
        Refused: says what was expected.
    """
    if not texts:
        return None
    goal = Goal(over=math.inf)
    for text in texts:
        found = _GOAL.fullmatch(text.strip())
        try:
            if found is None:
                raise ValueError
            goal = (
                replace(goal, over=parse_span(found[2]) / 60.0)
                if found[1] == "over"
                else replace(goal, changes=_count(found[2]))
            )
        except ValueError as error:
            raise Refused(f"--goal {text!r}: expected over SPAN/day, such as over 5m/day, or changes N/day") from error
    return goal


def _count(text: str) -> float:
    number = float(text)
    if not 0 <= number < math.inf:
        raise ValueError
    return number


def swept(parameters: Sequence[Parameter], texts: Sequence[str]) -> tuple[Parameter, ...]:
    """Give parameters the values of sweeps; the others are left out.

    Args:
        parameters: those of one condition or of one policy.
        texts: ``50..90``, ``50..90:10``, ``duration=1m..10m``; without a key, it is that of the threshold.

    Raises:
        Refused: says what was expected.
    """
    found: list[Parameter] = []
    for text in texts:
        parts = _SWEEP.fullmatch(text.strip())
        if parts is None:
            raise Refused(f"--sweep {text!r}: expected LOW..HIGH, such as 50..90, or KEY=LOW..HIGH:STEP")
        key, low, high, step = parts.groups()
        parameter = _named(parameters, key, text)
        if any(parameter.where == each.where for each in found):
            raise Refused(f"--sweep {text!r}: {parameter.name} is swept already; expected each value once")
        values = _values(parameter, (low, high, step), text)
        found.append(replace(parameter, choices=tuple(sorted({*values, parameter.today}))))
    _require_few(math.prod(len(each.choices) for each in found))
    return tuple(found)


def _values(parameter: Parameter, written: tuple[str, str, str | None], whole: str) -> set[float]:
    """Return the values from one end of a sweep to the other, both included."""
    low, high, step = written
    first, last = _number(parameter, low, whole), _number(parameter, high, whole)
    if not first < last:
        raise Refused(f"--sweep {whole!r}: expected the lower end first")
    size = _number(parameter, step, whole) if step is not None else _round_part(first, last)
    if not size > 0:
        raise Refused(f"--sweep {whole!r}: expected a step above 0")
    _require_few((last - first) / size + 1)  # a typing error may ask for billions, so none is made before
    return {*stepped(first, last, size), first, last}


def _round_part(first: float, last: float) -> float:
    """Return the step of a sweep that names none."""
    return round_step(last / _ABOUT - first / _ABOUT)


def _require_few(count: float) -> None:
    if count >= MOST_SWEPT + 1:
        raise Refused(
            f"--sweep: {count:.0f} settings are more than {MOST_SWEPT}: sweep fewer values, or use larger steps"
        )


def grid(parameters: Sequence[Parameter]) -> tuple[Candidate, ...]:
    """Return every combination of the values of some parameters, in their order."""
    return tuple(itertools.product(*(parameter.choices for parameter in parameters)))


def _named(parameters: Sequence[Parameter], key: str | None, text: str) -> Parameter:
    keys = [".".join(parameter.where[2:]) for parameter in parameters]
    wanted = ("above", "at_least", "below", "at_most", "target.value", "target.each") if key is None else (key,)
    for name, parameter in zip(keys, parameters, strict=True):
        if name in wanted:
            return parameter
    raise Refused(f"--sweep {text!r}: expected one of {', '.join(keys) or 'no key: nothing is written there'}")


def _number(parameter: Parameter, text: str, whole: str) -> float:
    try:
        return parameter.read(text)
    except Refused as error:
        raise Refused(f"--sweep {whole!r}: {error}") from error
