"""The fleets of an advice over time, as a picture."""

from __future__ import annotations

from datetime import UTC, datetime

from config.units import format_span
from handler.tuning.advice import Advice
from handler.tuning.drawing import Drawing, Label, Path, Shape
from handler.tuning.plots import HEIGHT, WIDTH, Axes, Scale, scale_of

_COLOURS = {"recorded": "#aa6600", "present": "#cc0000", "forecast": "#0066cc", "optimum": "#999999"}
_POINTS = 800
"""Of a line: about one a pixel."""
_MARKS = 6
_LEGEND, _LINE = 60, 20


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
