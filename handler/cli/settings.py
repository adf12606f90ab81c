"""`trimtab settings`: the thresholds, durations, windows, steps and quiet times of a group, applied and taken back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from config.units import GroupId
from handler.cli.commands import Program
from handler.cli.terminal import USAGE, AsJson, Group, State, act, fail, lines, perform, read

Row = dict[str, Any]

settings = Program("Thresholds, durations, windows, steps and quiet times of a group: apply others, and go back.")


@settings.command("show")
def shown(group: Group, state: State = None, json: AsJson = False) -> None:
    """Show what can be changed of a group, and what was applied last."""
    answer = read(state, json, "groups", group, "settings")
    lines(f"{name}: {value}" for name, value in answer["values"].items())
    if answer["applied"] is not None:
        lines(_applied_lines(answer["applied"]))


@settings.command("apply")
def apply(
    group: Group,
    values: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="Such as conditions.busy.above=70.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Declare other values, all of them or none: over the API, or in the file where it says writable: true."""
    from handler.operations.setting_operations import ApplySettings

    wanted = _values(values or (), json=json)
    lines(_done_lines(perform(state, json, ApplySettings(group=GroupId(group), values=wanted, dry_run=dry_run))))


@settings.command("back")
def back(group: Group, state: State = None, json: AsJson = False) -> None:
    """Declare the values again that were there before others were applied, unless something else changed since."""
    from handler.operations.setting_operations import ReturnSettings

    lines(_done_lines(perform(state, json, ReturnSettings(group=GroupId(group)))))


@settings.command("canary")
def canary(  # noqa: PLR0913, PLR0917  # an option each
    group: Group,
    values: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="None: show how the canary stands.")
    ] = None,
    goals: Annotated[
        list[str] | None,
        typer.Option("--goal", metavar="GOAL", help="over SPAN/day or changes N/day. Left out: over as declared."),
    ] = None,
    switch: Annotated[
        bool, typer.Option("--switch", help="Apply the values once they are proposed: of the API, no easier scale-in.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Compare no more.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Compare values with the declared ones, each recorded day on simulated fleets, and propose the better."""
    from handler.operations.setting_operations import BeginCanary, EndCanary

    if stop:
        act(state, json, EndCanary(group=GroupId(group)), message=f"{group}: no more days are compared")
        return
    if values:
        wanted = _values(values, json=json)
        begun = BeginCanary(group=GroupId(group), values=wanted, goals=tuple(goals or ()), switches=switch)
        lines(_canary_lines(perform(state, json, begun)))
        return
    lines(_canary_lines(read(state, json, "groups", group, "canary")))


def _canary_lines(answer: Row) -> Iterator[str]:
    from handler.cli.time_format import moment_text

    canary, judgement = answer["canary"], answer["judgement"]
    if canary is None:
        yield f"{answer['group']}: no setting is compared"
        return
    values = ", ".join(f"{name}={value}" for name, value in canary["values"].items())
    yield f"{answer['group']}: {values}, since {moment_text(canary['at'])}, by {canary['by']}"
    for name, figures in (("declared", judgement["declared"]), ("tried", judgement["tried"])):
        yield (
            f"  {name}: {figures['hours']:.4g} member-hours, {figures['over']:.4g} minutes over, "
            f"{figures['changes']} changes"
        )
    yield f"{judgement['verdict']}: {judgement['because']}"
    if canary["problem"]:
        yield f"last: {canary['problem']}"


def _values(given: Sequence[str], *, json: bool) -> dict[str, str]:
    """Read NAME=VALUE. Exits if one of them is none."""
    pairs = [each.partition("=") for each in given] or [("", "", "")]
    for name, equals, value in pairs:
        if not (name and equals and value):
            fail(f"{name!r}: expected NAME=VALUE, such as conditions.busy.above=70", USAGE, json=json)
    return {name: value for name, _, value in pairs}


def _done_lines(answer: Row) -> Iterator[str]:
    """Yield what was changed; of a dry run what would be, and what the decision of the last tick would have been."""
    change = answer["change"]
    if change is None:
        yield "nothing changes: these values are declared"
        return
    if not answer["dry_run"]:
        yield answer["words"]
        yield from change["patch"] if change["by_hand"] else ()
        return
    yield from change["patch"]
    yield from change["over_api"]
    yield f"groups: {', '.join(change['groups'])}"
    if change["first"] is not None:
        yield f"the last tick: {change['first']['declared']}"
        yield f"with these values: {change['first']['changed']}"


def _applied_lines(applied: Row) -> Iterator[str]:
    from handler.cli.time_format import moment_text

    act = "went back to" if applied["is_return"] else "applied"
    place = "the file" if applied["revision"] is None else f"revision {applied['revision']}"
    yield f"{applied['by']} {act} these at {moment_text(applied['at'])} ({place}):"
    for value in applied["values"]:
        yield f"  {'.'.join(value['where'])}: {value['before']} → {value['after']}"
