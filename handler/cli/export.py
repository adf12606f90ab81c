"""`trimtab export`: write recordings as files. Reads files only, so it works with and without a daemon."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer

from handler.cli.commands import Program
from handler.cli.names import group_names
from handler.cli.progress import progress
from handler.cli.terminal import (
    PROBLEMS,
    USAGE,
    AsJson,
    Since,
    State,
    Until,
    directory,
    fail,
    instant,
    lines,
    print_json,
    refusals,
)

if TYPE_CHECKING:
    from handler.recording.events import RecordingSelection
    from handler.recording.exporting import Exported, Sink

export = Program("Write recordings to files, for replay and other programs.")

Groups = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="GROUP", help="Only this group; may be repeated.", autocompletion=group_names),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Standard output, if left out.")]


@export.command("series")
def series(  # noqa: PLR0913, PLR0917  # an option each
    groups: Groups = None,
    since: Since = None,
    until: Until = None,
    format: Annotated[Literal["csv", "parquet"], typer.Option("--format", help="CSV, or Parquet.")] = "csv",
    out: Out = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Write samples: timestamp, group, member, counter, value, and the other columns that replay needs."""
    folder = directory(state) / "recording"
    if out is None and (json or (format == "parquet" and sys.stdout.isatty())):
        fail("--json and a terminal need --out FILE", USAGE, json=json)
    wanted = _wanted(groups, since, until, json=json)
    if not folder.is_dir():
        fail(f"nothing was ever recorded in {folder}: trimtab record on", PROBLEMS, json=json)
    from handler.recording.exporting import export_series

    with (
        refusals(json),
        _unbroken(),
        _target(out, json=json) as file,
        progress("exporting") as tell,
        contextlib.closing(_sink(format, file)) as sink,
    ):
        done = export_series(folder, wanted, sink, tell)
    _report(done, out, json=json)


@export.command("events")
def events(  # an option each
    groups: Groups = None,
    since: Since = None,
    until: Until = None,
    out: Out = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Write sizes, people's operations, and members that came into service or left, as CSV."""
    if out is None and json:
        fail("--json needs --out FILE", USAGE, json=json)
    from io import TextIOWrapper

    from handler.recording.events import write_events
    from handler.runtime.store_place import store_source
    from handler.store.timeline import read_timeline

    wanted = _wanted(groups, since, until, json=json)
    with refusals(json), _unbroken(), _target(out, json=json) as file:
        text = TextIOWrapper(file, "utf-8", newline="")
        timeline = read_timeline(store_source(directory(state)))
        count = write_events(text, timeline, wanted)
        text.flush()
        text.detach()
    if json:
        print_json({"file": str(out), "events": count})
    elif out is not None:
        lines([f"{out}: {count} events"], err=True)


def _wanted(groups: list[str] | None, since: str | None, until: str | None, *, json: bool) -> RecordingSelection:
    from math import inf

    from config.units import GroupId
    from handler.recording.events import RecordingSelection

    return RecordingSelection(
        groups=frozenset(GroupId(group) for group in groups or ()),
        since=-inf if since is None else instant(since, json=json),
        until=inf if until is None else instant(until, json=json),
    )


def _sink(format: str, file: BinaryIO) -> Sink:
    from handler.recording.exporting import Csv
    from handler.recording.parquet import Sheets

    return Csv(file) if format == "csv" else Sheets(file, None)


@contextlib.contextmanager
def _target(out: Path | None, *, json: bool) -> Iterator[BinaryIO]:
    """Open the target; a file appears only when it is complete."""
    if out is None:
        yield sys.stdout.buffer
        return
    from handler.recording.folder import written_whole

    try:
        with written_whole(out) as file:
            yield file
    except OSError as error:
        fail(f"{out} cannot be written: {error.strerror}", PROBLEMS, json=json)


@contextlib.contextmanager
def _unbroken() -> Iterator[None]:
    """End quietly when the reader of standard output has closed it."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it flushes
        raise typer.Exit from None


def _report(done: Exported, out: Path | None, *, json: bool) -> None:
    from handler.cli.time_format import clock_text
    from handler.web.render import plain

    if json:
        summary = plain(done)
        print_json({"file": str(out), **summary} if isinstance(summary, dict) else summary)
        return
    messages = [f"left out: {part}" for part in done.left_out]
    if done.missed:
        messages.append(f"{done.missed} rows have reply=missed: the samples of their ticks were lost")
    if done.thinned:
        messages.append(
            f"{done.thinned} of {done.rows} rows are thinned: the column resolution has their spacing in seconds"
        )
    if not done.rows:
        messages.append("nothing was recorded there")
    elif out is not None:
        messages.append(f"{out}: {done.rows} rows, {clock_text(done.first_at)} to {clock_text(done.last_at)} UTC")
    lines(messages, err=True)
