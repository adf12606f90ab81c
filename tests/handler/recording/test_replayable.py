"""What is exported is enough to judge again exactly as was judged: `trimtab replay` stands on this."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.aggregate import Aggregator
from collector.samples import Layout, Reply, Scrape, Series
from collector.targets import MemberTarget, Roster, layout_for
from config.load import parse
from config.units import CounterId, GroupId, Instant, MemberName, Moment, Monotonic
from handler.recording.events import RecordingSelection
from handler.recording.exporting import Csv, export_series
from tests.support.recording import WEB, Recorded, a_scrape, at

CATALOGUE = parse(
    """\
counters:
  cpu: {snmp: 1.3.6.1.4.1.2021.11.9.0, range: [0, 100]}
  inbound: {snmp: 1.3.6.1.2.1.2.2.1.10.2, kind: counter, bits: 32}
conditions:
  busy: {counter: cpu, window: 60s, above: 80}
  loud: {counter: inbound, across: max, window: 30s, above: 1000}
policies: {out: {when: [busy, loud], add: 1}}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [serve]}}
groups: {web: {profile: web, min: 0, max: 9, interval: 15s, policies: [out]}}
""",
    "web.yaml",
)

READINGS = st.none() | st.floats(0, 2**32 - 1)


@st.composite
def scrapes(draw: st.DrawFn) -> list[Scrape]:
    """Ticks with the jitter of real ones; members come, go, and warm up."""
    made: list[Scrape] = []
    second = 0.0
    for _ in range(draw(st.integers(1, 3))):
        names = draw(st.lists(st.sampled_from(["m-1", "m-2", "m-3"]), max_size=3, unique=True))
        members = tuple(
            MemberTarget(name=MemberName(name), address="", counted=draw(st.booleans())) for name in sorted(names)
        )
        layout = layout_for(CATALOGUE, [Roster(group=WEB, members=members)])
        for _ in range(draw(st.integers(1, 5))):
            second += 15 + draw(st.floats(-0.002, 0.002))
            count = len(layout.series)
            values = draw(st.lists(READINGS, min_size=count, max_size=count))
            uptime = draw(st.just(math.nan) | st.floats(0, 1e6))
            made.append(a_scrape(at(second), layout, values, uptime=uptime, after=draw(st.floats(0, 3))))
    return made


def judged(scrapes: Iterator[Scrape]) -> list[object]:
    aggregator = Aggregator(CATALOGUE, (WEB,))
    return [repr(dict(aggregator.take(scrape)[WEB].cells)) for scrape in scrapes]


def replayed(text: str) -> Iterator[Scrape]:
    """Scrapes out of the documented columns alone."""
    rows = csv.DictReader(io.StringIO(text))
    for (timestamp, steady), tick in itertools.groupby(rows, key=lambda row: (row["timestamp"], row["steady"])):
        asked = [row for row in tick if row["counter"]]
        yield Scrape(
            layout=Layout(
                series=tuple(
                    Series(GroupId(row["group"]), CounterId(row["counter"]), MemberName(row["member"])) for row in asked
                ),
                counted=np.array([row["counted"] == "true" for row in asked], dtype=np.bool_),
            ),
            at=Moment(wall=Instant(float(timestamp)), steady=Monotonic(float(steady))),
            value=np.array([float(row["value"] or 0) for row in asked]),
            replied_at=np.array([float(row["replied_at"] or 0) for row in asked]),
            uptime=np.array([float(row["uptime"] or "nan") for row in asked]),
            reply=np.array([Reply[row["reply"].upper()] for row in asked], dtype=np.uint8),
        )


@given(scrapes(), st.booleans())
def test_what_is_exported_is_judged_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, made: list[Scrape], closed: bool
) -> None:
    recorded = Recorded(tmp_path_factory.mktemp("any"))
    recorded.write(*(((WEB,), scrape) for scrape in made), finish=closed)
    file = io.BytesIO()
    export_series(Path(recorded.folder), RecordingSelection(), Csv(file), lambda done, of: None)

    assert judged(replayed(file.getvalue().decode())) == judged(iter(made))
