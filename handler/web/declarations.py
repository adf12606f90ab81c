"""The routes that read what is declared, and changes of it as JSON. Secrets are shown to who may change them."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from config.document.entities import Entity
from config.document.statement import veiled
from config.model.sections import Section
from handler.engine.declaring import Redeclared
from handler.identity.rights import Verb
from handler.operations.declaration_admin import DeclaredEntry
from handler.operations.facade import Operations
from handler.ports.declarations import EntityChange, EntityRevision
from handler.web.conditional import body_tag
from handler.web.description import api_router
from handler.web.needs import READS_ENTITY, READS_OWN_ACCOUNT, TUNES_OWN_ACCOUNT, grants_of
from handler.web.paging import Paged, Paging, chosen
from handler.web.render import Json, plain


def declaration_routes(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes = api_router(tags=["declarations"])
    declarations = operations.declarations

    def entries(request: Request, paging: Paging, found: tuple[DeclaredEntry, ...]) -> JSONResponse:
        shown, headers = chosen(request, paging, found, lambda each: (each.section.value, each.id))
        return JSONResponse([_entry(each, whole=_tunes(request)) for each in shown], headers=headers)

    @routes.get("/declarations", dependencies=[READS_OWN_ACCOUNT])
    async def everything(request: Request, paging: Paged) -> JSONResponse:
        return entries(request, paging, declarations.all(grants_of(request)))

    @routes.get("/declarations/document", dependencies=[TUNES_OWN_ACCOUNT])
    async def document(request: Request) -> JSONResponse:
        return JSONResponse(plain(declarations.document(grants_of(request))))

    @routes.get("/declarations/revisions", dependencies=[READS_OWN_ACCOUNT])
    async def revisions(request: Request, paging: Paged) -> JSONResponse:
        found = await declarations.revisions(grants_of(request))
        shown, headers = chosen(request, paging, found, lambda each: (-each.number,))
        return JSONResponse([_revision(each, whole=_tunes(request)) for each in shown], headers=headers)

    @routes.get("/declarations/{section}", dependencies=[READS_OWN_ACCOUNT])
    async def section_of(request: Request, section: Section, paging: Paged) -> JSONResponse:
        return entries(request, paging, declarations.all(grants_of(request), section))

    @routes.get("/declarations/{section}/{id}", dependencies=[READS_ENTITY])
    async def one(request: Request, section: Section, id: str) -> JSONResponse:
        entry = declarations.one(section, id)
        response = JSONResponse(_entry(entry, whole=_tunes(request)))
        if entry.revision is not None:
            response.headers["ETag"] = body_tag(bytes(response.body), f"{entry.revision}.")
        return response

    return routes


def _tunes(request: Request) -> bool:
    return Verb.TUNE in grants_of(request).verbs


def _entry(entry: DeclaredEntry, *, whole: bool) -> Json:
    shown = dict(entry.declared)
    return {
        "section": entry.section.value,
        "id": entry.id,
        "name": entry.name,
        "owner": entry.owner,
        "account": entry.account,
        "at": entry.at,
        "revision": entry.revision,
        "declared": plain(shown if whole else veiled(shown, (entry.section.value, entry.id))),
        "quarantined": list(entry.quarantined),
        "used_by": list(entry.used_by),
    }


def _revision(revision: EntityRevision, *, whole: bool) -> Json:
    return {
        "number": revision.number,
        "at": revision.at,
        "by": revision.by,
        "origin": revision.origin,
        "restored": revision.restored,
        "changes": [_change(each, whole=whole) for each in revision.changes],
    }


def _change(change: EntityChange, *, whole: bool) -> dict[str, Json]:
    return {**_named(change), "before": _side(change.before, whole=whole), "after": _side(change.after, whole=whole)}


def _named(change: EntityChange) -> dict[str, Json]:
    section, name = change.key
    act = "added" if change.before is None else "removed" if change.after is None else "changed"
    return {"section": section, "id": name, "act": act}


def _side(entity: Entity | None, *, whole: bool) -> Json:
    if entity is None:
        return None
    shown = dict(entity.body)
    return {"name": entity.name, "declared": plain(shown if whole else veiled(shown, entity.key))}


def redeclared(done: Redeclared) -> Json:
    """Return what a change did or would do; values that may be secrets are left out."""
    return {
        "dry_run": done.dry_run,
        "revision": done.revision,
        "problems": plain(done.problems),
        "entities": [{**_named(each), "name": each.name} for each in done.changes],
        "edits": plain(done.edits),
        "groups": plain(done.groups),
    }
