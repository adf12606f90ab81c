"""Where recorded samples lie: one file holds ticks of one hour (UTC) of one run, and its name says so.

::

    recording/2026-03-01/091500-run0-00000017.log                as it is being written, tick by tick
    recording/2026-03-01/091500-run0-00000017.parquet            the same, closed
    recording/2026-03-01/090000-run0-00000017-5m.parquet         the whole hour, thinned

A *run* is a stretch in which the clock was never set back: within one, hours follow on each other. Numbers only ever
grow. A thinned file stands for all closed ones of its run and hour whose number is not greater than its own.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from config.units import Instant, Seconds, format_span, parse_span

HOUR = 3600

_NAME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)/(?P<time>\d{6})-run(?P<run>\d{1,9})-(?P<number>\d{8,18})"
    r"(?:(?P<log>\.log)|(?:-(?P<resolution>\d+[mh]))?\.parquet)"
)


class Form(enum.IntEnum):
    """What a file has become."""

    LOG = 0
    """Appended to, or left behind by a daemon that was killed."""
    WHOLE = 1
    """Every sample, in columns."""
    THIN = 2
    """One row per series and stretch of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One file of a recording."""

    run: int
    first: int
    """Seconds since the epoch, rounded down, of the tick that it was begun with. It lies in the segment's hour."""
    number: int
    form: Form
    resolution: Seconds = 0.0
    """Of a thinned one: how much time a row stands for."""

    @property
    def hour(self) -> int:
        """Hours since the epoch."""
        return self.first // HOUR

    @property
    def until(self) -> Instant:
        """The end of its hour."""
        return Instant((self.hour + 1) * HOUR)

    @property
    def name(self) -> str:
        """Where it lies below the folder of recordings.

        >>> Segment(run=0, first=1772356500, number=17, form=Form.LOG).name
        '2026-03-01/091500-run0-00000017.log'
        """
        began = datetime.fromtimestamp(self.first, UTC)
        stem = f"{began:%Y-%m-%d/%H%M%S}-run{self.run}-{self.number:08}"
        match self.form:
            case Form.LOG:
                return f"{stem}.log"
            case Form.WHOLE:
                return f"{stem}.parquet"
            case Form.THIN:
                return f"{stem}-{format_span(self.resolution)}.parquet"


def segment_of(name: str) -> Segment | None:
    """Read a file's name; ``None``: it is none of ours.

    >>> segment_of("2026-03-01/090000-run2-00000017-5m.parquet").resolution
    300.0
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    try:
        began = datetime.strptime(f"{match['day']} {match['time']}+0000", "%Y-%m-%d %H%M%S%z")
    except ValueError:
        return None
    thin = match["resolution"]
    return Segment(
        run=int(match["run"]),
        first=int(began.timestamp()),
        number=int(match["number"]),
        form=Form.LOG if match["log"] else Form.THIN if thin else Form.WHOLE,
        resolution=parse_span(thin) if thin else 0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """What lies there, told apart."""

    standing: tuple[Segment, ...]
    """By run, hour and number: the order in which they were recorded."""
    stale: tuple[Segment, ...]
    """Already part of another file: a crash came before they were removed."""


def sort_out(found: Iterable[Segment]) -> Sorted:
    """Tell files that hold samples of their own from those whose samples another file has taken over."""
    ordered = sorted(found, key=lambda each: (each.run, each.hour, each.number, each.form))
    closed = {each.number for each in ordered if each.form is Form.WHOLE}
    thinned: dict[tuple[int, int], int] = {}
    for each in ordered:
        if each.form is Form.THIN:
            thinned[each.run, each.hour] = max(each.number, thinned.get((each.run, each.hour), -1))

    def taken_over(each: Segment) -> bool:
        if each.form is Form.LOG and each.number in closed:
            return True
        return each.form is not Form.THIN and each.number <= thinned.get((each.run, each.hour), -1)

    return Sorted(
        standing=tuple(each for each in ordered if not taken_over(each)),
        stale=tuple(each for each in ordered if taken_over(each)),
    )
