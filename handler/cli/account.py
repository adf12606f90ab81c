"""`trimtab account` and `trimtab domain`: what users and declarations belong to."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from config.units import ROOT_DOMAIN, AccountId, DomainId
from handler.cli.commands import Program
from handler.cli.names import account_names, domain_names
from handler.cli.terminal import USAGE, AsJson, State, act, fail, lines, perform, read, show, words_of

account = Program("Accounts: what users and declarations over the API belong to, with quotas.")
domain = Program("Domains: a tree that accounts are in.")

Known = Annotated[str, typer.Argument(metavar="ACCOUNT", help="An account.", autocompletion=account_names)]
KnownDomain = Annotated[str, typer.Argument(metavar="DOMAIN", help="A domain.", autocompletion=domain_names)]
Inside = Annotated[str, typer.Option(metavar="DOMAIN", help="The domain that it is in.", autocompletion=domain_names)]
Groups = Annotated[int | None, typer.Option(min=0, help="The most groups that it may declare; default: any number.")]
_USES = "What of account root's it may name, such as profiles.web,balancers.edge: with what that needs."
Members = Annotated[
    int | None, typer.Option(min=0, help="The most that the max of its groups may add up to; default: any number.")
]
NewGroups = Annotated[int | None, typer.Option("--groups", min=0, help="The most groups that it may declare.")]
NewMembers = Annotated[
    int | None, typer.Option("--members", min=0, help="The most that the max of its groups may add up to.")
]
AnyGroups = Annotated[bool, typer.Option("--any-groups", help="It may declare any number of groups.")]
AnyMembers = Annotated[bool, typer.Option("--any-members", help="The max of its groups may add up to any number.")]


@account.command("add")
def add(  # noqa: PLR0913, PLR0917  # an option each
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the account; it never changes.")],
    domain: Inside = ROOT_DOMAIN,
    groups: Groups = None,
    members: Members = None,
    uses: Annotated[str, typer.Option(metavar="A,B", help=_USES)] = "",
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make an account."""
    from handler.operations.account_operations import AddAccount

    made = AddAccount(
        name=AccountId(name),
        domain=DomainId(domain),
        max_groups=groups,
        max_members=members,
        uses=words_of(uses),
    )
    act(state, json, made, message=f"{name}: added, in domain {domain}; a user: trimtab user add NAME --account {name}")


@account.command("list")
def list_(state: State = None, json: AsJson = False) -> None:
    """List accounts with their domains and quotas."""
    answer = read(state, json, "accounts")
    from handler.cli.user_tables import accounts_table

    show(accounts_table(answer))


@account.command("show")
def show_(name: Known, state: State = None, json: AsJson = False) -> None:
    """Show one account."""
    lines(_words(read(state, json, "accounts", name)))


@account.command("quota")
def quota(  # noqa: PLR0913, PLR0917  # an option each
    name: Known,
    groups: NewGroups = None,
    members: NewMembers = None,
    any_groups: AnyGroups = False,
    any_members: AnyMembers = False,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Change how much an account may declare; a limit that is left out stays."""
    from handler.operations.account_operations import SetQuota

    limits = {
        **_limit("groups", groups, lifted=any_groups, json=json),
        **_limit("members", members, lifted=any_members, json=json),
    }
    if not limits:
        fail("give a limit: --groups or --members, or lift one with --any-groups or --any-members", USAGE, json=json)
    after = perform(state, json, SetQuota(account=AccountId(name), **limits))["quota"]
    typer.echo(f"{name}: groups: {_bound(after['groups'])}; members: {_bound(after['members'])}")


@account.command("uses")
def uses(
    name: Known,
    entries: Annotated[str, typer.Argument(metavar="A,B", help=_USES)],
    state: State = None,
    json: AsJson = False,
) -> None:
    """Change what of the file's an account may name; an empty word: nothing."""
    from handler.operations.account_operations import SetUses

    act(
        state,
        json,
        SetUses(account=AccountId(name), uses=words_of(entries)),
        message=f"{name}: may use {entries or 'nothing'}",
    )


@account.command("delete")
def delete(name: Known, state: State = None, json: AsJson = False) -> None:
    """Delete an account that has nothing any more."""
    from handler.operations.account_operations import DeleteAccount

    act(state, json, DeleteAccount(account=AccountId(name)), message=f"{name}: deleted")


@domain.command("add")
def add_domain(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name for the domain; it never changes.")],
    parent: Annotated[
        str, typer.Option(metavar="DOMAIN", help="The domain that it is in.", autocompletion=domain_names)
    ] = ROOT_DOMAIN,
    state: State = None,
    json: AsJson = False,
) -> None:
    """Make a domain."""
    from handler.operations.account_operations import AddDomain

    act(state, json, AddDomain(name=DomainId(name), parent=DomainId(parent)), message=f"{name}: added, in {parent}")


@domain.command("list")
def list_domains(state: State = None, json: AsJson = False) -> None:
    """List domains."""
    answer = read(state, json, "domains")
    from handler.cli.user_tables import domains_table

    show(domains_table(answer))


@domain.command("delete")
def delete_domain(name: KnownDomain, state: State = None, json: AsJson = False) -> None:
    """Delete a domain that holds neither accounts nor domains."""
    from handler.operations.account_operations import DeleteDomain

    act(state, json, DeleteDomain(domain=DomainId(name)), message=f"{name}: deleted")


def _words(account: dict[str, Any]) -> list[str]:
    return [
        f"{account['account']}  {account['uuid']}",
        f"  domain   {account['path']}  {account['domain_uuid']}",
        f"  groups   {account['used']['groups']}, {_bound(account['quota']['groups'])}",
        f"  members  {account['used']['members']} (the sum of max), {_bound(account['quota']['members'])}",
        f"  may use  {', '.join(account['uses']) or 'nothing of the file'}",
    ]


def _limit(of: str, number: int | None, *, lifted: bool, json: bool) -> dict[str, int | None]:
    """Return the field of a limit that is given or lifted; none of one that stays. Exits for one that is both."""
    if number is not None and lifted:
        fail(f"--{of} sets a limit, and --any-{of} lifts it: leave one out", USAGE, json=json)
    return {f"max_{of}": number} if lifted or number is not None else {}


def _bound(number: int | None) -> str:
    return "any number" if number is None else f"at most {number}"
