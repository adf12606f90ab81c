"""The picture of the scoreboard: cost against the load beyond the SLO."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

from benchmarks.capacity.setting import MeanScore
from handler.tuning.drawing import Dot, Drawing, Label, Path, Shape, svg

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 860, 430, 70, 20, 30, 50
_TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_LEAST = 0.005
_GRID, _INK, _GATE, _OURS, _OTHERS = "#eeeeee", "#333333", "#bb0000", "#0066cc", "#555555"


def scatter(means: Mapping[str, MeanScore], gate: float) -> str:
    """Return a picture of cost against the worst percentage beyond the SLO, as SVG; best is bottom left.

    Args:
        means: by what each point is called.
        gate: the percentage that no trace may exceed; a line shows it.
    """
    costs = [mean.cost for mean in means.values()] or [1.0]
    low, high = 1.0, max(costs) + 0.05
    shapes = [*_axes(low, high), *_gate(gate)]
    for name, mean in sorted(means.items(), key=lambda item: item[1].worst):
        shapes += _point(name, _across(mean.cost, low, high), _down(mean.worst))
    return svg(Drawing(width=_WIDTH, height=_HEIGHT, shapes=tuple(shapes)))


def _across(cost: float, low: float, high: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (cost - low) / (high - low)


def _down(over: float) -> float:
    """Return the height of a percentage, on a logarithmic scale."""
    share = log(max(over, _LEAST) / _LEAST) / log(_TICKS[-1] / _LEAST)
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * min(share, 1.0)


def _axes(low: float, high: float) -> list[Shape]:
    base, end = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    shapes: list[Shape] = []
    for tick in _TICKS:
        y = _down(tick)
        shapes.append(Path(points=[(_LEFT, y), (end, y)], colour=_GRID))
        shapes.append(Label(at=(_LEFT - 8, y + 4), text=f"{tick:g}", anchor="end"))
    tenths = [tenth / 10 for tenth in range(10, int(high * 10) + 1)]
    shapes += [Label(at=(_across(each, low, high), base + 18), text=f"{each:.1f}", anchor="middle") for each in tenths]
    shapes.append(Path(points=[(_LEFT, _TOP), (_LEFT, base), (end, base)], colour=_INK))
    shapes.append(Label(at=((_LEFT + end) / 2, _HEIGHT - 12), text="cost, the optimum is 1", anchor="middle"))
    shapes.append(Label(at=(_LEFT, _TOP - 10), text="load beyond the SLO on the worst trace, %"))
    return shapes


def _gate(gate: float) -> list[Shape]:
    y, end = _down(gate), _WIDTH - _RIGHT
    return [
        Path(points=[(_LEFT, y), (end, y)], colour=_GATE, dashed=True),
        Label(at=(end, y - 5), text=f"gate: {gate:g} %", colour=_GATE, anchor="end"),
    ]


def _point(name: str, x: float, y: float) -> list[Shape]:
    colour = _OURS if "forecast" in name else _OTHERS
    left = x > _WIDTH * 0.7
    return [
        Dot(at=(x, y), colour=colour, radius=5.0),
        Label(
            at=(x - 9 if left else x + 9, y + 4),
            text=name.replace("`", ""),
            colour=colour,
            anchor="end" if left else "start",
        ),
    ]
