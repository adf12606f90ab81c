"""Pictures of the scoreboard as SVG, drawn by hand: a few shapes need no library."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

from benchmarks.capacity.setting import MeanScore

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 860, 430, 70, 20, 30, 50
_TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
_LEAST = 0.005
_HEAD = (
    f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">'
)


def scatter(means: Mapping[str, MeanScore], gate: float) -> str:
    """Return a picture of cost against the worst percentage beyond the SLO; best is bottom left.

    Args:
        means: by what each point is called.
        gate: the percentage that no trace may exceed; a line shows it.
    """
    costs = [mean.cost for mean in means.values()] or [1.0]
    low, high = 1.0, max(costs) + 0.05
    parts = [
        _HEAD,
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _axes(low, high),
        _gate(gate),
    ]
    for name, mean in sorted(means.items(), key=lambda item: item[1].worst):
        parts.append(_point(name, _across(mean.cost, low, high), _down(mean.worst)))
    return "\n".join((*parts, "</svg>", ""))


def _across(cost: float, low: float, high: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (cost - low) / (high - low)


def _down(over: float) -> float:
    """Return the height of a percentage, on a logarithmic scale."""
    share = log(max(over, _LEAST) / _LEAST) / log(_TICKS[-1] / _LEAST)
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * min(share, 1.0)


def _axes(low: float, high: float) -> str:
    base, end = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    lines = [
        f'<path d="M{_LEFT} {_TOP}V{base}H{end}" fill="none" stroke="#333"/>',
        f'<text x="{(_LEFT + end) / 2:.0f}" y="{_HEIGHT - 12}" text-anchor="middle">cost, the optimum is 1</text>',
        f'<text x="{_LEFT}" y="{_TOP - 10}">load beyond the SLO on the worst trace, %</text>',
    ]
    for tick in _TICKS:
        y = _down(tick)
        lines.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
        lines.append(f'<path d="M{_LEFT} {y:.1f}H{end}" stroke="#eee"/>')
    for tenth in range(10, int(high * 10) + 1):
        x = _across(tenth / 10, low, high)
        lines.append(f'<text x="{x:.1f}" y="{base + 18}" text-anchor="middle">{tenth / 10:.1f}</text>')
    return "\n".join(lines)


def _gate(gate: float) -> str:
    y = _down(gate)
    return (
        f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#b00" stroke-dasharray="5 4"/>\n'
        f'<text x="{_WIDTH - _RIGHT}" y="{y - 5:.1f}" text-anchor="end" fill="#b00">gate: {gate:g} %</text>'
    )


def _point(name: str, x: float, y: float) -> str:
    colour = "#06c" if "forecast" in name else "#555"
    left = x > _WIDTH * 0.7
    anchor, at = ("end", x - 9) if left else ("start", x + 9)
    text = name.replace("`", "").replace("&", "&amp;").replace("<", "&lt;")
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>\n'
        f'<text x="{at:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}" fill="{colour}">{text}</text>'
    )
