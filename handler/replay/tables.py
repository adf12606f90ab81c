"""Read the small files of replay: events, and load traces."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from collector.samples import Floats
from config.errors import StoreError
from config.model.effects import FrozenDirection
from config.units import GroupId, Instant
from handler.ports.stored import freeze_of
from handler.replay.events import Course, ReplayEvent
from handler.replay.samples import Unreplayable
from handler.store.codec import from_text
from trigger.explain.recorded_inputs import FORM, RecordedInputs

LATEST = 7258118400.0
"""Epoch seconds of the year 2200: what is greater counts something finer than seconds."""
_CENTURY = 946684800.0
_FINER = (1e3, 1e6, 1e9)
"""Units of time finer than seconds, in a second."""


def instant_of(text: str) -> float:
    """Read epoch seconds, or ISO 8601 (UTC where it names no zone), as seconds since the epoch.

    Raises:
        ValueError: neither, or more than `LATEST`; says what was expected.

    >>> instant_of("2026-03-01T12:00:00Z"), instant_of("1772366400.5")
    (1772366400.0, 1772366400.5)
    """
    if is_number(text):
        return checked(float(text), text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r}; expected epoch seconds or ISO 8601") from error
    return checked((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(), repr(text))


def checked(at: float, text: str) -> float:
    """Return an instant that a replay can reach.

    Raises:
        ValueError: it is none; a number of milliseconds, microseconds or nanoseconds is named in seconds.

    >>> checked(1772366400000.0, "1772366400000")
    Traceback (most recent call last):
    ValueError: 1772366400000; expected epoch seconds: is 1772366400 meant?
    """
    if abs(at) <= LATEST:
        return at
    seconds = next((at / unit for unit in _FINER if _CENTURY <= at / unit <= LATEST), None)
    meant = "" if seconds is None else f": is {seconds:.0f} meant?"
    raise ValueError(f"{text}; expected epoch seconds{meant or f', up to {LATEST:.0f}'}")


def is_number(text: str) -> bool:
    """Tell whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


_EVENTS = ("timestamp", "group", "kind", "name")
_FREEZES: Mapping[str, Callable[[str], object]] = {"freeze": freeze_of, "unfreeze": FrozenDirection}
"""Notes of persons, and what reads their messages."""
_LOAD = ("timestamp_s", "rate")
_LONGEST = 1 << 26
"""Characters of one field: what a decision was given may be the state of many schedules and alerts."""


def read_events(path: Path, groups: Collection[GroupId]) -> Mapping[GroupId, Course]:
    """Read what `trimtab export events` writes; columns other than timestamp, group, kind and name may be left out.

    Returns:
        A course for each of these groups, also for those without events.

    Raises:
        Unreplayable: ``FILE:LINE: message``.
    """
    found: dict[GroupId, list[ReplayEvent]] = {group: [] for group in groups}
    for line, cells in _rows(path, _EVENTS):
        group = GroupId(cells["group"])
        if group in found:
            found[group].append(_event(path, line, cells))
    return {group: Course(events) for group, events in found.items()}


def read_load(path: Path) -> tuple[Floats, Floats]:
    """Read a load trace: rising instants, and the rate from each on.

    Raises:
        Unreplayable: ``FILE:LINE: message``.
    """
    at: list[float] = []
    rate: list[float] = []
    for line, cells in _rows(path, _LOAD):
        at.append(_instant(path, line, "timestamp_s", cells))
        rate.append(_number(path, line, "rate", cells))
        if rate[-1] < 0:
            raise Unreplayable(f"{path}:{line}: rate {cells['rate']}; expected 0 or more")
        if len(at) > 1 and at[-1] <= at[-2]:
            raise Unreplayable(f"{path}:{line}: timestamp_s {cells['timestamp_s']}; expected a later one than before")
    if not at:
        raise Unreplayable(f"{path}: no rows; expected some of {','.join(_LOAD)}")
    return np.array(at), np.array(rate)


def _rows(path: Path, required: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    csv.field_size_limit(_LONGEST)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.DictReader(file)
            missing = [name for name in required if name not in (lines.fieldnames or ())]
            if missing:
                raise Unreplayable(f"{path}:1: column {', '.join(missing)} is missing; expected {','.join(required)}")
            for cells in lines:
                if None in cells or None in cells.values():
                    raise Unreplayable(f"{path}:{lines.line_num}: expected {len(lines.fieldnames or ())} columns")
                yield lines.line_num, cells
    except OSError as error:
        raise Unreplayable(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Unreplayable(f"{path} is not text in UTF-8") from error
    except csv.Error as error:
        raise Unreplayable(f"{path} is not CSV: {error}") from error


def _event(path: Path, line: int, cells: dict[str, str]) -> ReplayEvent:
    try:
        at = instant_of(cells["timestamp"])
    except ValueError as error:
        raise Unreplayable(f"{path}:{line}: timestamp {error}") from error
    _require_freeze(path, line, cells)
    return ReplayEvent(
        at=Instant(at),
        group=GroupId(cells["group"]),
        kind=cells["kind"],
        name=cells["name"],
        cause=cells.get("cause", ""),
        by=cells.get("by", ""),
        member=cells.get("member", ""),
        desired_from=_count(path, line, "desired_from", cells),
        desired_to=_count(path, line, "desired_to", cells),
        in_service=_count(path, line, "in_service", cells),
        message=cells.get("message", ""),
        given=_given(path, line, cells.get("given", "")),
    )


def _require_freeze(path: Path, line: int, cells: dict[str, str]) -> None:
    """Make sure that it can be read what a person froze, or what ended."""
    if cells["kind"] != "note" or cells["name"] not in _FREEZES:
        return
    message = cells.get("message", "")
    try:
        _FREEZES[cells["name"]](message)
    except ValueError as error:
        expected = "expected what was frozen, such as in for 2h"
        raise Unreplayable(f"{path}:{line}: message {message!r}; {expected}") from error


def _given(path: Path, line: int, text: str) -> RecordedInputs | None:
    """Read the inputs of a decision. Fields that this release does not know are skipped."""
    if not text:
        return None
    try:
        given = from_text(text, RecordedInputs)
    except StoreError as error:
        raise Unreplayable(f"{path}:{line}: given: {error}") from error
    if given.form > FORM:
        raise Unreplayable(f"{path}:{line}: given: form {given.form}; this release reads up to {FORM}")
    return given


def _count(path: Path, line: int, name: str, cells: dict[str, str]) -> int | None:
    text = cells.get(name, "")
    if not text:
        return None
    if not text.isdecimal():
        raise Unreplayable(f"{path}:{line}: {name} {text!r}; expected a number of members, or nothing")
    return int(text)


def _instant(path: Path, line: int, name: str, cells: dict[str, str]) -> float:
    try:
        return checked(_number(path, line, name, cells), cells[name])
    except ValueError as error:
        raise Unreplayable(f"{path}:{line}: {name} {error}") from error


def _number(path: Path, line: int, name: str, cells: dict[str, str]) -> float:
    try:
        number = float(cells[name])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise Unreplayable(f"{path}:{line}: {name} {cells[name]!r}; expected a number")
    return number
