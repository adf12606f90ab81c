"""Results as pictures: the fleets of an advice over time, and the settings that were tried."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from config.units import format_span
from handler.tuning.advice import Advice
from handler.tuning.drawing import Dot, Drawing, Label, Path, Shape
from handler.tuning.plots import HEIGHT, WIDTH, Axes, Scale, scale_of
from handler.tuning.results import Tuning

_LINE = 20
_COLOURS = {"recorded": "#aa6600", "present": "#cc0000", "forecast": "#0066cc", "optimum": "#999999"}
_POINTS = 800
"""Of a line: about one a pixel."""
_MARKS = 6
_LEGEND = 60
_TRIED, _FRONTIER, _TODAY, _CHOSEN, _AGAINST = "#bbbbbb", "#0066cc", "#cc0000", "#007744", "#aa6600"
_LEGEND_X, _LEGEND_Y = 440, 60


def advice_picture(advice: Advice) -> Drawing:
    """Draw how many members were paid for over time; the optimum as what was needed."""
    first, last = float(advice.at[0]), float(advice.at[-1]) + advice.interval
    axes = Axes(
        across=Scale(low=first, high=last),
        up=scale_of((float(fleet.sizes.max()) for fleet in advice.fleets), from_zero=True),
    )
    marks = [first + (last - first) * number / _MARKS for number in range(1, _MARKS)]
    words = [(mark, datetime.fromtimestamp(mark, UTC).strftime("%m-%d %H:%M")) for mark in marks]
    title = f"{advice.group}: members, {advice.limit}, in {format_span(advice.span)}"
    shapes: list[Shape] = [*axes.frame("time (UTC)", title, words)]
    stride = -(-len(advice.at) // _POINTS)
    for number, fleet in enumerate(reversed(advice.fleets)):
        colour = _COLOURS[fleet.name]
        points = zip(advice.at[::stride].tolist(), fleet.sizes[::stride].tolist(), strict=True)
        shapes.append(Path(points=[axes.place(*point) for point in points], colour=colour, width=1.5))
        figures = f"{fleet.name}: {fleet.hours:,.1f} member-hours, {fleet.minutes:,.1f} minutes over"
        shapes.append(Label(at=(80, _LEGEND + _LINE * number), text=figures, colour=colour))
    return Drawing(width=WIDTH, height=HEIGHT, shapes=tuple(shapes))


def frontier_picture(tuning: Tuning) -> Drawing:
    """Draw one group's settings: member-hours against minutes over the limit; the best are bottom left."""
    outcomes = list(tuning.outcomes.values())
    axes = Axes(
        across=scale_of(each.hours for each in outcomes), up=scale_of((each.over for each in outcomes), from_zero=True)
    )
    span = format_span(tuning.span)
    shapes: list[Shape] = [*axes.frame("member-hours", f"{tuning.group}: minutes with {tuning.limit}, in {span}")]
    shapes += [Dot(at=axes.place(each.hours, each.over), colour=_TRIED) for each in outcomes]
    edge = [(tuning.outcomes[each].hours, tuning.outcomes[each].over) for each in tuning.frontier]
    shapes.append(Path(points=[axes.place(*each) for each in _steps(edge)], colour=_FRONTIER))
    shapes += [Dot(at=axes.place(*each), colour=_FRONTIER) for each in edge]
    today = tuning.outcomes[tuning.today]
    named = [("today", today, _TODAY)] + [(each.word, each.outcome, _CHOSEN) for each in tuning.proposals]
    if tuning.against is not None:
        named.append(("against", tuning.against, _AGAINST))
    for number, (word, outcome, colour) in enumerate(named):
        line = _LEGEND_Y + _LINE * number
        shapes.append(Dot(at=axes.place(outcome.hours, outcome.over), colour=colour, radius=5.0))
        shapes.append(Dot(at=(_LEGEND_X, line - 4), colour=colour, radius=5.0))
        figures = f"{outcome.hours:,.1f} member-hours, {outcome.over:,.1f} minutes, {outcome.changes} changes"
        shapes.append(Label(at=(_LEGEND_X + 12, line), text=f"{word}: {figures}", colour=colour))
    return Drawing(width=WIDTH, height=HEIGHT, shapes=tuple(shapes))


def _steps(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the lower edge of points that come by their first value: those that are lower than all before."""
    edge: list[tuple[float, float]] = []
    for x, y in points:
        if not edge or y < edge[-1][1]:
            edge += [(x, edge[-1][1])] if edge else []
            edge.append((x, y))
    return edge
