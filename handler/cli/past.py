"""What `trimtab tune` and `trimtab advise` look at: a file, and a recording of its groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handler.cli.terminal import PROBLEMS, USAGE, directory, fail, instant, lines, print_json

if TYPE_CHECKING:
    from config.model.catalogue import Catalogue
    from config.units import GroupId
    from handler.replay.samples import Samples
    from handler.tuning.drawing import Drawing
    from handler.tuning.preparing import DeclaredFile, Recording

PastSeries = Annotated[
    str | None,
    typer.Option(
        "--series",
        metavar="FILE",
        help="Recorded samples: CSV, .parquet, or prometheus:URL. Left out: what the daemon has recorded.",
        show_default=False,
    ),
]
PastEvents = Annotated[
    Path | None,
    typer.Option("--events", metavar="CSV", help="What trimtab export events writes.", show_default=False),
]
FittingBoot = Annotated[
    str, typer.Option("--boot", metavar="SPAN", help="Time from the order of a member until it serves, if unrecorded.")
]
FittingDrain = Annotated[
    str | None,
    typer.Option("--drain", metavar="SPAN", help="Time that a member drains. Left out: the group's drain."),
]
GroupNames = Annotated[
    list[str] | None, typer.Argument(metavar="[GROUP]...", help="Groups of the file; left out: all of them.")
]
Limit = Annotated[
    float | None,
    typer.Option("--limit", metavar="N", help="What a member may carry, instead of the threshold by which it grows."),
]
Pictures = Annotated[
    list[Path] | None,
    typer.Option("--out", metavar="FILE", help="Also write a table as .csv, or a picture as .svg or .png."),
]

PROMETHEUS = "prometheus:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """Where the recording is, from the options."""

    series: str | None
    events: Path | None
    since: str | None
    until: str | None
    state: Path | None
    json: bool

    @property
    def span(self) -> tuple[float, float]:
        """The part of it that counts, in seconds since the epoch."""
        first = float("-inf") if self.since is None else instant(self.since, json=self.json)
        return first, float("inf") if self.until is None else instant(self.until, json=self.json)


def declared_file(path: Path) -> DeclaredFile:
    """Read a file.

    Raises:
        DeclarationError: as `config.load.load`.
    """
    from config.load import catalogue_of, read
    from handler.tuning.preparing import DeclaredFile

    reading = read(path)
    text = path.read_bytes().decode("utf-8-sig")
    return DeclaredFile(text=text, reading=reading, catalogue=catalogue_of(reading))


def chosen_groups(catalogue: Catalogue, names: Sequence[str]) -> tuple[GroupId, ...]:
    """Return the groups that a person names, or all of a file.

    Raises:
        Refused: one of them is not declared.
    """
    from config.errors import Refused
    from config.units import GroupId

    for name in names:
        if name not in catalogue.groups:
            raise Refused(f"there is no group {name}; there are {', '.join(sorted(catalogue.groups)) or 'none'}")
    return tuple(dict.fromkeys(GroupId(name) for name in names)) or tuple(sorted(catalogue.groups))


def recording_of(catalogue: Catalogue, groups: Sequence[GroupId], past: Past) -> tuple[Recording, tuple[str, ...]]:
    """Read the recording of groups; return it with caveats on what it lacks.

    Raises:
        Unreplayable: it cannot be read.
    """
    if past.series is not None:
        from handler.replay.scrapes import ticks_by_group
        from handler.replay.tables import read_events
        from handler.tuning.preparing import Recording

        samples, caveats = _samples(catalogue, groups, past.series, past)
        courses = {} if past.events is None else read_events(past.events, catalogue.groups)
        return Recording(ticks=ticks_by_group(catalogue, samples), courses=courses), caveats
    from handler.runtime.store_place import store_source
    from handler.tuning.past import recording_in

    state = directory(past.state)
    folder = state / "recording"
    if not folder.is_dir():
        fail(
            f"nothing was ever recorded in {folder}: give --series FILE, or trimtab record on", PROBLEMS, json=past.json
        )
    return recording_in(folder, store_source(state), catalogue, groups, past.span)


def _samples(
    catalogue: Catalogue, groups: Sequence[GroupId], series: str, past: Past
) -> tuple[Samples, tuple[str, ...]]:
    if series.startswith(PROMETHEUS) and (past.since is None or past.until is None):
        fail("--series prometheus:URL needs --since T and --until T", USAGE, json=past.json)
    return read_samples(catalogue, groups, series, past.span)


def read_samples(
    catalogue: Catalogue, groups: Sequence[GroupId], series: str, span: tuple[float, float]
) -> tuple[Samples, tuple[str, ...]]:
    """Read the samples of groups from a file or from Prometheus; return them with caveats on what is left out.

    Args:
        catalogue: declares the groups and their counters.
        groups: any; of Prometheus only those that decide are asked for.
        series: a file, or ``prometheus:URL``.
        span: the part that counts, in seconds since the epoch; of Prometheus it must be finite.

    Raises:
        Unreplayable: it cannot be read.
    """
    if series.startswith(PROMETHEUS):
        from config.model.catalogue import Mode
        from handler.replay.prometheus_series import read_prometheus

        deciding = [group for group in groups if catalogue.groups[group].mode is not Mode.OFF]
        return read_prometheus(series.removeprefix(PROMETHEUS), catalogue, deciding, *span)
    from handler.replay.reading import ReplaySpan, read_series

    return read_series(Path(series), catalogue, groups, ReplaySpan(since=span[0], until=span[1]))


def tell_refused(refused: Mapping[GroupId, str], *, json: bool) -> None:
    """Print why groups were refused."""
    for group, reason in refused.items():
        if json:
            print_json({"group": group, "refused": reason})
        else:
            lines(reason.splitlines(), err=True)


def write_pictures(path: Path, drawings: Mapping[GroupId, Drawing], *, json: bool) -> None:
    """Write a picture of each group; of several, the name has the group. Exits if one cannot be written."""
    from handler.tuning.drawing import png, svg

    for group, drawing in drawings.items():
        own = path if len(drawings) == 1 else path.with_stem(f"{path.stem}-{group}")
        write_out(own, png(drawing) if path.suffix == ".png" else svg(drawing).encode(), json=json)


def span_of(text: str, *, json: bool) -> float:
    """Read a duration. Exits on anything else."""
    from config.units import parse_span

    try:
        return parse_span(text)
    except ValueError as error:
        fail(str(error), USAGE, json=json)


def require_kinds(paths: Iterable[Path], *, json: bool) -> None:
    """Exit if a file is to be written whose kind is none of table and pictures."""
    for path in paths:
        if path.suffix not in {".csv", ".svg", ".png"}:
            fail(f"--out {path}: expected a name that ends in .csv, .svg or .png", USAGE, json=json)


def write_out(path: Path, content: bytes, *, json: bool) -> None:
    """Write a file whole. Exits if it cannot be written."""
    from handler.recording.folder import written_whole

    try:
        with written_whole(path) as file:
            file.write(content)
    except OSError as error:
        fail(f"{path} cannot be written: {error.strerror}", PROBLEMS, json=json)


def require_limit(limit: float | None, *, json: bool) -> None:
    """Exit if no member can carry what is said to be the limit of one."""
    if limit is not None and not 0 < limit < float("inf"):
        fail(f"--limit {limit:g}: expected a number above 0", USAGE, json=json)
