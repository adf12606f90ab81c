"""Charts: paths in a box of 1000 × 100, and labels and places in percent, for `templates/chart.html`.

Lines break at unknown values, and where no row was recorded for longer than ticks are apart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from config.units import Instant, Seconds
from handler.web.pages.figures import clock, minute, number

_WIDE, _HIGH = 1000.0, 100.0
_GAP = 2.5
"""Intervals without a row after which a line breaks."""
_STEPS = (1.0, 1.2, 1.6, 2.0, 2.4, 3.0, 4.0, 6.0, 8.0, 10.0)
_ROOM = 0.12
_DAY: Seconds = 86_400.0

Points = list[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One line of a chart."""

    label: str
    at: Sequence[Instant]
    values: Sequence[float | None]
    kind: str
    """Its CSS class."""
    stepped: bool = False
    """The value holds until the next row (sizes); else the line joins the rows."""
    filled: bool = False
    floor: Sequence[float | None] | None = None
    """Least values: the space between them and ``values`` is filled, and nothing else drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartMark:
    """Something that happened at one instant."""

    at: Instant
    kind: str
    """``out``, ``in``, ``refused``, ``edit`` (of the file) or ``note``: each has its own shape."""
    title: str
    why: tuple[str, ...]
    id: str
    """The id of the line below with the full text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A value drawn as a horizontal line, with its label."""

    value: float
    label: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Everything of one chart."""

    id: str
    describe: str
    """Its description, for people who cannot see it."""
    begin: Instant
    end: Instant
    gap: Seconds
    unit: str
    traces: tuple[Trace, ...]
    rules: tuple[Rule, ...] = ()
    marks: tuple[ChartMark, ...] = ()
    lane: bool = False
    """Give the marks a lane of their own, where a person can point at them; else only a thin line each."""
    room: tuple[float, ...] = ()
    """Values that the vertical axis has room for, though they are not drawn: charts that are compared share it."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """One line as it is drawn; an empty path is not drawn."""

    kind: str
    line: str
    area: str


@dataclass(frozen=True, slots=True)
class Across:
    """A rule as it is drawn, with its label above it or, where there is no space, below."""

    kind: str
    label: str
    y: str
    dy: int


@dataclass(frozen=True, slots=True)
class Hair:
    """A thin line at an instant."""

    kind: str
    x: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """A mark that a person can point at, and its text."""

    id: str
    kind: str
    shape: str
    x: str
    title: str
    why: str
    label: str
    """Title and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart with its axes, its marks, and the numbers for the script."""

    id: str
    describe: str
    numbers: str
    heights: tuple[str, ...]
    """Labels of the vertical axis, from the top."""
    times: tuple[str, ...]
    strokes: tuple[Stroke, ...]
    rules: tuple[Across, ...]
    hairs: tuple[Hair, ...]
    lane: tuple[Pointer, ...] | None


def gap_of(interval: Seconds) -> Seconds:
    """Return how far apart rows may be and still be joined."""
    return _GAP * interval


def nice_top(highest: float) -> float:
    """The least pleasant number that is not below.

    >>> nice_top(7), nice_top(101.0), nice_top(0), nice_top(0.03)
    (8.0, 120.0, 1.0, 0.03)
    """
    if highest <= 0 or not math.isfinite(highest):
        return 1.0
    power = 10.0 ** math.floor(math.log10(highest))
    return next(float(f"{step * power:g}") for step in _STEPS if step * power >= highest * (1 - 1e-9))


def chart(plot: Plot) -> Chart:
    """Lay out a chart."""
    low, high = _bounds(plot)
    return Chart(
        id=plot.id,
        describe=plot.describe,
        numbers=_numbers(plot),
        heights=tuple(number(value) for value in (high, (low + high) / 2, low)),
        times=_times(plot.begin, plot.end),
        strokes=tuple(_stroke(trace, plot, low, high) for trace in plot.traces),
        rules=tuple(_rule(rule, low, high) for rule in plot.rules),
        hairs=tuple(Hair(mark.kind, _share(mark.at, plot)) for mark in plot.marks),
        lane=_lane(plot) if plot.lane else None,
    )


def sparkline(trace: Trace, over: Trace, begin: Instant, end: Instant, gap: Seconds) -> tuple[Stroke, ...]:
    """Lay out a small chart without axes: ``trace`` filled, ``over`` as a line."""
    high = 1.15 * max((value for one in (trace, over) for value in one.values if value is not None), default=1.0) or 1.0
    plot = Plot(id="", describe="", begin=begin, end=end, gap=gap, unit="", traces=(trace, over))
    return tuple(_stroke(one, plot, 0.0, high) for one in plot.traces)


def segments(trace: Trace, gap: Seconds) -> Iterator[Points]:
    """Yield runs of rows to be joined, as (instant, value)."""
    run: Points = []
    for at, value in zip(trace.at, trace.values, strict=True):
        if run and (value is None or at - run[-1][0] > gap):
            yield run
            run = []
        if value is not None:
            run.append((at, value))
    if run:
        yield run


def _stroke(trace: Trace, plot: Plot, low: float, high: float) -> Stroke:
    if trace.floor is not None:
        return Stroke(trace.kind, "", _between(trace, trace.floor, plot, low, high))
    lines, areas = [], []
    for run in segments(trace, plot.gap):
        if trace.stepped and plot.end - run[-1][0] <= plot.gap:
            run.append((plot.end, run[-1][1]))  # the value holds until the next row
        points = [(_across(at, plot), _up(value, low, high)) for at, value in run]
        path = _path(points, stepped=trace.stepped)
        lines.append(path)
        if trace.filled:
            areas.append(f"{path}V{_HIGH:g}H{points[0][0]:g}Z")
    return Stroke(trace.kind, "".join(lines), "".join(areas))


def _between(trace: Trace, floor: Sequence[float | None], plot: Plot, low: float, high: float) -> str:
    """Return the area between the greatest and the least values, both known at the same rows."""
    least = Trace(label="", at=trace.at, values=floor, kind=trace.kind)
    areas = []
    for over, under in zip(segments(trace, plot.gap), segments(least, plot.gap), strict=True):
        corners = [(_across(at, plot), _up(value, low, high)) for at, value in (*over, *reversed(under))]
        areas.append(f"M{'L'.join(f'{x:g} {y:g}' for x, y in corners)}Z")
    return "".join(areas)


def _path(points: Points, *, stepped: bool) -> str:
    (x, y), *rest = points
    line = f"M{x:g} {y:g}"
    if not rest:
        return f"{line}h0.1"  # a single value is a dot
    return line + (_steps(rest, y) if stepped else "".join(f"L{x:g} {y:g}" for x, y in rest))


def _steps(points: Points, y: float) -> str:
    """Draw only where the value changes: sizes seldom do."""
    parts = []
    for x, reached in points:
        if reached != y:
            parts.append(f"H{x:g}V{reached:g}")
            y = reached
    return "".join(parts) + f"H{points[-1][0]:g}"


def _across(at: float, plot: Plot) -> float:
    return round(min(max(_WIDE * (at - plot.begin) / (plot.end - plot.begin), 0.0), _WIDE), 1)


def _up(value: float, low: float, high: float) -> float:
    return round(_HIGH * (high - value) / (high - low), 2)


def _bounds(plot: Plot) -> tuple[float, float]:
    values = [value for trace in plot.traces for value in (*trace.values, *(trace.floor or ())) if value is not None]
    values += [*(rule.value for rule in plot.rules), *plot.room]
    low = min(0.0, *values) if values else 0.0
    return -nice_top(-low) if low < 0 else 0.0, nice_top(1.05 * max(0.0, *values) if values else 0.0)


def _rule(rule: Rule, low: float, high: float) -> Across:
    y = _up(rule.value, low, high)
    crowded = y < _ROOM * _HIGH  # no space for a label above the line
    return Across(rule.kind, rule.label, f"{y:g}%", 13 if crowded else -5)


def _share(at: float, plot: Plot) -> str:
    return f"{100 * _across(at, plot) / _WIDE:.2f}%"


_SHAPES = {
    "out": "M0 -6L6 5L-6 5Z",
    "in": "M0 6L6 -5L-6 -5Z",
    "refused": "M-4 -4L4 4M4 -4L-4 4",
    "note": "M-4 -4H4V4H-4Z",
    "edit": "M0 -6L6 0L0 6L-6 0Z",
}


def _lane(plot: Plot) -> tuple[Pointer, ...]:
    return tuple(_pointer(mark, plot) for mark in sorted(plot.marks, key=lambda mark: mark.at))


def _pointer(mark: ChartMark, plot: Plot) -> Pointer:
    return Pointer(
        mark.id,
        mark.kind,
        _SHAPES[mark.kind],
        _share(mark.at, plot),
        mark.title,
        " · ".join(mark.why),
        " · ".join((mark.title, *mark.why)),
    )


def _times(begin: Instant, end: Instant) -> tuple[str, str, str]:
    say = clock if end - begin <= _DAY else minute
    return say(begin), say(Instant((begin + end) / 2)), f"{say(end)} UTC"


def _numbers(plot: Plot) -> str:
    """Return all that the script draws and reads out; instants are seconds after ``begin``."""
    low, high = _bounds(plot)
    at = _instants(plot)
    return json.dumps(
        {
            "begin": plot.begin,
            "end": plot.end,
            "gap": plot.gap,
            "unit": "%" if plot.unit == "percent" else plot.unit,
            "low": low,
            "high": high,
            "rules": [{"value": rule.value, "kind": rule.kind, "label": rule.label} for rule in plot.rules],
            "marks": [round(mark.at - plot.begin, 1) for mark in plot.marks],
            "at": [round(instant - plot.begin, 1) for instant in at],
            "columns": [column for trace in plot.traces for column in _numbers_of(trace, plot, at)],
        },
        separators=(",", ":"),
    )


def _instants(plot: Plot) -> list[Instant]:
    """Return the instants of all rows, and one after each that no other follows for long: nothing is joined there."""
    at = sorted({instant for trace in plot.traces for instant in trace.at})
    broken = [Instant(one + plot.gap) for one, other in pairwise((*at, plot.end)) if other - one > plot.gap]
    held = [plot.end for trace in plot.traces if _holds(trace, plot)]
    return sorted({*at, *broken, *held})


def _holds(trace: Trace, plot: Plot) -> bool:
    """Return whether a line goes on to the chart's end: its value holds until the next row."""
    return trace.stepped and bool(trace.at) and plot.end - trace.at[-1] <= plot.gap


def _numbers_of(trace: Trace, plot: Plot, at: Sequence[Instant]) -> Iterator[dict[str, object]]:
    columns = [(trace.label, trace.kind, trace.values)]
    if trace.floor is not None:
        columns = [("greatest", "greatest", trace.values), ("least", "least", trace.floor)]
    for label, kind, values in columns:
        known = dict(zip(trace.at, values, strict=True))
        if _holds(trace, plot):
            known[plot.end] = values[-1]
        shown = [_short(known.get(instant)) for instant in at]
        yield {"label": label, "kind": kind, "stepped": trace.stepped, "values": shown}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
