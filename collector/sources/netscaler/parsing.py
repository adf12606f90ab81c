"""Decode numbers in a NetScaler's statistics. Pure."""

from __future__ import annotations

import math

from collector.clients.http.failures import HttpFailure
from collector.clients.nitro.parsing import Thing
from collector.parsing import number
from collector.samples import Reply


def figure(thing: Thing, field: str) -> float | HttpFailure:
    """Return one statistic, text or number; NO_SUCH_COUNTER if the object lacks it."""
    found = thing.get(field)
    match found:
        case None | "":
            return HttpFailure(reply=Reply.NO_SUCH_COUNTER, detail=f"no {field} in the answer")
        case str():
            value = number(found)
        case bool():
            value = Reply.MALFORMED
        case int() | float():
            value = _finite(found)
        case _:
            value = Reply.MALFORMED
    if isinstance(value, Reply):
        return HttpFailure(reply=value, detail=f"{field} is not a number")
    return value


def _finite(found: float) -> float | Reply:
    try:
        value = float(found)
    except OverflowError:
        return Reply.MALFORMED
    return value if math.isfinite(value) else Reply.MALFORMED
