"""Pictures as a few shapes, and what writes them: SVG by hand, PNG with Pillow (an extra)."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias, assert_never

from config.errors import Refused

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

_SIZE = 13
"""Of text, in pixels."""
_DASH = 6.0
_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
_SHARP = 2
"""Pixels of a PNG for each unit."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """Straight lines from point to point."""

    points: Sequence[Point]
    colour: str
    width: float = 1.0
    dashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A disc."""

    at: Point
    colour: str
    radius: float = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A line of text; ``at`` is on its base line."""

    at: Point
    text: str
    colour: str = "#333333"
    anchor: Literal["start", "middle", "end"] = "start"


Shape: TypeAlias = Path | Dot | Label


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Shapes on white, later ones above earlier ones; from the top left corner."""

    width: int
    height: int
    shapes: tuple[Shape, ...]


def svg(drawing: Drawing) -> str:
    """Write a picture as SVG."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width} {drawing.height}" '
        f'font-family="sans-serif" font-size="{_SIZE}">'
    )
    ground = f'<rect width="{drawing.width}" height="{drawing.height}" fill="white"/>'
    return "\n".join((head, ground, *map(_element, drawing.shapes), "</svg>", ""))


def _element(shape: Shape) -> str:
    match shape:
        case Path(points=points, colour=colour, width=width, dashed=dashed):
            line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            dashes = f' stroke-dasharray="{_DASH:g} {_DASH:g}"' if dashed else ""
            return f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashes}/>'
        case Dot(at=(x, y), colour=colour, radius=radius):
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"/>'
        case Label(at=(x, y), text=text, colour=colour, anchor=anchor):
            return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}">{escape(text)}</text>'
        case _:
            assert_never(shape)


def png(drawing: Drawing) -> bytes:
    """Write a picture as PNG.

    Raises:
        Refused: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise Refused("a PNG needs Pillow: install trimtab[png], or write an .svg") from error
    image = Image.new("RGB", (drawing.width * _SHARP, drawing.height * _SHARP), "white")
    brush = ImageDraw.Draw(image)
    for shape in drawing.shapes:
        _paint(brush, shape)
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


def _paint(brush: ImageDraw, shape: Shape) -> None:
    from PIL import ImageFont

    match shape:
        case Path(points=points, colour=colour, width=width, dashed=dashed):
            for part in _dashes(points) if dashed else [points]:
                brush.line([(x * _SHARP, y * _SHARP) for x, y in part], fill=colour, width=round(width * _SHARP))
        case Dot(at=(x, y), colour=colour, radius=radius):
            brush.circle((x * _SHARP, y * _SHARP), radius * _SHARP, fill=colour)
        case Label(at=(x, y), text=text, colour=colour, anchor=anchor):
            font = ImageFont.load_default(_SIZE * _SHARP)
            brush.text((x * _SHARP, y * _SHARP), text, fill=colour, font=font, anchor=_ANCHORS[anchor])
        case _:
            assert_never(shape)


def _dashes(points: Sequence[Point]) -> list[Sequence[Point]]:
    """Divide straight lines into dashes; Pillow has none of its own."""
    parts: list[Sequence[Point]] = []
    for (x, y), (to_x, to_y) in pairwise(points):
        length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5
        for number in range(int(length // (2 * _DASH)) + 1):
            begin, end = (min(each * _DASH / (length or 1.0), 1.0) for each in (2 * number, 2 * number + 1))
            parts.append([(x + (to_x - x) * share, y + (to_y - y) * share) for share in (begin, end)])
    return parts
