"""`trimtab advise`: what a forecast, the present policies and the optimum would have come to over the past."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

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
from handler.cli.terminal import DONE, PROBLEMS, AsJson, File, Since, State, Until, lines, print_json, refusals, show

if TYPE_CHECKING:
    from config.units import GroupId
    from handler.tuning.advice import Advice, AdvisedFleet
    from handler.tuning.parameters import Parameter


def advise(  # noqa: PLR0913, PLR0917  # an option each
    file: File,
    groups: GroupNames = None,
    series: PastSeries = None,
    events: PastEvents = None,
    limit: Limit = None,
    boot: FittingBoot = "60s",
    drain: FittingDrain = None,
    since: Since = None,
    until: Until = None,
    out: Pictures = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Compare over the past: the recorded fleet, the file's policies, a forecast instead of them, and the optimum."""
    require_kinds(out or (), json=json)
    require_limit(limit, json=json)
    from handler.tuning.trials import Fitting

    past = Past(series=series, events=events, since=since, until=until, state=state, json=json)
    with refusals(json):
        fitting = Fitting(boot=span_of(boot, json=json), drain=None if drain is None else span_of(drain, json=json))
        declared = declared_file(file)
        chosen = chosen_groups(declared.catalogue, groups or ())
        recording, caveats = recording_of(declared.catalogue, chosen, past)
        from config.errors import TrimtabError
        from handler.tuning.advice import advice_of
        from handler.tuning.preparing import caveats_of, ground_of

        advices: list[Advice] = []
        refused: dict[GroupId, str] = {}
        messages: list[str] = list(caveats)
        with progress("replaying") as tell:
            for number, group in enumerate(chosen):
                try:
                    ground = ground_of(declared, group, recording, _nothing_tuned, fitting, limit)
                    advices.append(advice_of(ground))
                    messages += caveats_of(ground)
                except TrimtabError as error:
                    refused[group] = str(error)
                tell(number + 1, len(chosen))
        for advice in advices:
            _tell(advice, json=json)
        for path in out or ():
            _write(path, advices, json=json)
    tell_refused(refused, json=json)
    lines(dict.fromkeys(messages), err=True)
    raise typer.Exit(PROBLEMS if refused else DONE)


def _nothing_tuned(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """Leave the file's setting as it is."""
    return ()


def _tell(advice: Advice, *, json: bool) -> None:
    from config.units import format_span
    from handler.cli.columns import Column, table

    if json:
        print_json(
            {
                "group": advice.group,
                "seconds": advice.span,
                "limit": advice.limit,
                "fleets": {fleet.name: _plain(fleet) for fleet in advice.fleets},
            }
        )
        return
    lines([f"{advice.group}: the last {format_span(advice.span)}; over: {advice.limit}"])
    columns: list[Column[AdvisedFleet]] = [
        Column("FLEET", lambda fleet: fleet.name),
        Column("MEMBER-HOURS", lambda fleet: f"{fleet.hours:,.1f}"),
        Column("COST", lambda fleet: f"{fleet.score.cost:.3f}"),
        Column("LOAD OVER %", lambda fleet: f"{fleet.score.over:.3f}"),
        Column("MINUTES OVER", lambda fleet: f"{fleet.minutes:,.1f}"),
        Column("FLAPS A DAY", lambda fleet: f"{fleet.score.flaps:.1f}"),
        Column("Q", lambda fleet: f"{fleet.score.quality:.3f}"),
    ]
    show(table(columns, list(advice.fleets), nothing="no fleets"))


def _plain(fleet: AdvisedFleet) -> dict[str, float]:
    return {
        "member_hours": fleet.hours,
        "cost": fleet.score.cost,
        "over_percent": fleet.score.over,
        "over_minutes": fleet.minutes,
        "flaps_a_day": fleet.score.flaps,
        "q": fleet.score.quality,
    }


def _write(path: Path, advices: Sequence[Advice], *, json: bool) -> None:
    """Write the figures of all groups as a table, or a picture of each."""
    from handler.tuning.pictures import advice_picture

    if path.suffix != ".csv":
        write_pictures(path, {advice.group: advice_picture(advice) for advice in advices}, json=json)
        return
    import pandas as pd

    rows = [
        {"group": advice.group, "fleet": fleet.name, **_plain(fleet)} for advice in advices for fleet in advice.fleets
    ]
    write_out(path, pd.DataFrame(rows).to_csv(index=False).encode(), json=json)
