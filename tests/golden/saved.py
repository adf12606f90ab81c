"""What people keep in files: worlds that were saved, and recordings with what replay makes of them."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from handler.planning.plan import Snapshot
from handler.planning.world import Phase, RegistrationState, ServerState
from handler.recording.events import RecordingSelection
from handler.recording.exporting import Csv, export_series
from handler.recording.parquet import Sheets, pieces_of
from handler.recording.rows import in_order
from handler.snapshots.writing import laid_out
from handler.web.render import planned
from tests.support.filled import filled
from tests.support.recording import Recorded, a_layout, a_scrape, at
from tests.support.replay import WEB, declared, runs_of
from tests.support.snapshots import a_snapshot, read, text_of
from tests.support.worlds import a_member, a_registration, a_world

RECORDED: Final = Path(__file__).with_name("recording.parquet")
"""An export of the release that wrote the golden files first; never written again."""


def full_world() -> str:
    """A world with every field set, as ``trimtab snapshot`` prints it."""
    return text_of(filled(Snapshot))


def busy_world() -> str:
    """A world of members in several states, as ``trimtab snapshot`` prints it."""
    members = (
        a_member(1),
        a_member(2, Phase.MADE, ready=True),
        a_member(3, Phase.LEAVING),
        a_member(4, state=ServerState.ERROR),
        a_member(5, Phase.INTENDED, None),
        a_member(6, None),
    )
    registrations = (
        a_registration(1, connections=3),
        a_registration(3, RegistrationState.DRAINING, connections=1),
        a_registration(4),
    )
    return text_of(a_snapshot(a_world(*members, registrations=registrations), 4))


def plan_of(text: str) -> str:
    """What is planned of a saved world."""
    return laid_out(planned(read(text).plan())) + "\n"


def record(path: Path) -> None:
    """Record eight minutes of a group that is busy and then idle, and export them as Parquet."""
    layout = a_layout(("web", "cpu", "m-1"), ("web", "cpu", "m-2"), counted=(True, True))
    loads = [90.0] * 8 + [None] + [10.0] * 7
    ticks = [a_scrape(at(30.0 * number), layout, (load, load), uptime=600.0) for number, load in enumerate(loads)]
    recorded = Recorded(path.parent / "recording")
    recorded.write(*(((WEB,), tick) for tick in ticks))
    with path.open("wb") as file:
        sheets = Sheets(file, None)
        export_series(recorded.folder, RecordingSelection(), sheets, lambda done, of: None)
        sheets.close()


def recording_text() -> str:
    """A recording that is written now: the columns of its file, its mark, and its rows as CSV."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording.parquet"
        record(path)
        return rows_text(path)


def rows_text(path: Path) -> str:
    """The columns of a recording's file, its mark, and its rows as CSV."""
    schema = pq.read_schema(path)
    columns = "".join(f"# {field.name}: {field.type}\n" for field in schema)
    mark = "".join(
        f"# {key.decode()}: {value.decode()}\n" for key, value in schema.metadata.items() if key != b"ARROW:schema"
    )
    lines = io.BytesIO()
    with path.open("rb") as file:
        sink = Csv(lines)
        for rows in in_order(pieces_of(file)):
            sink.write(rows)
        sink.close()
    return columns + mark + lines.getvalue().decode()


def replayed_text() -> str:
    """What replay decides over the recording of old: a line of ``trimtab replay --json`` each."""
    return "".join(f"{json.dumps(line.plain())}\n" for run in runs_of(RECORDED, declared()) for line in run.lines)
