"""The one place that decides whether a caller may do something, for operations and for everything that reads."""

from __future__ import annotations

from typing import assert_never

from config.units import AccountId, GroupId
from handler.engine.engine import Engine
from handler.identity.actors import Actor, Way
from handler.identity.grants import Ruling
from handler.identity.rights import OnAccount, OnCredentials, OnEntity, OnGroups, OnUser, OnWebhook, Reach, Right, Verb
from handler.operations.lookup import NoSuch, nearest, no_group

UNAUTHORIZED = (
    "over TCP, changes and queries to members, clouds or balancers need 'Authorization: Bearer …' with the token of "
    "the state directory; the unix socket needs none"
)
UNAUTHORIZED_USER = (
    "this needs 'Authorization: Bearer …' with a user's token (trimtab token new); the unix socket needs none"
)


class Forbidden(Exception):
    """The caller lacks a right. Nothing was done."""


class Authorising:
    """Judges by a caller's grants and a request alone: whether a hidden group exists makes no difference."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def check(self, actor: Actor, right: Right) -> None:
        """Return if the actor has the right.

        Raises:
            NoSuch: what it names is not the actor's, so for this actor it does not exist.
            Forbidden: the actor lacks the verb, or rights for the whole installation.
        """
        match self._ruling(actor, right):
            case Ruling.ALLOWED:
                return
            case Ruling.HIDDEN:
                raise NoSuch(self._hidden(actor, right.on))
            case Ruling.FORBIDDEN:
                raise Forbidden(self._forbidden(actor, right))
            case unknown:
                assert_never(unknown)

    def allows(self, actor: Actor, right: Right) -> bool:
        """Tell whether the actor has the right."""
        return self._ruling(actor, right) is Ruling.ALLOWED

    def _ruling(self, actor: Actor, right: Right) -> Ruling:
        if actor.is_proved and right.on == OnCredentials(actor.name):
            return Ruling.ALLOWED
        return actor.grants.ruling(right, self._groups_of(right.on), self._account_of(actor, right.on))

    def _groups_of(self, reach: Reach) -> tuple[GroupId, ...] | None:
        """Return the groups of a webhook that is limited to some."""
        if not isinstance(reach, OnWebhook):
            return None
        hook = self._engine.ingest.hooks.named(reach.name)
        return None if hook is None else hook.groups or None

    def _account_of(self, actor: Actor, reach: Reach) -> AccountId | None:
        """Return the account that an actor means, or that has what it means; ``None``: there is none."""
        users = self._engine.users
        match reach:
            case OnAccount(account):
                wanted = actor.account if account is None else account
                return None if users.accounts.named(wanted) is None else wanted
            case OnUser(name) | OnCredentials(name):
                return users.account_of(name)
            case OnEntity(section, id):
                declared, key = self._engine.declared(), (section.value, id)
                is_known = key in declared.entities or key in declared.file.keys
                return declared.account_of(key) if is_known else None
            case _:
                return None

    def _hidden(self, actor: Actor, reach: Reach) -> str:
        if isinstance(reach, OnWebhook):
            hooks = self._engine.ingest.hooks.all()
            names = [hook.name for hook in hooks if actor.grants.covers(hook.groups or None)]
            return f"there is no webhook {reach.name}{nearest(reach.name, names)}"
        if isinstance(reach, OnAccount):
            wanted_account = reach.account or actor.account
            return f"there is no account {wanted_account}{nearest(wanted_account, actor.grants.accounts)}"
        if isinstance(reach, OnUser | OnCredentials):
            users = [user.name for user in self._engine.users.users() if actor.grants.holds(user.account)]
            return f"there is no user {reach.name}{nearest(reach.name, users)}"
        if isinstance(reach, OnEntity):
            known = self._engine.declared().entities.values()
            own = [each.id for each in known if each.section is reach.section and actor.grants.holds(each.account)]
            return f"{reach.section.value} has no {reach.id}{nearest(reach.id, own)}"
        wanted = sorted(reach.groups) if isinstance(reach, OnGroups) else []
        hidden = next((group for group in wanted if not actor.grants.sees(group)), "")
        return no_group(hidden, self._own(actor))

    def _own(self, actor: Actor) -> list[GroupId]:
        return [group for group in self._engine.runtimes if actor.grants.sees(group)]

    def _forbidden(self, actor: Actor, right: Right) -> str:
        if actor.origin.way is Way.NONE:
            return UNAUTHORIZED_USER if self._engine.users.exist else UNAUTHORIZED
        if right.verb in actor.grants.verbs:
            return (
                f"{actor.name} has the right {right.verb.value!r} for some groups only, and this concerns all of them"
            )
        return f"{actor.name} lacks the right {right.verb.value!r}: an admin can give a role or a token that has it"


def may(actor: Actor, verb: Verb) -> bool:
    """Tell whether the actor has a verb for every group and the daemon itself."""
    return actor.grants.groups is None and verb in actor.grants.verbs
