"""What clients look up before they make something: zones, templates, offerings and rules, users, accounts and domains.

Nothing here asks the cloud: that would show every user what the operator's key sees (ADR 0051). Zones and rules are
those of the file. A template or an offering is known if its zone names it, or if a profile that the caller sees does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from config.model.catalogue import CloudstackRecipe
from config.model.sections import Section
from config.units import ProfileId
from handler.cloudstack_api.call import Call, ListResult
from handler.cloudstack_api.faults import unknown_id
from handler.cloudstack_api.owners import shown_owner, wanted_accounts
from handler.cloudstack_api.rendering import Shown
from handler.cloudstack_api.view import View, shown_time
from handler.identity.accounts import CloudStackRole, cloudstack_role, line_of, path_of
from handler.ports.identity import StoredUser

_ACCOUNT_TYPES: Mapping[CloudStackRole, int] = {
    CloudStackRole.USER: 0,
    CloudStackRole.ROOT_ADMIN: 1,
    CloudStackRole.DOMAIN_ADMIN: 2,
}


async def zones(call: Call) -> ListResult:
    """Carry out listZones."""
    found: list[Shown] = [
        {
            "id": zone_id,
            "name": zone.name or zone_id,
            "networktype": "Advanced",
            "allocationstate": "Enabled",
            "securitygroupsenabled": False,
            "localstorageenabled": False,
        }
        for zone_id, zone in call.view.api.zones.items()
    ]
    return ListResult(kind="zone", objects=_asked(call, found))


async def templates(call: Call) -> ListResult:
    """Carry out listTemplates. One that several zones have is listed for each."""
    names = {zone_id: zone.templates for zone_id, zone in call.view.api.zones.items()}
    found: list[Shown] = []
    for zone_id, template, name in _of_zones(call.view, names, "template"):
        zone = call.view.api.zones.get(zone_id)
        found.append(
            {
                "id": template,
                "name": name,
                "displaytext": name,
                "zoneid": zone_id,
                "zonename": zone.name or zone_id if zone is not None else zone_id,
                "isready": True,
            }
        )
    return ListResult(kind="template", objects=_asked(call, found, "zoneid"))


async def offerings(call: Call) -> ListResult:
    """Carry out listServiceOfferings. One that several zones have is listed once: it is the whole cloud's."""
    names = {zone_id: zone.offerings for zone_id, zone in call.view.api.zones.items()}
    zone = call.arguments.text("zoneid")
    known = {
        offering: name
        for zone_id, offering, name in _of_zones(call.view, names, "offering")
        if zone is None or zone_id == zone
    }
    found: list[Shown] = [
        {"id": offering, "name": name, "displaytext": name, "iscustomized": False, "state": "Active"}
        for offering, name in known.items()
    ]
    return ListResult(kind="serviceoffering", objects=_asked(call, found))


async def rules(call: Call) -> ListResult:
    """Carry out listLoadBalancerRules."""
    found: list[Shown] = [
        {
            "id": rule_id,
            "name": rule.name,
            "publicip": rule.public_ip,
            "publicport": None if rule.public_port is None else str(rule.public_port),
            "privateport": str(rule.port),
            "state": "Active",
        }
        for rule_id, rule in call.view.api.rules.items()
    ]
    return ListResult(kind="loadbalancerrule", objects=_asked(call, found))


async def users(call: Call) -> ListResult:
    """Carry out listUsers: those of accounts that are the caller's, and the caller."""
    view, name = call.view, call.arguments.text("username")
    wanted = wanted_accounts(call.arguments, view.by, view.accounts)
    found = [
        _shown_user(view, user)
        for user in view.users.users()
        if (user.name == view.by.name or view.by.grants.holds(user.account))
        and (wanted is None or user.account in wanted)
        and name in {None, user.display_name}
    ]
    return ListResult(kind="user", objects=_asked(call, found, keyed="username"))


async def accounts(call: Call) -> ListResult:
    """Carry out listAccounts: the caller's own, and those that are the caller's to administer."""
    view = call.view
    wanted = wanted_accounts(call.arguments, view.by, view.accounts)
    found: list[Shown] = [
        {
            "id": account.uuid,
            "name": account.id,
            **{name: value for name, value in shown_owner(view.accounts, account.id).items() if name != "account"},
            "state": "enabled",
            "created": shown_time(account.created_at),
        }
        for account in view.accounts.all()
        if (account.id == view.by.account or view.by.grants.holds(account.id))
        and (wanted is None or account.id in wanted)
    ]
    return ListResult(kind="account", objects=_asked(call, found))


async def domains(call: Call) -> ListResult:
    """Carry out listDomains: those of the caller's accounts, and those above them."""
    view = call.view
    own = [each for each in view.accounts.all() if each.id == view.by.account or view.by.grants.holds(each.id)]
    known = {domain for account in own for domain in line_of(account.domain, view.accounts.domains)}
    found: list[Shown] = [
        {
            "id": domain.uuid,
            "name": domain.id,
            "path": path_of(domain.id, view.accounts.domains),
            "level": len(line_of(domain.id, view.accounts.domains)) - 1,
            "state": "Active",
        }
        for domain in view.accounts.domains.values()
        if domain.id in known
    ]
    return ListResult(kind="domain", objects=_asked(call, found))


def _shown_user(view: View, user: StoredUser) -> Shown:
    account = view.accounts.named(user.account)
    return {
        "id": user.uuid,
        "username": user.display_name,
        "accountid": None if account is None else account.uuid,
        "accounttype": _ACCOUNT_TYPES[cloudstack_role(user.role, user.account)],
        **shown_owner(view.accounts, user.account),
        "state": "enabled" if user.disabled_at is None else "disabled",
        "created": shown_time(user.created_at),
    }


def _of_zones(view: View, names: Mapping[str, Mapping[str, str]], part: str) -> Iterator[tuple[str, str, str]]:
    """Yield zone, id and name of what the file names, and then of what visible profiles name besides."""
    seen = set[tuple[str, str]]()
    for zone_id, by_id in names.items():
        for each, name in by_id.items():
            seen.add((zone_id, each))
            yield zone_id, each, name
    for profile in view.ids(Section.PROFILES):
        recipe = view.catalogue.profiles[ProfileId(profile)].recipe
        if isinstance(recipe, CloudstackRecipe) and (recipe.zone, getattr(recipe, part)) not in seen:
            seen.add((recipe.zone, getattr(recipe, part)))
            yield recipe.zone, getattr(recipe, part), getattr(recipe, part)


def _asked(call: Call, found: Iterable[Shown], *filters: str, keyed: str = "name") -> list[Shown]:
    """Keep what a request asks for.

    Raises:
        CloudstackFault: it names an id that nothing has.
    """
    arguments, keyword = call.arguments, (call.arguments.text("keyword") or "").lower()
    kept = [
        each
        for each in found
        if all(arguments.text(name) in {None, each.get(name)} for name in ("id", "name", *filters))
        and keyword in str(each[keyed]).lower()
    ]
    wanted = arguments.text("id")
    if wanted is not None and not kept:
        raise unknown_id(arguments.command.envelope, "id", wanted)
    return kept
