"""Files of recorded samples: one file holds ticks of one hour (UTC) of one run, as its name says.

::

    recording/2026-03-01/091500-run0-00000017.log                while it is written, tick by tick
    recording/2026-03-01/091500-run0-00000017.parquet            the same, closed
    recording/2026-03-01/090000-run0-00000017-5m.parquet         the full hour, thinned

A *run* is a time in which the clock was never set back: within one, hours follow each other. Numbers only grow.
A thinned file replaces all closed ones of its run and hour whose number is not greater than its own.
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
    """The form of a file."""

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
    """Seconds since the epoch, rounded down, of its first tick. It is in the segment's hour."""
    number: int
    form: Form
    resolution: Seconds = 0.0
    """For a thinned file: the time that a row stands for."""

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
        """Its path below the folder of recordings.

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
    """Read a file's name; ``None``: it is not one of ours.

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
    """The files of a folder, sorted out."""

    standing: tuple[Segment, ...]
    """By run, hour and number: the order in which they were recorded."""
    stale: tuple[Segment, ...]
    """Already part of another file: a crash prevented their removal."""


def sort_out(found: Iterable[Segment]) -> Sorted:
    """Separate files with samples of their own from files whose samples another file has taken over."""
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
