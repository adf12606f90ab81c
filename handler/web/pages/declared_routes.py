"""``/declared``: what is declared, and forms that make, change, disable, enable and delete what the API declares.

Forms work without a script. Each is one operation of those that every interface uses: rights, checks, revisions and the
audit trail are what they are there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Final, cast

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup

from config.document.statement import veiled
from config.errors import Refused
from config.model.sections import Section
from config.units import AccountId, GroupId
from handler.engine.declaring import Redeclared
from handler.identity.actors import Actor
from handler.identity.rights import OWN_ACCOUNT, OnEntity, Right, Verb, on_groups
from handler.operations.declaration_admin import DeclaredEntry
from handler.operations.declaration_operations import Declare, DeleteDeclared, Redeclare
from handler.operations.facade import Operations
from handler.operations.registry import Operation, perform
from handler.operations.size_operations import PauseGroup, ResumeGroup
from handler.web.needs import READS_ENTITY, READS_OWN_ACCOUNT, TUNES_ENTITY, TUNES_OWN_ACCOUNT, actor_of, session_of
from handler.web.pages.declared import (
    EntityForm,
    Names,
    declared_page,
    document_page,
    form_page,
    href,
    text_of,
    texts_before,
)
from handler.web.pages.declared_fields import document_of
from handler.web.pages.frame import Visitor
from handler.web.pages.login_routes import LoginDesk
from handler.web.pages.revisions import REVISIONS, revisions_page
from handler.web.session_cookie import DECLARED, form_of
from trigger.requests import Pause

_SEE_OTHER: Final = 303
_CONFLICT: Final = 409
_NAMED: Final = (Section.COUNTERS, Section.CONDITIONS, Section.POLICIES, Section.PROFILES)
"""Sections whose entries other documents name."""


def build_declared(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes, desk = APIRouter(include_in_schema=False), _DeclaredDesk(operations)

    @routes.get(DECLARED, dependencies=[READS_OWN_ACCOUNT])
    async def everything(request: Request) -> Response:
        return await desk.everything(request)

    @routes.get(REVISIONS, dependencies=[READS_OWN_ACCOUNT])
    async def revisions(request: Request, before: Annotated[int | None, Query(ge=1, le=2**62)] = None) -> Response:
        return await desk.revisions(request, before)

    @routes.get(f"{DECLARED}/{{section}}/new", dependencies=[TUNES_OWN_ACCOUNT])
    async def blank(request: Request, section: Section) -> Response:
        return await desk.form(request, section, None)

    @routes.post(f"{DECLARED}/{{section}}/new", dependencies=[TUNES_OWN_ACCOUNT])
    async def make(request: Request, section: Section) -> Response:
        return await desk.sent(request, section, None)

    @routes.get(f"{DECLARED}/{{section}}/at/{{id}}", dependencies=[READS_ENTITY])
    async def one(request: Request, section: Section, id: str) -> Response:
        return await desk.form(request, section, operations.declarations.one(section, id))

    @routes.post(f"{DECLARED}/{{section}}/at/{{id}}", dependencies=[TUNES_ENTITY])
    async def change(request: Request, section: Section, id: str) -> Response:
        return await desk.sent(request, section, operations.declarations.one(section, id))

    return routes


class _DeclaredDesk:
    """Shows pages, and carries out what their forms say."""

    def __init__(self, operations: Operations) -> None:
        self._operations, self._desk = operations, LoginDesk(operations)

    async def everything(self, request: Request) -> Response:
        """Answer with all that is declared."""
        page = await asyncio.to_thread(self._listed, actor_of(request))
        return self._desk.framed("Declared · Trimtab", page, 200, visitor=visitor_of(request))

    async def revisions(self, request: Request, before: int | None) -> Response:
        """Answer with what was changed, revision by revision."""
        found = await self._operations.declarations.revisions(actor_of(request).grants)
        page = await asyncio.to_thread(revisions_page, found, before)
        return self._desk.framed("Revisions · Trimtab", page, 200, visitor=visitor_of(request))

    def _listed(self, actor: Actor) -> Markup:
        entries = self._operations.declarations.all(actor.grants)
        tunes = self._allows(actor, Right(Verb.TUNE, OWN_ACCOUNT))
        documents = {(each.section.value, each.id): _veiled(each) for each in entries}
        return declared_page(entries, tunes=tunes, documents=documents)

    async def form(
        self,
        request: Request,
        section: Section,
        entry: DeclaredEntry | None,
        *,
        message: str = "",
        texts: Mapping[str, str] | None = None,
    ) -> Response:
        """Answer with the form of an entity, or with the entity alone if the visitor cannot change it.

        Args:
            request: the visitor's.
            section: where the entity is, or is to be.
            entry: the entity; ``None``: a new one.
            message: why what was sent is refused; empty: nothing was sent.
            texts: what was sent, so that nothing has to be written twice; ``None``: as it is declared.
        """
        actor, status = actor_of(request), _CONFLICT if message else 200
        if entry is not None and (entry.owner == "file" or not self._allows(actor, _tuning(entry))):
            page = document_page(entry, _veiled(entry))
            return self._desk.framed(f"{entry.name} · Trimtab", page, status, visitor=visitor_of(request))
        form = EntityForm(
            section=section,
            entry=entry,
            texts=texts_before(section, entry) if texts is None else texts,
            names=await asyncio.to_thread(self._names, actor, actor.account if entry is None else entry.account),
            csrf=visitor_of(request).csrf,
            name="" if texts is None else texts.get("name", ""),
            message=message,
            group_state=self._group_state(actor, section, entry),
        )
        return self._desk.framed("Declared · Trimtab", form_page(form), status, visitor=visitor_of(request))

    async def sent(self, request: Request, section: Section, entry: DeclaredEntry | None) -> Response:
        """Carry out what a form says, or show it again with why not."""
        texts, actor = form_of(await request.body()), actor_of(request)
        act = texts.get("act")
        try:
            outcome = await perform(self._operations, _wanted(section, entry, texts), actor)
            if isinstance(outcome, Redeclared) and outcome.problems:
                raise Refused("; ".join(str(problem.message) for problem in outcome.problems[:3]))
        except Refused as error:
            return await self.form(request, section, entry, message=str(error), texts=texts if act == "save" else None)
        stays = entry is not None and act in {"disable", "enable"}
        return RedirectResponse(href(section, entry.id) if entry is not None and stays else DECLARED, _SEE_OTHER)

    def _names(self, actor: Actor, account: AccountId) -> Names:
        """Return what a document of an account may name: what the account has, and what it may use of the file."""
        entries = self._operations.declarations.all(actor.grants)
        uses = self._operations.users.known.accounts.account(account).uses
        own = [each for each in entries if each.account == account]
        return {
            section.value: {
                **{each.id: each.name for each in own if each.section is section},
                **{use.partition(".")[2]: "" for use in uses if use.startswith(f"{section.value}.")},
            }
            for section in _NAMED
        }

    def _group_state(self, actor: Actor, section: Section, entry: DeclaredEntry | None) -> str:
        if entry is None or section is not Section.GROUPS or entry.id not in self._operations.groups():
            return ""
        group = GroupId(entry.id)
        if not self._allows(actor, Right(Verb.PAUSE, on_groups((group,)))):
            return ""
        return "disabled" if self._operations.group(group).pause is Pause.ALL else "enabled"

    def _allows(self, actor: Actor, right: Right) -> bool:
        return self._operations.authorising.allows(actor, right)


def _wanted(section: Section, entry: DeclaredEntry | None, texts: Mapping[str, str]) -> Operation:
    """Return the operation that a form asks for.

    Raises:
        Refused: it asks for none, or its texts are no document.
    """
    if entry is None:
        return Declare(section=section, name=texts.get("name", "").strip(), declared=document_of(section, texts))
    tags = f'"{texts["revision"]}"' if texts.get("revision", "").isdecimal() else None
    match texts.get("act"):
        case "save":
            name = texts.get("name", "").strip()
            body = document_of(section, texts)
            return Redeclare(section=section, id=entry.id, declared=body, name=name, if_match=tags)
        case "delete":
            members = texts.get("members") == "on"
            return DeleteDeclared(section=section, id=entry.id, members=members, if_match=tags)
        case "disable" if section is Section.GROUPS:
            return PauseGroup(group=GroupId(entry.id))
        case "enable" if section is Section.GROUPS:
            return ResumeGroup(group=GroupId(entry.id))
        case _:
            raise Refused("the form does not say what to do: press one of its buttons")


def _veiled(entry: DeclaredEntry) -> str:
    """Return a document as everyone may see it."""
    shown = veiled(dict(entry.declared), (entry.section.value, entry.id))
    return text_of(cast("Mapping[str, object]", shown))


def _tuning(entry: DeclaredEntry) -> Right:
    return Right(Verb.TUNE, OnEntity(entry.section, entry.id))


def visitor_of(request: Request) -> Visitor:
    """Return who looks at a page that only those who are logged in can see."""
    session = session_of(request)
    return Visitor() if session is None else Visitor(name=session.user, csrf=session.csrf, actor=actor_of(request))
