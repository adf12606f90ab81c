"""What a daemon has recorded of groups: their samples from its recording, and their events from its store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from config.errors import Refused
from config.model.catalogue import Catalogue
from config.units import GroupId
from handler.recording.events import RecordingSelection, write_events
from handler.recording.exporting import export_series
from handler.recording.parquet import Sheets
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.running import no_progress
from handler.replay.scrapes import ticks_by_group
from handler.replay.tables import read_events
from handler.store.beside import StoreSource
from handler.store.timeline import read_timeline
from handler.tuning.preparing import Recording


def recording_in(
    folder: Path, store: StoreSource, catalogue: Catalogue, groups: Sequence[GroupId], span: tuple[float, float]
) -> tuple[Recording, tuple[str, ...]]:
    """Read the recording of groups as `trimtab export` writes it; return it with caveats on what it lacks.

    Args:
        folder: of the recording.
        store: has the events.
        catalogue: declares the groups and their counters.
        groups: any.
        span: the part of the samples that counts, in seconds since the epoch.

    Raises:
        Refused: nothing was ever recorded.
        Unreplayable: nothing was recorded of these groups then.
    """
    if not folder.is_dir():
        raise Refused(f"nothing was ever recorded in {folder}: trimtab record on")
    since, until = span
    chosen = frozenset(groups)
    with TemporaryDirectory() as name:
        series, events = Path(name) / "series.parquet", Path(name) / "events.csv"
        with series.open("wb") as file:
            sink = Sheets(file, None)
            export_series(folder, RecordingSelection(groups=chosen, since=since, until=until), sink, no_progress)
            sink.close()
        with events.open("w", encoding="utf-8", newline="") as text:
            write_events(text, read_timeline(store), RecordingSelection(groups=chosen))
        samples, caveats = read_series(series, catalogue, groups, ReplaySpan(since=since, until=until))
        courses = read_events(events, catalogue.groups)
    return Recording(ticks=ticks_by_group(catalogue, samples), courses=courses), caveats
