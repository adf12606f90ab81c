"""What each reading route needs: a verb, and what the route shows. `build` mounts no route without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from fastapi import Depends, Request
from fastapi.openapi.models import HTTPBase
from fastapi.security.base import SecurityBase

from config.model.sections import Section
from config.units import AccountId, GroupId
from handler.identity.actors import Actor
from handler.identity.grants import READING, Grants
from handler.identity.rights import (
    INSTALLATION,
    OWN,
    OWN_ACCOUNT,
    OnAccount,
    OnEntity,
    OnUser,
    Reach,
    Right,
    Verb,
    on_groups,
)
from handler.operations.authorising import Authorising, Forbidden
from handler.operations.lookup import NoSuch
from handler.users.attempts import RefusedAttempts
from handler.users.sessions import Session
from handler.web.gate import ACTOR, SESSION

BEARER, ANYONE = "bearer", "anyone"
"""Schemes of security: a credential is needed; or only if requests without one may not read (`trimtab user init`)."""


Named: TypeAlias = Callable[[Mapping[str, str]], Reach]
"""Returns what the parameters of a path name."""


def _account(path: Mapping[str, str]) -> Reach:
    return OnAccount(AccountId(path["account"]))


def _user(path: Mapping[str, str]) -> Reach:
    return OnUser(path["user"])


def _entity(path: Mapping[str, str]) -> Reach:
    try:
        return OnEntity(Section(path["section"]), path["id"])
    except ValueError:
        return OWN_ACCOUNT  # there is no such section, which the route tells


class Needs(SecurityBase):
    """A dependency of a route: the caller is refused unless it has the verb for what the route shows."""

    def __init__(self, verb: Verb, reach: Reach | Named | None = None) -> None:
        self.model, self.scheme_name = HTTPBase(scheme="bearer"), ANYONE if verb in READING.verbs else BEARER
        self.verb = verb
        self.reach = reach
        """Or how to find it in a path; ``None``: the group in the path, or the one in the query; without one, whatever
        is the caller's."""

    def right(self, path: Mapping[str, str], group: str | None = None) -> Right:
        """Return the right that a request needs which names these things in its path, and this group, or none."""
        if callable(self.reach):
            return Right(self.verb, self.reach(path))
        if self.reach is not None:
            return Right(self.verb, self.reach)
        return Right(self.verb, OWN if group is None else on_groups((GroupId(group),)))

    async def __call__(self, request: Request) -> None:
        """Check the caller. Raises `NoSuch` and `Forbidden`."""
        authorising: Authorising = request.app.state.authorising
        group = request.path_params.get("group", request.query_params.get("group"))
        try:
            authorising.check(actor_of(request), self.right(request.path_params, group))
        except (Forbidden, NoSuch) as error:
            attempts: RefusedAttempts = request.app.state.attempts
            attempts.note(actor_of(request), f"{request.method} {request.url.path}", str(error))
            raise


def actor_of(request: Request) -> Actor:
    """Return the actor that sent a request, as the gate knows it."""
    actor: Actor = request.scope[ACTOR]
    return actor


def session_of(request: Request) -> Session | None:
    """Return the session that a request's actor comes from; ``None``: it comes from none."""
    session: Session | None = request.scope.get(SESSION)
    return session


def grants_of(request: Request) -> Grants:
    """Return what the actor may do."""
    return actor_of(request).grants


READING_GROUP = Needs(Verb.READ)
READS = Depends(READING_GROUP)
READS_OWN = Depends(Needs(Verb.READ, OWN))
READS_ACCOUNT = Depends(Needs(Verb.READ, _account))
READS_ALL = Depends(Needs(Verb.READ, INSTALLATION))
EXAMINES = Depends(Needs(Verb.EXAMINE))
MEASURES = Depends(Needs(Verb.METRICS))
CHECKS_HOOKS = Depends(Needs(Verb.HOOKS, INSTALLATION))
KEEPS_HOOKS = Depends(Needs(Verb.HOOKS, OWN))
READS_AUDIT = Depends(Needs(Verb.AUDIT, INSTALLATION))
READS_OWN_ACCOUNT = Depends(Needs(Verb.READ, OWN_ACCOUNT))
READS_ENTITY = Depends(Needs(Verb.READ, _entity))
TUNES = Depends(Needs(Verb.TUNE))
TUNES_ENTITY = Depends(Needs(Verb.TUNE, _entity))
TUNES_OWN_ACCOUNT = Depends(Needs(Verb.TUNE, OWN_ACCOUNT))
SEES_SEAL = Depends(Needs(Verb.USERS, INSTALLATION))
MANAGES_USERS = Depends(Needs(Verb.USERS, OWN_ACCOUNT))
MANAGES_USER = Depends(Needs(Verb.USERS, _user))
