"""Records ticks of random values into a folder until it is killed; says each tick's number once it is in the log."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import numpy as np

from collector.samples import Layout, Series
from config.model.observability import Recording
from config.units import CounterId, GroupId, Instant, MemberName, Moment, Monotonic
from handler.recording.intake import RecordingIntake
from handler.recording.writer import RecordingWriter
from tests.support.recording import a_scrape

SERIES = 200
START = 4_102_444_800.0
"""2100: later than any file is written, or the clock would seem to have been set back."""
_SETTINGS = Recording(budget=64 << 20, whole=3600.0)
_PACE = 60.0
"""Seconds of the recording a tick: hours pass in a moment, and are thinned."""


def main() -> None:
    folder, first = Path(sys.argv[1]), int(sys.argv[2])
    series = tuple(Series(GroupId("web"), CounterId("cpu"), MemberName(f"m-{n:03}")) for n in range(SERIES))
    layout = Layout(series=series, counted=np.ones(SERIES, dtype=np.bool_))
    number = first

    def clock() -> Moment:
        return Moment(wall=Instant(START + number * _PACE), steady=Monotonic(number * _PACE))

    intake = RecordingIntake()
    writer = RecordingWriter(folder, intake, _SETTINGS, clock=clock, say=lambda event, **fields: None)
    threading.Thread(target=writer.run, daemon=True).start()
    while True:
        when = clock()
        scrape = a_scrape(when, layout, [float(number)] * SERIES)
        intake.put((GroupId("web"),), scrape)
        wanted = (number - first + 1) * SERIES
        while writer.facts.samples < wanted:
            time.sleep(0.0005)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        number += 1


if __name__ == "__main__":
    main()
