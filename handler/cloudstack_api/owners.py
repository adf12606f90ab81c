"""Whose an entity is, as clients of CloudStack see accounts and domains."""

from __future__ import annotations

from collections.abc import Mapping

from config.units import AccountId, DomainId
from handler.cloudstack_api.faults import CloudstackFault, FaultCode, unknown_id, wrong
from handler.cloudstack_api.parameters import Arguments
from handler.cloudstack_api.rendering import Shown
from handler.identity.accounts import CloudStackRole, Domain, cloudstack_role, path_of
from handler.identity.actors import Actor
from handler.identity.rights import UserRole, Verb
from handler.users.accounts import KnownAccounts


def is_root_admin(by: Actor) -> bool:
    """Tell whether a caller is a root admin: it has every right for the whole installation."""
    role = UserRole.ADMIN if Verb.USERS in by.grants.verbs else UserRole.TUNER
    is_whole = by.grants.groups is None
    return is_whole and cloudstack_role(role, by.account) is CloudStackRole.ROOT_ADMIN


def shown_owner(accounts: KnownAccounts, account: AccountId) -> Shown:
    """Return the fields of an answer that say whose an entity is."""
    found = accounts.named(account)
    if found is None:
        return {"account": account}
    domain = accounts.domains[found.domain]
    return {
        "account": found.id,
        "domainid": domain.uuid,
        "domain": domain.id,
        "domainpath": path_of(domain.id, accounts.domains),
    }


def wanted_accounts(arguments: Arguments, by: Actor, accounts: KnownAccounts) -> frozenset[AccountId] | None:
    """Return the accounts whose entities a list shows; ``None``: every one that the caller may see.

    Raises:
        CloudstackFault: the account or the domain is none, or the parameters contradict each other.
    """
    account, domain = arguments.text("account"), _domain(arguments, accounts.domains)
    if arguments.text("projectid") is not None:
        _refuse_projects(arguments)
        return frozenset()
    if account is not None:
        found = accounts.named(AccountId(account))
        within = domain if domain is not None else _own_domain(by, accounts)
        if found is None or found.domain != within or not by.grants.holds(found.id):
            raise wrong(f"Unable to find account {account} in domain {arguments.text('domainid') or within}")
        return frozenset({found.id})
    if domain is not None:
        path, is_deep = path_of(domain, accounts.domains), arguments.flag("isrecursive") is True
        paths = ((each.id, path_of(each.domain, accounts.domains)) for each in accounts.all())
        return frozenset(entity_id for entity_id, at in paths if at == path or (is_deep and at.startswith(path + "/")))
    return None if arguments.flag("listall") or arguments.text("id") is not None else frozenset({by.account})


def refuse_another_owner(arguments: Arguments, by: Actor) -> None:
    """Refuse to make an entity for another account than the caller's.

    Raises:
        CloudstackFault: the parameters ask for that, or for a project.
    """
    _refuse_projects(arguments)
    account = arguments.text("account")
    if account is not None and arguments.text("domainid") is None:
        raise wrong("Account and domainid must be specified together")
    if account is not None and account != by.account:
        text = f"an entity is made for the account of the user whose key signs, {by.account}: use a key of {account}"
        raise CloudstackFault(FaultCode.ACCOUNT, text)


def _refuse_projects(arguments: Arguments) -> None:
    project = arguments.text("projectid")
    if project is None or project == "-1":
        return
    if arguments.text("account") is not None:
        raise wrong("account and projectid cannot be specified together")
    raise unknown_id(arguments.command.envelope, "projectid", project)


def _domain(arguments: Arguments, domains: Mapping[DomainId, Domain]) -> DomainId | None:
    wanted = arguments.text("domainid")
    if wanted is None:
        return None
    found = next((domain.id for domain in domains.values() if domain.uuid == wanted), None)
    if found is None:
        raise unknown_id(arguments.command.envelope, "domainid", wanted)
    return found


def _own_domain(by: Actor, accounts: KnownAccounts) -> DomainId | None:
    own = accounts.named(by.account)
    return None if own is None else own.domain
