"""`trimtab attach`, `detach` and `balancers`: the balancers of a running group."""

from __future__ import annotations

from typing import Annotated

import typer

from config.units import BalancerId, GroupId
from handler.cli.terminal import AsJson, Group, State, lines, perform, read

Name = Annotated[str, typer.Argument(metavar="BALANCER", help="A balancer's name.")]


def attach(
    group: Group,
    balancer: Name,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="The port at which members serve.")],
    state: State = None,
    json: AsJson = False,
) -> None:
    """Attach all members of a group, present and future, to one more balancer; or none of them, with the reason."""
    from handler.operations.group_operations import AttachBalancer

    answer = perform(state, json, AttachBalancer(group=GroupId(group), balancer=BalancerId(balancer), port=port))
    lines([f"{group}: attached to {balancer}; {_members(answer['members'])} to join it as soon as they are ready"])


def detach(
    group: Group,
    balancer: Name,
    force: Annotated[
        bool, typer.Option("--force", help="Detach even from a balancer that cannot be read, without draining.")
    ] = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Drain a group's members at a balancer and deregister them; they keep running. New members do not join it."""
    from handler.operations.group_operations import DetachBalancer

    answer = perform(state, json, DetachBalancer(group=GroupId(group), balancer=BalancerId(balancer), force=force))
    if warning := answer.get("warning"):
        lines([f"{group}: dropped {balancer}; its entries stay as they are (members: {answer['members']})"])
        lines([f"warning: {warning}"], err=True)
    else:
        lines([f"{group}: detached from {balancer}; {_members(answer['members'])} to leave it once drained"])


def balancers(group: Group, state: State = None, json: AsJson = False) -> None:
    """Show a group's balancers and who attached them."""
    answer = read(state, json, "groups", group, "balancers")
    if not answer:
        lines([f"{group} has no balancer"])
    for each in answer:
        lines([_line(each), *(f"  {part} {known}" for part, known in each["parts"].items())])


def _members(count: int) -> str:
    return f"{count} member is" if count == 1 else f"{count} members are"


def _line(behind: dict[str, object]) -> str:
    by = f"by {behind['by']}" if behind["by"] else "no new members"
    leaving = f", {behind['leaving']} about to leave it" if behind["leaving"] else ""
    return f"{behind['balancer']}: port {behind['port']}, {by}; members behind it: {behind['members']}{leaving}"
