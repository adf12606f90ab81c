"""Units of measure: which can be written for which, and by what factor."""

from __future__ import annotations

from collections.abc import Mapping

_DIMENSIONS: Mapping[str, Mapping[str, float]] = {
    "data": {
        "bits": 0.125,
        "kbit": 125.0,
        "Mbit": 125e3,
        "Gbit": 125e6,
        "bytes": 1.0,
        "kB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "KiB": 1024.0,
        "MiB": 1024.0**2,
        "GiB": 1024.0**3,
    },
    "time": {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
    "share": {"percent": 0.01, "%": 0.01, "ratio": 1.0},
}


def factor(native: str, wanted: str) -> float | None:
    """By what to multiply a value in ``native`` to have it in ``wanted``; ``None`` where that has no meaning.

    Words that are no unit of measure (sessions, packets) are labels: one may stand for another.

    >>> factor("bytes/s", "kbit/s")
    0.008
    >>> factor("requests/s", "calls/min")
    60.0
    >>> factor("requests/s", "requests") is None
    True
    """
    native_top, _, native_per = native.partition("/")
    wanted_top, _, wanted_per = wanted.partition("/")
    top, per = _between(native_top, wanted_top), _between(native_per, wanted_per)
    return None if top is None or per is None else top / per


def alternatives(native: str) -> tuple[str, ...]:
    """The units in which a value in ``native`` can be written, itself first."""
    top, slash, per = native.partition("/")
    others = (unit for units in _DIMENSIONS.values() if top in units for unit in units if unit != top)
    return (native, *(unit + slash + per for unit in others))


def _between(native: str, wanted: str) -> float | None:
    if native == wanted:
        return 1.0
    for units in _DIMENSIONS.values():
        if native in units or wanted in units:
            return units[native] / units[wanted] if native in units and wanted in units else None
    return None if "" in {native, wanted} else 1.0
