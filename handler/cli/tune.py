"""`trimtab tune`: which thresholds, durations, windows, steps and quiet times would have done better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handler.cli.past import (
    FittingBoot,
    FittingDrain,
    GroupNames,
    Limit,
    Past,
    PastEvents,
    PastSeries,
    Pictures,
    chosen_groups,
    declared_file,
    recording_of,
    require_kinds,
    require_limit,
    span_of,
    tell_refused,
    write_out,
    write_pictures,
)
from handler.cli.progress import progress
from handler.cli.terminal import DONE, PROBLEMS, USAGE, AsJson, File, Since, State, Until, fail, lines, refusals

if TYPE_CHECKING:
    from config.units import GroupId
    from handler.tuning.outcomes import Goal, Outcome
    from handler.tuning.parameters import Parameter
    from handler.tuning.preparing import DeclaredFile, Recording
    from handler.tuning.results import Tuning
    from handler.tuning.trials import Fitting, TrialGround
    from handler.tuning.trying import Tried


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """What to try, from the options."""

    section: str | None
    """``conditions`` or ``policies``; ``None``: all that the groups use."""
    name: str | None
    sweeps: Sequence[str]
    trials: int
    scheduler: str | None
    """Where settings are tried; ``None``: here."""
    fitting: Fitting
    limit: float | None
    goal: Goal | None

    def chosen(self, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        """Leave those parameters that are to be tuned."""
        from config.errors import Refused
        from handler.tuning.goals import swept

        inside = tuple(
            each for each in parameters if self.section is None or each.where[:2] == (self.section, self.name)
        )
        if not inside:
            what = "the file" if self.name is None else f"{self.name}"
            raise Refused(f"{what} writes down no threshold, duration, window, step or quiet time of the group")
        return swept(inside, self.sweeps) if self.sweeps else inside


def tune(  # noqa: PLR0913, PLR0917  # an option each
    file: File,
    groups: GroupNames = None,
    series: PastSeries = None,
    events: PastEvents = None,
    condition: Annotated[
        str | None, typer.Option("--condition", metavar="NAME", help="Tune this condition alone.")
    ] = None,
    policy: Annotated[str | None, typer.Option("--policy", metavar="NAME", help="Tune this policy alone.")] = None,
    sweeps: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            metavar="[KEY=]LOW..HIGH[:STEP]",
            help="Instead of a search, try these values of the condition or policy; may be repeated.",
        ),
    ] = None,
    goals: Annotated[
        list[str] | None,
        typer.Option("--goal", metavar="GOAL", help="over SPAN/day or changes N/day. Left out: over as today."),
    ] = None,
    limit: Limit = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="OTHER", help="Try this file's setting, too.")
    ] = None,
    trials: Annotated[int, typer.Option("--trials", min=20, max=10_000, help="Settings of a search.")] = 120,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Try them on the workers of a dask scheduler: tcp://HOST:PORT or tls://HOST:PORT.",
            show_default=False,
        ),
    ] = None,
    boot: FittingBoot = "60s",
    drain: FittingDrain = None,
    since: Since = None,
    until: Until = None,
    out: Pictures = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Find settings that would have done better over the past, and the lines of the file to change for each."""
    if (condition is not None and policy is not None) or (sweeps and condition is None and policy is None):
        fail("--sweep goes with --condition NAME or --policy NAME, and these do not go together", USAGE, json=json)
    require_kinds(out or (), json=json)
    require_limit(limit, json=json)
    from handler.tuning.goals import goal_of
    from handler.tuning.trials import Fitting

    past = Past(series=series, events=events, since=since, until=until, state=state, json=json)
    with refusals(json):
        search = _Search(
            section=None if condition is policy is None else "conditions" if condition is not None else "policies",
            name=policy if condition is None else condition,
            sweeps=tuple(sweeps or ()),
            trials=trials,
            scheduler=scheduler,
            fitting=Fitting(boot=span_of(boot, json=json), drain=None if drain is None else span_of(drain, json=json)),
            limit=limit,
            goal=goal_of(goals or ()),
        )
        declared = declared_file(file)
        chosen = chosen_groups(declared.catalogue, groups or ())
        recording, caveats = recording_of(declared.catalogue, chosen, past)
        grounds, refused = _grounds(declared, chosen, recording, search)
        other = {} if against is None else _against(declared_file(against), grounds)
        tunings = _tuned(grounds, search, other)
        _tell(declared, tunings, refused, json=json)
        for path in out or ():
            _write(path, tunings, json=json)
    lines(dict.fromkeys([*caveats, *_caveats(grounds)]), err=True)
    raise typer.Exit(PROBLEMS if refused else DONE)


def _grounds(
    declared: DeclaredFile, groups: Sequence[GroupId], recording: Recording, search: _Search
) -> tuple[Mapping[GroupId, TrialGround], Mapping[GroupId, str]]:
    """Prepare groups; return those that can be tuned, and the reasons of the others."""
    from config.errors import TrimtabError
    from handler.tuning.preparing import ground_of

    grounds: dict[GroupId, TrialGround] = {}
    refused: dict[GroupId, str] = {}
    for group in groups:
        try:
            grounds[group] = ground_of(declared, group, recording, search.chosen, search.fitting, search.limit)
        except TrimtabError as error:
            refused[group] = str(error)
    return grounds, refused


def _against(other: DeclaredFile, grounds: Mapping[GroupId, TrialGround]) -> Mapping[GroupId, Outcome]:
    """Try what another file says of the same groups."""
    from dataclasses import replace

    from handler.tuning.copies import TunedGroup
    from handler.tuning.trials import outcome_of, runs_of

    found: dict[GroupId, Outcome] = {}
    for group, ground in grounds.items():
        if group in other.catalogue.groups:
            tuned = TunedGroup(reading=other.reading, catalogue=other.catalogue, group=group, parameters=())
            ground_there = replace(ground, tuned=tuned)
            found[group] = outcome_of(ground_there, runs_of(ground_there, [()])[0])
    return found


def _tuned(grounds: Mapping[GroupId, TrialGround], search: _Search, against: Mapping[GroupId, Outcome]) -> list[Tuning]:
    from handler.tuning.results import tuning_of
    from handler.tuning.searching import by_search, by_sweep

    parameters = {group: ground.tuned.parameters for group, ground in grounds.items()}
    with _trying(grounds, search.scheduler) as tried, progress("trying settings") as tell:
        found = (
            by_sweep(parameters, tried, tell) if search.sweeps else by_search(parameters, search.trials, tried, tell)
        )
    return [
        tuning_of(
            group,
            ground.tuned.parameters,
            found[group],
            limit=ground.limit.words,
            span=ground.load.span,
            goal=search.goal,
            against=against.get(group),
        )
        for group, ground in grounds.items()
    ]


def _trying(grounds: Mapping[GroupId, TrialGround], scheduler: str | None) -> AbstractContextManager[Tried]:
    from handler.tuning.trying import trying

    if scheduler is None or not grounds:
        return trying(grounds)
    from handler.tuning.remote import trying_at

    return trying_at(scheduler, grounds)


def _tell(declared: DeclaredFile, tunings: Sequence[Tuning], refused: Mapping[GroupId, str], *, json: bool) -> None:
    from handler.cli.terminal import print_json
    from handler.cli.tune_text import overview, plain, tuning_page

    for number, tuning in enumerate(tunings):
        if json:
            print_json(plain(declared, tuning))
        else:
            lines([""] if number else [])
            tuning_page(declared, tuning)
    if len(tunings) > 1 and not json:
        overview(tunings)
    tell_refused(refused, json=json)


def _write(path: Path, tunings: Sequence[Tuning], *, json: bool) -> None:
    """Write the table of all groups, or a picture of each: of several, the name has the group."""
    from handler.tuning.pictures import frontier_picture
    from handler.tuning.results import table

    if path.suffix == ".csv":
        write_out(path, table(tunings).to_csv(index=False).encode(), json=json)
        return
    write_pictures(path, {tuning.group: frontier_picture(tuning) for tuning in tunings}, json=json)


def _caveats(grounds: Mapping[GroupId, TrialGround]) -> list[str]:
    from handler.tuning.preparing import caveats_of

    return [caveat for ground in grounds.values() for caveat in caveats_of(ground)]
