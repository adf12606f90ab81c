"""The routes that read accounts and the domains that they are in. A caller sees its own."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from config.units import AccountId
from handler.operations.account_operations import shown_account, shown_domain
from handler.operations.facade import Operations
from handler.web.needs import READS_ACCOUNT, READS_OWN, grants_of
from handler.web.paging import Paged, chosen
from handler.web.render import plain


def account_routes(operations: Operations) -> APIRouter:
    """Make the routes."""
    routes, known = APIRouter(tags=["users"]), operations.accounts

    @routes.get("/accounts", dependencies=[READS_OWN])
    async def accounts(request: Request, paging: Paged) -> JSONResponse:
        found, link = chosen(request, paging, known.all(grants_of(request)), lambda each: (each.account.id,))
        return JSONResponse([plain(shown_account(each)) for each in found], headers=link)

    @routes.get("/accounts/{account}", dependencies=[READS_ACCOUNT])
    async def account(account: str) -> JSONResponse:
        return JSONResponse(plain(shown_account(known.account(AccountId(account)))))

    @routes.get("/domains", dependencies=[READS_OWN])
    async def domains(request: Request, paging: Paged) -> JSONResponse:
        found, link = chosen(request, paging, known.domains(grants_of(request)), lambda each: (each.domain.id,))
        return JSONResponse([plain(shown_domain(each)) for each in found], headers=link)

    return routes
