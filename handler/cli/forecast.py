"""`trimtab forecast`: what a forecast knows, and loads from before that it learns from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from handler.cli.commands import Program
from handler.cli.names import group_names
from handler.cli.past import Past, PastSeries, chosen_groups, declared_file, recording_of
from handler.cli.progress import progress
from handler.cli.terminal import (
    AsJson,
    File,
    Group,
    Since,
    State,
    Until,
    ask,
    lines,
    perform,
    print_json,
    read,
    refusals,
)

if TYPE_CHECKING:
    from handler.replay.forecast_loads import DayOfLoads
    from trigger.forecast.cohorts import Lane

forecast = Program("What a forecast knows; fill its history, and learn it again.")

_Group = Annotated[str, typer.Argument(metavar="GROUP", help="A group of the file.", autocompletion=group_names)]
_Policy = Annotated[
    str | None, typer.Option("--policy", metavar="POLICY", help="The policy with the forecast, if there are several.")
]


@forecast.command("import")
def import_(  # noqa: PLR0913, PLR0917  # an option each
    file: File,
    group: _Group,
    policy: _Policy = None,
    series: PastSeries = None,
    since: Since = None,
    until: Until = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Put recorded loads under a forecast of the running daemon, and have it learn from them.

    A step that the daemon measured keeps its own load. The group goes on by what the forecast knows until all is
    learned, which takes up to a minute or two for weeks of loads.
    """
    past = Past(series=series, events=None, since=since, until=until, state=state, json=json)
    with refusals(json):
        lane, days, caveats = _measured(file, group, policy, past)
        from handler.operations.group_operations import FillForecast, LearnForecast

        filled = 0
        with progress("sending") as note:
            for number, (at, loads) in enumerate(days, start=1):
                wanted = FillForecast(group=lane.group, policy=lane.policy, since=at, loads=loads)
                filled += ask(state, json, wanted)[1]["filled"]
                note(number, len(days))
        steps = ask(state, json, LearnForecast(group=lane.group, policy=lane.policy))[1]["steps"]
    if json:
        print_json({"group": lane.group, "policy": lane.policy, "days": len(days), "filled": filled, "steps": steps})
        return
    lines(caveats, err=True)
    typer.echo(
        f"{lane.group}: {filled} of {sum(len(loads) for _, loads in days)} loads of {len(days)} days were not measured "
        f"before; {lane.policy} learns from {steps} now"
    )


@forecast.command("show")
def show(group: Group, state: State = None, json: AsJson = False) -> None:
    """Show what the forecasts of a group know, what they say now, and why."""
    shown = read(state, json, "groups", group, "forecasts")
    for each in shown:
        notes = [note for note in ("advises", "learning") if each[note]]
        carries = "" if each["each"] is None else f": a member carries {each['each']:g}, as it is declared"
        standing = f" ({', '.join(notes)})" if notes else ""
        lines([f"{each['policy']}{standing}{carries}", *(f"  {sentence}" for sentence in each["words"])])
    if not shown:
        lines([f"{group} has no forecast"])


@forecast.command("learn")
def learn(
    group: Group,
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="The policy with the forecast.")],
    state: State = None,
    json: AsJson = False,
) -> None:
    """Forget what a forecast of the running daemon has learned, and learn it again from its loads."""
    from config.units import GroupId, PolicyId
    from handler.operations.group_operations import LearnForecast

    answer = perform(state, json, LearnForecast(group=GroupId(group), policy=PolicyId(policy)))
    typer.echo(f"{group}: {policy} learns from {answer['steps']} loads now")


def _measured(
    file: File, name: str, policy: str | None, past: Past
) -> tuple[Lane, tuple[DayOfLoads, ...], tuple[str, ...]]:
    """Return the forecast, its loads by days, and what the recording lacks.

    Raises:
        Refused: the file has no such forecast, or the recording has none of its loads.
        Unreplayable: the recording cannot be read.
    """
    declared = declared_file(file)
    (group,) = chosen_groups(declared.catalogue, [name])
    from config.errors import Refused
    from handler.replay.forecast_loads import days_of_loads, forecast_of

    lane = forecast_of(declared.catalogue, group, policy)
    recording, caveats = recording_of(declared.catalogue, [group], past)
    days = days_of_loads(declared.catalogue, lane, recording.ticks[group]) if group in recording.ticks else ()
    if not days:
        raise Refused(f"the recording has no load of group {group} for the forecast {lane.policy}")
    return lane, days, tuple(caveats)
