"""Checked readers of JSON from outside: each returns what it expects, or raises `WrongShape`, in the sender's terms."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from datetime import datetime

from config.units import Instant
from handler.ports.alerts import AlertStatus

DEPTH_AT_MOST = 64
"""Of arrays and objects within each other. Payloads of the known senders need fewer than ten."""

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_NEVER = "0001-"
_FINGERPRINT = re.compile(r"[0-9a-f]{1,64}", re.ASCII)
_SHOWN = 60


class WrongShape(ValueError):
    """JSON of another shape than expected; the message says where, what was expected and what was found."""


def parsed(body: bytes) -> object:
    """Parse a body.

    Raises:
        WrongShape: it is not JSON, or nested more than `DEPTH_AT_MOST` deep.
    """
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise WrongShape(f"understood {len(body)} bytes that are not JSON") from None
    if body.count(b"{") + body.count(b"[") > DEPTH_AT_MOST and _deeper(value, DEPTH_AT_MOST):
        raise WrongShape(f"understood JSON that is nested more than {DEPTH_AT_MOST} deep")
    return value


def instant_of(text: str) -> Instant | None:
    """Turn RFC 3339 with any fraction into an instant; the year 1 means none.

    >>> instant_of("1970-01-01T01:00:01.5+01:00"), instant_of("0001-01-01T00:00:00Z")
    (1.5, None)

    Raises:
        ValueError: it is no such instant.
    """
    if not _RFC3339.fullmatch(text):
        raise ValueError(f"{text[:_SHOWN]!r} is no RFC 3339 instant")
    return None if text.startswith(_NEVER) else Instant(datetime.fromisoformat(text.upper()).timestamp())


def outline(value: object) -> str:
    """Describe the shape of unknown JSON, briefly."""
    match value:
        case {"version": version, **rest}:
            org = "with" if "orgId" in rest else "without"
            return f"a JSON object of version {shown(version)} {org} orgId"
        case dict():
            keys = ", ".join(shown(key) for key in sorted(value)[:5]) or "nothing"
            return f"a JSON object with {keys}"
        case _:
            return f"JSON {shown(value)}"


def shown(value: object) -> str:
    """Quote a value as JSON, cut to 60 characters."""
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def status(value: object, at: str) -> AlertStatus:
    """Read the status of an alert."""
    match value:
        case "firing":
            return AlertStatus.FIRING
        case "resolved":
            return AlertStatus.RESOLVED
        case _:
            raise WrongShape(f'expected "firing" or "resolved" at {at}, found {shown(value)}')


def alerts(value: object, at: str) -> list[object]:
    """Read an array with at least one alert."""
    if not isinstance(value, list):
        raise WrongShape(f"expected an array at {at}, found {shown(value)}")
    if not value:
        raise WrongShape(f"expected at least one alert at {at}, found none")
    return value


def text(value: object, at: str) -> str:
    """Read text that is not empty."""
    if not isinstance(value, str) or not value:
        raise WrongShape(f"expected text at {at}, found {shown(value)}")
    return value


def texts(value: object, at: str) -> Mapping[str, str]:
    """Read an object of texts; empty if it is left out."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise WrongShape(f"expected an object at {at}, found {shown(value)}")
    for key, entry in value.items():
        if not isinstance(entry, str):
            raise WrongShape(f"expected text at {at}.{shown(key)}, found {shown(entry)}")
    return value


def numbers(value: object, at: str) -> Mapping[str, float]:
    """Read the finite numbers of an object, and leave out its other values."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise WrongShape(f"expected an object at {at}, found {shown(value)}")
    found: dict[str, float] = {}
    for key, entry in value.items():
        number = _finite(entry)
        if number is not None:
            found[key] = number
    return found


def count(value: object, at: str) -> int:
    """Read a count; 0 if it is left out."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise WrongShape(f"expected a count at {at}, found {shown(value)}")
    return value


def instant(value: object, at: str) -> Instant | None:
    """Read an RFC 3339 instant; ``None`` if it is left out or the year is 1."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            return instant_of(value)
    except ValueError:
        pass
    raise WrongShape(f"expected an RFC 3339 instant at {at}, found {shown(value)}")


def fingerprint(value: object, labels: Mapping[str, str]) -> str:
    """Return the sender's fingerprint, or one of the labels."""
    if isinstance(value, str) and _FINGERPRINT.fullmatch(value):
        return value
    return hashlib.sha256(json.dumps(sorted(labels.items())).encode()).hexdigest()[:16]


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _deeper(value: object, limit: int) -> bool:
    """Tell whether JSON is nested deeper than ``limit``; looks at one level after another, so it needs no stack."""
    level: list[object] = [value]
    for _ in range(limit + 1):
        level = [
            value
            for each in level
            for value in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
            if isinstance(value, dict | list)
        ]
        if not level:
            return False
    return True
