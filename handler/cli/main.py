"""The command line. A command imports what it needs when it runs, so that `trimtab --help` is quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal
from urllib.parse import urlencode

import typer

from config.units import GroupId
from handler.cli.account import account, domain
from handler.cli.advise import advise
from handler.cli.apply import apply
from handler.cli.audit import audit
from handler.cli.balancers import attach, balancers, detach
from handler.cli.check import check
from handler.cli.cluster import cluster
from handler.cli.commands import Commands, Program
from handler.cli.completion import completion
from handler.cli.counters import counters
from handler.cli.credentials import token
from handler.cli.declare import declare
from handler.cli.doctor import doctor
from handler.cli.eval import evaluate
from handler.cli.export import export
from handler.cli.forecast import forecast
from handler.cli.freeze import freeze, unfreeze
from handler.cli.garbage import garbage
from handler.cli.hook import hook
from handler.cli.imports import imports
from handler.cli.member import member
from handler.cli.names import group_names
from handler.cli.probe import probe
from handler.cli.record import record
from handler.cli.replay import replay
from handler.cli.roll import definitions, roll, rollback
from handler.cli.run import run
from handler.cli.seal import seal
from handler.cli.settings import settings
from handler.cli.snapshot import plan, snapshot
from handler.cli.store import backup, restore, store
from handler.cli.terminal import (
    DONE,
    PROBLEMS,
    USAGE,
    AsJson,
    Group,
    Since,
    State,
    Until,
    act,
    asked_instant,
    directory,
    fail,
    get,
    instant,
    lines,
    outcome,
    perform,
    print_json,
    read,
    resize,
    show,
)
from handler.cli.tune import tune
from handler.cli.user import user

if TYPE_CHECKING:
    from trigger import verdicts


class _ByTask(Commands):
    """The commands of Trimtab, by a person's task."""

    tasks: ClassVar[Mapping[str, Sequence[str]]] = {
        "See and understand": ("status", "why", "history", "probe", "observe", "doctor", "garbage"),
        "Change sizes and members": (
            "scale",
            "pause",
            "resume",
            "freeze",
            "unfreeze",
            "converge",
            "member",
            "attach",
            "detach",
            "balancers",
            "delete",
        ),
        "Write and try a declaration": (
            "check",
            "counters",
            "eval",
            "replay",
            "tune",
            "advise",
            "forecast",
            "plan",
            "snapshot",
            "import",
        ),
        "Roll out a change": ("reload", "apply", "settings", "declare", "definitions", "roll", "rollback"),
        "Record and export": ("record", "export"),
        "Run the daemon": ("run", "cluster", "demo", "hook", "backup", "restore", "store", "seal", "completion"),
        "Say who may do what": ("user", "token", "account", "domain", "audit"),
    }


app = Program(
    "Keeps fleets of virtual machines at the right size for their load, and explains every decision.", _ByTask
)
app.add_typer(member, name="member")
app.add_typer(hook, name="hook")
app.add_typer(cluster, name="cluster")
app.add_typer(user, name="user")
app.add_typer(declare, name="declare")
app.add_typer(token, name="token")
app.add_typer(account, name="account")
app.add_typer(domain, name="domain")
app.add_typer(audit, name="audit")
app.add_typer(forecast, name="forecast")
app.add_typer(record, name="record")
app.add_typer(export, name="export")
app.add_typer(imports, name="import")
app.add_typer(store, name="store")
app.add_typer(seal, name="seal")
app.add_typer(settings, name="settings")
for _command in (
    run, backup, restore, attach, detach, balancers, check, doctor, probe, counters, garbage, replay, tune, advise,
    definitions, rollback, roll, snapshot, plan, completion, apply, freeze, unfreeze,
):  # fmt: skip
    app.command()(_command)
app.command("eval")(evaluate)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"trimtab {version('trimtab')}")
        raise typer.Exit(DONE)


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


AnyGroup = Annotated[str | None, typer.Argument(metavar="[GROUP]", help="One group.", autocompletion=group_names)]
Direction = Annotated[
    Literal["out", "in"] | None, typer.Option("--direction", help="Only scale-outs, or only scale-ins.")
]


@app.command()
def reload(state: State = None, json: AsJson = False) -> None:
    """Make the daemon read its file again. With any problem, it keeps its earlier declaration."""
    from handler.cli.edit_text import end_reload
    from handler.operations.group_operations import ReloadFile

    end_reload(*outcome(state, json, ReloadFile()), json=json)


@app.command()
def status(
    group: AnyGroup = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Show every group in a line, or one group with its members; of a worker of several shards, those of all."""
    from handler.cli.shards import shards_below

    shards = () if group else shards_below(directory(state))
    if shards:
        _show_groups_of(shards, json=json)
        return
    parts = ("groups", group) if group else ("groups",)
    answer = read(state, json, *parts)
    from handler.cli.tables import group_page, groups_table

    show(group_page(answer) if group else groups_table(answer, get(state, json, "endpoints")))


def _show_groups_of(shards: Sequence[Path], *, json: bool) -> None:
    """Show the groups of each shard. Exits with a problem if one does not answer."""
    from handler.cli.shards import answers_of
    from handler.cli.tables import groups_table

    found = answers_of(shards, "groups")
    endpoints = {} if json else answers_of([shard for shard in shards if not found[shard][1]], "endpoints")
    wrong = {shard.name: problem for shard, (_, problem) in found.items() if problem}
    if json:
        print_json([{"shard": shard.name, **each} for shard, (groups, _) in found.items() for each in groups or ()])
    for shard, (groups, problem) in found.items():
        if not json and not problem:
            lines([f"{shard.name}:"])
            show(groups_table(groups, endpoints[shard][0] or ()))
    lines([f"{shard}: {problem}" for shard, problem in wrong.items()], err=True)
    raise typer.Exit(PROBLEMS if wrong else DONE)


@app.command()
def why(
    group: Group,
    at: Annotated[
        str | None,
        typer.Option("--at", help="An instant as history prints it, a time ago such as -5m, or epoch seconds."),
    ] = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Explain the last decision, or the decision at an instant.

    An instant without seconds means that minute, and one without a fraction that second.
    """
    query, asked = asked_instant(at, json=json) if at is not None else ("", None)
    answer = read(state, json, "groups", group, "why", query=query)
    from handler.cli.why_text import why_lines

    lines(why_lines(answer, asked))


@app.command()
def history(  # noqa: PLR0913, PLR0917  # an option each
    group: Group,
    limit: Annotated[
        int | None,
        typer.Option(min=1, max=1000, show_default="30; 1000 with --since", help="The most events, newest first."),
    ] = None,
    decisions: Annotated[bool, typer.Option("--decisions", help="Decisions about the size only.")] = False,
    since: Since = None,
    until: Until = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """List decisions, steps and people's operations, newest first."""
    most = limit or (30 if since is None else 1000)
    asked: list[tuple[str, object]] = [("limit", most)]
    asked += [("kind", "decision")] if decisions else []
    asked += [("since", instant(since, json=json))] if since is not None else []
    asked += [("before", instant(until, json=json))] if until is not None else []
    answer = read(state, json, "groups", group, "history", query=f"?{urlencode(asked)}")
    from handler.cli.tables import history_table
    from handler.cli.time_format import moment_text

    show(history_table(answer))
    if since is not None and len(answer) >= most:
        lines([f"only the newest {most}: for older ones, --until {moment_text(answer[-1]['at'])}"], err=True)


@app.command()
def scale(
    group: Group,
    size: Annotated[int, typer.Argument(metavar="N", min=0, help="How many members.")],
    force: Annotated[bool, typer.Option("--force", help="Go outside the bounds.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Set the desired size."""
    from handler.operations.size_operations import ScaleGroup

    resize(group, state, json, ScaleGroup(group=GroupId(group), size=size, force=force))


Fleet = Annotated[bool, typer.Option("--all", help="All groups, also those declared later.")]


@app.command()
def pause(  # noqa: PLR0913, PLR0917  # an option each
    group: AnyGroup = None,
    fleet: Fleet = False,
    decisions: Annotated[bool, typer.Option("--decisions", help="Stop decisions only; repair goes on.")] = False,
    direction: Direction = None,
    because: Annotated[str, typer.Option("--because", help="With --all: why, shown wherever the pause is.")] = "",
    state: State = None,
    json: AsJson = False,
) -> None:
    """Stop decisions and convergence, or changes in one direction. Evaluations go on; running calls finish."""
    from handler.operations.size_operations import PauseFleet, PauseGroup

    _check_named(group, fleet, json)
    if because and not fleet:
        fail("--because needs --all: for one group, the history names the person", USAGE, json=json)
    message, one = f"{group or 'the whole fleet'}: {_way(direction)}paused", _direction(direction)
    if group is None:
        act(state, json, PauseFleet(decisions_only=decisions, direction=one, because=because), message=message)
    else:
        act(state, json, PauseGroup(group=GroupId(group), decisions_only=decisions, direction=one), message=message)


@app.command()
def resume(
    group: AnyGroup = None,
    fleet: Fleet = False,
    direction: Direction = None,
    state: State = None,
    json: AsJson = False,
) -> None:
    """End a pause, or only that of one direction. A pause of all groups and those of single groups end separately."""
    from handler.operations.size_operations import ResumeFleet, ResumeGroup

    _check_named(group, fleet, json)
    message, one = f"{group or 'the whole fleet'}: {_way(direction)}resumed", _direction(direction)
    one_or_all = ResumeFleet(direction=one) if group is None else ResumeGroup(group=GroupId(group), direction=one)
    act(state, json, one_or_all, message=message)


def _check_named(group: str | None, fleet: bool, json: bool) -> None:
    if group is None and not fleet:
        fail("name a group, or use --all for all groups", USAGE, json=json)
    if group is not None and fleet:
        fail(f"{group} is one group, and --all means all groups: leave one of the two out", USAGE, json=json)


def _direction(word: str | None) -> verdicts.Direction | None:
    from trigger import verdicts

    return None if word is None else verdicts.Direction(word)


def _way(direction: str | None) -> str:
    return f"scale-{direction} " if direction else ""


@app.command()
def converge(
    group: Group,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the steps.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Gather from the cloud and the balancers, plan, and execute the plan now.

    It also confirms that many members have vanished at once, if they are missing from the listing.
    """
    from handler.operations.group_operations import ConvergeGroup

    answer = perform(state, json, ConvergeGroup(group=GroupId(group), dry_run=dry_run))
    from handler.operations.plan_text import plan_lines

    lines(plan_lines(answer))


@app.command()
def observe(group: Group, state: State = None, json: AsJson = False) -> None:
    """Show what the cloud and the balancers list now. Changes nothing."""
    from handler.operations.group_operations import ObserveGroup

    answer = perform(state, json, ObserveGroup(group=GroupId(group)))
    from handler.cli.tables import world_table

    show(world_table(answer))


@app.command()
def delete(
    group: Group,
    members: Annotated[bool, typer.Option("--members", help="Remove its members first.")] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Forget a group that is no longer declared; its members stay unless --members is given."""
    from handler.operations.group_operations import DeleteGroup

    message = (
        f"{group}: members are being removed" if members else f"{group}: forgotten; its members are left as they are"
    )
    act(state, json, DeleteGroup(group=GroupId(group), members=members), message=message)
