"""`trimtab replay`: a declaration's decisions over a recording or over a load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from handler.cli.past import PROMETHEUS, read_samples, span_of
from handler.cli.progress import Tell, progress
from handler.cli.terminal import USAGE, AsJson, Since, Until, fail, instant, lines, print_json, refusals, show

if TYPE_CHECKING:
    from config.model.catalogue import Catalogue
    from config.units import CounterId, GroupId
    from handler.replay.load import Feed, LoadScore, ServiceLevel
    from handler.replay.members import BootTimes
    from handler.replay.recorded import Run

Series = Annotated[
    str | None,
    typer.Option(
        "--series", metavar="FILE", help="Recorded samples: CSV, .parquet, or prometheus:URL.", show_default=False
    ),
]
Events = Annotated[
    Path | None,
    typer.Option(
        "--events", metavar="CSV", help="Sizes and people's operations: trimtab export events.", show_default=False
    ),
]
LoadFile = Annotated[
    Path | None,
    typer.Option(
        "--load", metavar="TRACE", help="Instead of a recording: a load, CSV timestamp_s,rate.", show_default=False
    ),
]
Capacity = Annotated[
    float | None, typer.Option(metavar="N", help="The rate that one member can serve.", show_default=False)
]
Model = Annotated[
    Literal["recorded", "shared-load"],
    typer.Option(help="Effect of another size on counters: none, or members share those marked shared: true."),
]
Boot = Annotated[
    str,
    typer.Option(
        metavar="SPAN[,SPAN]...",
        help="Time from the decision until a member is in service; with --load several, each as likely.",
    ),
]
Slo = Annotated[
    float | None,
    typer.Option(
        "--slo",
        metavar="N",
        help="With --load: the rate that one member serves within its SLO; shows how good the sizes are.",
    ),
]
Drain = Annotated[
    str | None,
    typer.Option("--drain", metavar="SPAN", help="With --slo: how long a member drains. Left out: the group's drain."),
]
Delay = Annotated[
    str, typer.Option("--delay", metavar="SPAN", help="With --load: counters show the load of so long ago.")
]
Feeds = Annotated[
    list[str] | None,
    typer.Option(
        "--feed",
        metavar="COUNTER=SHOWS",
        help="The counter shows utilisation or rate. Left out: all counters in percent show utilisation.",
    ),
]
Against = Annotated[
    Path | None, typer.Option("--against", metavar="OTHER", help="Compare with this file.", show_default=False)
]
Groups = Annotated[list[str] | None, typer.Option("--group", metavar="GROUP", help="Only this group; may be repeated.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Over:
    """The input of a replay, from the options."""

    series: str | None
    model: str
    events: Path | None
    load: Path | None
    capacity: float
    level: ServiceLevel | None
    boot: BootTimes
    delay: float
    feeds: Mapping[CounterId, Feed]
    groups: Sequence[str]
    since: float
    until: float


def replay(  # noqa: PLR0913, PLR0917  # an option each
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The declared model, YAML.")],
    series: Series = None,
    events: Events = None,
    model: Model = "recorded",
    load: LoadFile = None,
    capacity: Capacity = None,
    slo: Slo = None,
    boot: Boot = "60s",
    drain: Drain = None,
    delay: Delay = "0s",
    feeds: Feeds = None,
    against: Against = None,
    groups: Groups = None,
    since: Since = None,
    until: Until = None,
    json: AsJson = False,
) -> None:
    """Show a file's decisions over the past, made by the live code. Changes nothing."""
    if (series is None) == (load is None):
        fail("either --series FILE, or --load TRACE with --capacity N", USAGE, json=json)
    if load is not None and (capacity is None or not capacity > 0 or events is not None):
        fail("--load needs --capacity N, a rate above 0, and takes no --events", USAGE, json=json)
    if load is None and (slo is not None or drain is not None or delay != "0s" or "," in boot):
        fail("--slo, --drain, --delay and several times of --boot go with --load", USAGE, json=json)
    if load is not None and model != "recorded":
        fail("--load is a model of its own: leave --model out", USAGE, json=json)
    if series is not None and series.startswith(PROMETHEUS) and (since is None or until is None):
        fail("--series prometheus:URL needs --since T and --until T", USAGE, json=json)
    over = _Over(
        series=series,
        model=model,
        events=events,
        load=load,
        capacity=capacity or 1.0,
        level=_level(slo, drain, capacity, json=json),
        boot=_boots(boot, json=json),
        delay=span_of(delay, json=json),
        feeds=_feeds(feeds or (), json=json),
        groups=groups or (),
        since=float("-inf") if since is None else instant(since, json=json),
        until=float("inf") if until is None else instant(until, json=json),
    )
    from config.load import load as declared

    with refusals(json):
        with progress(f"replaying {file.name}") as tell:
            done = _replayed(declared(file), over, tell)
        other = None
        if against is not None:
            with progress(f"replaying {against.name}") as tell:
                other = _replayed(declared(against), over, tell)
    _show((file, against), done, other, json=json)


def _show(files: tuple[Path, Path | None], done: _Replayed, other: _Replayed | None, *, json: bool) -> None:
    """Print one replay, or the comparison of two; the caveats on standard error."""
    file, against = files
    if against is None or other is None:
        _tell(done, json=json)
        messages = list(done.caveats)
    else:
        _compare((file, against), (done, other), json=json)
        messages = [f"{name}: {caveat}" for name, own in ((file, done), (against, other)) for caveat in own.caveats]
    lines(dict.fromkeys(messages), err=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Replayed:
    """The result of one file."""

    runs: tuple[Run, ...]
    caveats: tuple[str, ...] = ()
    scores: Mapping[GroupId, LoadScore] = field(default_factory=dict)
    """With ``--slo``."""


def _replayed(catalogue: Catalogue, over: _Over, tell: Tell) -> _Replayed:
    from config.errors import Refused
    from config.model.catalogue import Mode
    from config.units import GroupId

    for name in over.groups:
        if name not in catalogue.groups:
            raise Refused(f"there is no group {name}; there are {', '.join(sorted(catalogue.groups)) or 'none'}")
    chosen = [GroupId(name) for name in over.groups] or list(catalogue.groups)
    deciding = [group for group in chosen if catalogue.groups[group].mode is not Mode.OFF]
    if over.load is not None:
        return _under_load(catalogue, deciding, over.load, over, tell)
    if over.series is not None:
        runs, caveats = _over_series(catalogue, chosen, over.series, over, tell)
        return _Replayed(runs=runs, caveats=caveats)
    raise Refused("nothing to replay")


def _under_load(catalogue: Catalogue, groups: Sequence[GroupId], trace: Path, over: _Over, tell: Tell) -> _Replayed:
    from handler.replay.load import SyntheticLoad, feeds_for, score_of
    from handler.replay.running import load_runs
    from handler.replay.samples import Unreplayable
    from handler.replay.tables import read_load

    at, rate = read_load(trace)
    inside = (at >= over.since) & (at < over.until)
    if not inside.any():
        raise Unreplayable(f"{trace}: no row is within --since and --until")
    feeds = over.feeds or feeds_for(catalogue, tuple(groups))
    load = SyntheticLoad(
        at=at[inside], rate=rate[inside], capacity=over.capacity, boot=over.boot, feeds=feeds, delay=over.delay
    )
    runs, level = load_runs(catalogue, groups, load, tell), over.level
    if level is None:
        return _Replayed(runs=runs)
    scores = {
        run.group: score_of(run.path, catalogue.groups[run.group], load, level) for run in runs if run.path is not None
    }
    return _Replayed(runs=runs, scores=scores)


def _over_series(
    catalogue: Catalogue, groups: Sequence[GroupId], path: str, over: _Over, tell: Tell
) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    from handler.replay.caveats import caveats_of_run, caveats_of_series, caveats_of_shares
    from handler.replay.running import recorded_runs, shared_runs
    from handler.replay.samples import Unreplayable
    from handler.replay.scrapes import ticks_by_group
    from handler.replay.tables import read_events

    samples, caveats = read_samples(catalogue, groups, path, (over.since, over.until))
    courses = {} if over.events is None else read_events(over.events, catalogue.groups)
    try:
        ticks = ticks_by_group(catalogue, samples)
        del samples  # a month of some groups is hundreds of megabytes
    except Unreplayable as error:
        raise Unreplayable(f"{path}: {error}") from error
    about = (*caveats, *caveats_of_series(catalogue, groups, ticks))
    if over.model == "recorded":
        runs = recorded_runs(catalogue, ticks, courses, tell)
        return runs, (*about, *(caveat for run in runs for caveat in caveats_of_run(run)))
    runs = shared_runs(catalogue, ticks, courses, over.boot.of(0), tell)
    shares = (caveats_of_shares(catalogue, run, courses.get(run.group), over.boot.of(0)) for run in runs)
    return runs, (*about, *(caveat for caveats in shares for caveat in caveats))


def _tell(done: _Replayed, *, json: bool) -> None:
    runs = done.runs
    lines_of_all = (line for run in runs for line in run.lines)
    if json:
        for line in sorted(lines_of_all, key=lambda line: (line.at, line.group)):
            print_json(line.plain())
        for group, score in done.scores.items():
            print_json({"group": group, "score": score.plain()})
        return
    from handler.cli.columns import Column, table
    from handler.replay.caveats import stamp
    from handler.replay.reports import decisions

    rows = decisions(lines_of_all)
    columns: list[Column[Any]] = [Column("AT (UTC)", lambda row: stamp(row.at))]
    columns += [Column(name.upper(), lambda row, name=name: str(getattr(row, name))) for name in rows.columns[1:]]  # type: ignore[misc]
    show(table(columns, list(rows.itertuples()), nothing="no requests and no changes of size"))
    for run in runs:
        tally = run.tally
        typer.echo(
            f"{run.group}: {run.ticks} ticks, {tally.actions} changes, {tally.reversals} reversals, "
            f"{tally.size_hours:,.1f} member-hours"
        )
    lines(f"{group}: {score.words}" for group, score in done.scores.items())


def _compare(files: tuple[Path, Path], both: tuple[_Replayed, _Replayed], *, json: bool) -> None:
    if json:
        by_group = [{run.group: _figures(run, done) for run in done.runs} for done in both]
        for group in sorted(by_group[0].keys() & by_group[1].keys()):
            print_json({"group": group, "file": by_group[0][group], "against": by_group[1][group]})
        return
    from handler.cli.columns import Column, table
    from handler.replay.reports import comparison

    columns: list[Column[Any]] = [
        Column("GROUP", lambda row: row.group),
        Column("FIGURE", lambda row: row.figure),
        Column(str(files[0]), lambda row: _figure(row.value_first)),
        Column(str(files[1]), lambda row: _figure(row.value_second)),
    ]
    show(table(columns, list(comparison(both[0].runs, both[1].runs).itertuples())))
    for name, done in zip(files, both, strict=True):
        lines(f"{name}: {group}: {score.words}" for group, score in done.scores.items())


def _figures(run: Run, done: _Replayed) -> dict[str, object]:
    score = done.scores.get(run.group)
    return {**asdict(run.tally), **({} if score is None else {"score": score.plain()})}


def _figure(figure: float) -> str:
    return f"{round(figure, 1):,.10g}"


def _level(slo: float | None, drain: str | None, capacity: float | None, *, json: bool) -> ServiceLevel | None:
    from handler.replay.load import ServiceLevel

    if slo is None:
        return None
    if not 0 < slo <= (capacity or 0.0):
        fail("--slo: expected a rate above 0 and at most --capacity", USAGE, json=json)
    return ServiceLevel(each=slo, drain=None if drain is None else span_of(drain, json=json))


def _boots(text: str, *, json: bool) -> BootTimes:
    from handler.replay.members import BootTimes

    return BootTimes(tuple(span_of(each, json=json) for each in text.split(",")))


def _feeds(texts: Sequence[str], *, json: bool) -> Mapping[CounterId, Feed]:
    from config.units import CounterId
    from handler.replay.load import Feed

    feeds: dict[CounterId, Feed] = {}
    for text in texts:
        name, _, shows = text.partition("=")
        words = [feed.value for feed in Feed]
        if not name or (shows and shows not in words):
            fail(f"--feed {text}: expected COUNTER={' or COUNTER='.join(words)}", USAGE, json=json)
        feeds[CounterId(name)] = Feed(shows or Feed.UTILISATION.value)
    return feeds
