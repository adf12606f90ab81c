"""Spans of time that are too short for the interval in which a group is judged."""

from __future__ import annotations

from collections.abc import Iterator

from config.findings import Finding
from config.model import Catalogue
from config.units import format_span


def stabilisations(catalogue: Catalogue) -> Iterator[Finding]:
    """Find stabilisation windows that hold the advice of no tick but the present one."""
    for group in catalogue.groups.values():
        if group.stabilisation is None or group.stabilisation >= group.interval:
            continue
        message = (
            f"{format_span(group.stabilisation)} is shorter than the interval, {format_span(group.interval)}: "
            "write at least that, or leave it out"
        )
        yield Finding(("groups", group.id, "stabilisation"), message, (("groups", group.id, "interval"),))
