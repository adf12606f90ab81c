"""The routes that read: groups with their explanations and history, and the daemon's other records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from config.units import AccountId, CounterId, GroupId, Instant, MemberName
from handler.operations.account_operations import shown_account, shown_domain
from handler.operations.facade import Operations
from handler.operations.key_operations import shown_key_pair
from handler.operations.size_tags import size_tag
from handler.operations.user_operations import shown_token, shown_user
from handler.planning.garbage import Item
from handler.ports.alerts import StoredHook
from handler.ports.stored import EVERY_KIND, EventKind, TickSpan
from handler.web.description import api_router
from handler.web.group_answers import answer_about
from handler.web.needs import (
    CHECKS_HOOKS,
    EXAMINES,
    MANAGES_USERS,
    READS,
    READS_ACCOUNT,
    READS_ALL,
    READS_AUDIT,
    READS_OWN,
    SEES_SEAL,
    TUNES,
    grants_of,
)
from handler.web.pages.windows import RECENT
from handler.web.paging import CURSOR, Paged, chosen, key_in, link_to, listed
from handler.web.render import Json, plain, probed_plain
from handler.what_if.member_question import SHOWN
from trigger.explain.explanation import Explanation
from trigger.explain.measure_words import say_range
from trigger.explain.words import say

_SIZE = ("group", "desired", "minimum", "maximum", "forced", "revision")
_UNTIL = Query(description="With at: show the decision taken from at until just before this instant.")
_THOSE = "Only these; left out: those that were farthest from the others."
_LAST = 1e11
_Hook = Annotated[str | None, Query(max_length=64, description="The webhook; left out: one with every permission.")]


def reading_routes(operations: Operations) -> Iterator[APIRouter]:
    """Make the routes."""
    for some in (_groups, _looks, _definitions, _daemon, _webhooks, _users, _accounts, _audit):
        yield some(operations)


def _groups(operations: Operations) -> APIRouter:
    routes = api_router(tags=["reading"], dependencies=[READS])

    @routes.get("/groups")
    async def groups(request: Request, paging: Paged) -> JSONResponse:
        grants = grants_of(request)
        own = [status for status in operations.status() if grants.sees(status.group)]
        return listed(request, paging, own, lambda status: (status.group,))

    @routes.get("/groups/{group}")
    async def group(group: str) -> Response:
        return answer_about(operations.group(GroupId(group)))

    @routes.get("/groups/{group}/size")
    async def size(group: str) -> JSONResponse:
        status = operations.group(GroupId(group))
        sizes = {name: getattr(status, name) for name in _SIZE}
        return JSONResponse(sizes, headers={"ETag": size_tag(status.revision, status.desired)})

    @routes.get("/groups/{group}/forecasts")
    async def forecasts(group: str) -> JSONResponse:
        return JSONResponse(plain(operations.forecasts.shown(GroupId(group))))

    @routes.get("/groups/{group}/members")
    async def members(request: Request, group: str, paging: Paged) -> JSONResponse:
        return listed(request, paging, operations.group(GroupId(group)).members, lambda member: (member.name,))

    @routes.get("/groups/{group}/values")
    async def values(
        group: str,
        counter: Annotated[str | None, Query(max_length=255, description="Left out: the first one.")] = None,
        since: Annotated[
            float | None, Query(ge=0, le=_LAST, description="Left out: half an hour before until.")
        ] = None,
        until: Annotated[float | None, Query(ge=0, le=_LAST, description="Left out: now.")] = None,
        member: Annotated[list[str] | None, Query(max_length=SHOWN, description=_THOSE)] = None,
    ) -> JSONResponse:
        end = operations.now() if until is None else Instant(until)
        time = (Instant(end - RECENT) if since is None else Instant(since), end)
        named = None if counter is None else CounterId(counter)
        found = await operations.courses.over(GroupId(group), named, time, [MemberName(name) for name in member or ()])
        return JSONResponse(plain(found))

    @routes.get("/groups/{group}/why")
    async def why(group: str, at: float | None = None, until: Annotated[float | None, _UNTIL] = None) -> JSONResponse:
        known = GroupId(group)
        return JSONResponse(await (_now(operations, known) if at is None else _then(operations, known, at, until)))

    return routes


async def _now(operations: Operations, group: GroupId) -> dict[str, Json]:
    """Return the last decision, and the group's present problems."""
    found = await operations.why(group, None)
    explanation = found.first if isinstance(found, TickSpan) else found
    shown = _explained(group, explanation)
    if explanation is not None:
        status = operations.group(group)
        shown["misses"] = list(operations.misses(group))
        shown["doubts"] = list(operations.doubts(group))
        shown["quota"] = status.quota
        shown["messages"] = list(status.messages)
    if isinstance(found, TickSpan):
        shown["span"] = _span(found)
    return shown


async def _then(operations: Operations, group: GroupId, at: float, until: float | None) -> dict[str, Json]:
    """Return the decision at an instant, or in the time from ``at`` until just before ``until``."""
    end = max(until if until is not None else at, math.nextafter(at, math.inf))
    found = await operations.recall(group, Instant(at), Instant(end))
    shown = _explained(group, None if found.span is None else found.span.first)
    shown["began"] = found.began
    shown["others"] = list(found.others)
    shown["events"] = plain(found.events)
    if found.span is not None:
        shown["span"] = _span(found.span)
    return shown


def _explained(group: GroupId, explanation: Explanation | None) -> dict[str, Json]:
    if explanation is None:
        return {"group": group, "words": ["Nothing has been evaluated yet."], "explanation": None}
    return {"group": group, "words": list(say(explanation, explanation.at)), "explanation": plain(explanation)}


def _span(span: TickSpan) -> Json:
    """Return a span of equal ticks: their number, and the range of each aggregate."""
    ranges: list[Json] = [
        {
            "counter": each.counter,
            "across": each.across,
            "aggregate": each.aggregate,
            "window": each.window,
            "unit": each.unit,
            "least": least,
            "greatest": greatest,
        }
        for each, least, greatest in span.moved
    ]
    words = dict.fromkeys(say_range(each, least, greatest) for each, least, greatest in span.moved)
    return {
        "first_at": span.first_at,
        "last_at": span.last_at,
        "ticks": span.ticks,
        "ranges": ranges,
        "words": [f"meanwhile: {sentence}" for sentence in words],
    }


def _looks(operations: Operations) -> APIRouter:
    """Make the routes whose data must be fetched first."""
    routes = api_router(tags=["reading"])

    @routes.get("/groups/{group}/probe", dependencies=[EXAMINES])
    async def probe(group: str, counter: Annotated[list[str] | None, Query(max_length=50)] = None) -> JSONResponse:
        counters = [CounterId(name) for name in counter or ()]
        return JSONResponse(probed_plain(await operations.probe(GroupId(group), counters)))

    @routes.get("/groups/{group}/history", dependencies=[READS])
    async def history(  # noqa: PLR0913, PLR0917  # the query's parameters
        request: Request,
        group: str,
        before: float | None = None,
        since: Annotated[float | None, Query(description="Only events from this instant on.")] = None,
        limit: Annotated[int, Query(ge=1, le=1000)] = 50,
        kind: Annotated[list[EventKind] | None, Query(description="Only these kinds; all if left out.")] = None,
        cursor: Annotated[str | None, CURSOR] = None,
    ) -> JSONResponse:
        if cursor is not None:
            before = float(key_in(cursor, request.url.path, (0.0,))[0])
        at = Instant(before) if before is not None else None
        kinds = EVERY_KIND if kind is None else frozenset(kind)
        found = await operations.history(GroupId(group), before=at, limit=limit, kinds=kinds)
        shown = tuple(event for event in found if since is None or event.at >= since)
        follow = len(found) >= limit and len(shown) == len(found)
        link = {"Link": link_to(request, (shown[-1].at,), limit)} if follow else None
        return JSONResponse(plain(shown), headers=link)

    return routes


def _definitions(operations: Operations) -> APIRouter:
    routes = api_router()

    @routes.get("/groups/{group}/definitions", tags=["reading"], dependencies=[READS])
    async def definitions(request: Request, group: str, paging: Paged) -> JSONResponse:
        found = await operations.rolling.revisions(GroupId(group))
        return listed(request, paging, found, lambda each: (-each.number,))

    @routes.get("/groups/{group}/settings", tags=["declarations"], dependencies=[TUNES])
    async def settings(request: Request, group: str) -> JSONResponse:
        return JSONResponse(plain(await operations.settings.current(GroupId(group), grants_of(request))))

    @routes.get("/groups/{group}/canary", tags=["declarations"], dependencies=[TUNES])
    async def canary(request: Request, group: str) -> JSONResponse:
        return JSONResponse(plain(await operations.canaries.status(GroupId(group), grants_of(request))))

    @routes.get("/groups/{group}/balancers", tags=["reading"], dependencies=[READS])
    async def behind(request: Request, group: str, paging: Paged) -> JSONResponse:
        found = await operations.balancers.behind(GroupId(group))
        return listed(request, paging, found, lambda each: (each.balancer, each.port))

    @routes.get("/recording", tags=["recording"], dependencies=[READS_ALL])
    async def status() -> JSONResponse:
        return JSONResponse(plain(await operations.recording()))

    return routes


def _daemon(operations: Operations) -> APIRouter:
    routes = api_router(tags=["acts"])

    @routes.get("/endpoints", dependencies=[READS_ALL])
    async def endpoints(request: Request, paging: Paged) -> JSONResponse:
        return listed(request, paging, operations.endpoints(), lambda each: (each.endpoint,))

    @routes.get("/pause", dependencies=[READS_OWN])
    async def stopped() -> JSONResponse:
        return JSONResponse({"fleet_pause": plain(operations.pauses.fleet_pause())})

    @routes.get("/store", dependencies=[READS_ALL])
    async def status() -> JSONResponse:
        return JSONResponse(plain(operations.stores.status()))

    @routes.get("/cluster", dependencies=[READS_ALL])
    async def cluster() -> JSONResponse:
        return JSONResponse(plain(operations.cluster.status()))

    @routes.get("/garbage", dependencies=[EXAMINES])
    async def look(request: Request, paging: Paged, group: str | None = None) -> JSONResponse:
        found = await operations.garbage.shown(grants_of(request), None if group is None else GroupId(group))
        now, unseen = operations.now(), [each.words for each in found.unseen]
        shown, link = chosen(
            request, paging, found.items, lambda each: (each.group, each.kind.value, each.name, each.where)
        )
        return JSONResponse({"garbage": [_aged(item, now) for item in shown], "unseen": unseen}, 200, link)

    return routes


def _aged(item: Item, now: Instant) -> Json:
    answer = plain(item)
    age = None if item.since is None else max(now - item.since, 0.0)
    return {**answer, "age": age} if isinstance(answer, dict) else answer


def _webhooks(operations: Operations) -> APIRouter:
    routes = api_router(tags=["webhooks"])

    @routes.get("/hooks", dependencies=[READS_OWN])
    async def hooks(request: Request, paging: Paged) -> JSONResponse:
        own = operations.webhooks.seen_by(grants_of(request))
        shown, link = chosen(request, paging, own, lambda hook: (hook.name,))
        return JSONResponse([_without_tokens(hook) for hook in shown], headers=link)

    @routes.post("/hooks/check", dependencies=[CHECKS_HOOKS])
    async def check(request: Request, hook: _Hook = None) -> JSONResponse:
        reply = await operations.webhooks.check_alerts(await request.body(), hook)
        return JSONResponse({"status": reply.status, **reply.body})

    return routes


def _users(operations: Operations) -> APIRouter:
    routes = api_router(tags=["users"])

    @routes.get("/users", dependencies=[MANAGES_USERS])
    async def users(request: Request, paging: Paged) -> JSONResponse:
        found, link = chosen(request, paging, operations.users.all(grants_of(request)), lambda user: (user.name,))
        shown = [plain(shown_user(user)) for user in found]
        return JSONResponse({"anonymous": plain(operations.users.anonymous()), "users": shown}, 200, link)

    @routes.get("/tokens", dependencies=[MANAGES_USERS])
    async def tokens(request: Request, paging: Paged, user: str | None = None) -> JSONResponse:
        own = operations.users.tokens(user, grants_of(request))
        found, link = chosen(request, paging, own, lambda token: (token.user, token.name))
        return JSONResponse([plain(shown_token(token)) for token in found], headers=link)

    @routes.get("/keys", dependencies=[MANAGES_USERS])
    async def keys(request: Request, paging: Paged, user: str | None = None) -> JSONResponse:
        own = operations.keys.pairs(user, grants_of(request))
        found, link = chosen(request, paging, own, lambda pair: (pair.user, pair.name))
        shown = [plain(shown_key_pair(pair, opens=operations.keys.opens(pair))) for pair in found]
        return JSONResponse(shown, headers=link)

    @routes.get("/seal", dependencies=[SEES_SEAL])
    async def seal() -> JSONResponse:
        return JSONResponse(plain(operations.keys.seal()))

    return routes


def _accounts(operations: Operations) -> APIRouter:
    """Make the routes of accounts and the domains that they are in. A caller sees its own."""
    routes, known = api_router(tags=["users"]), operations.accounts

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


def _audit(operations: Operations) -> APIRouter:
    routes = api_router(tags=["users"], dependencies=[READS_AUDIT])

    @routes.get("/audit")
    async def audit(
        request: Request,
        after: Annotated[int, Query(ge=0, le=2**62, description="Only rows with a greater number.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 100,
        cursor: Annotated[str | None, CURSOR] = None,
    ) -> JSONResponse:
        if cursor is not None:
            after = int(key_in(cursor, request.url.path, (0,))[0])
        rows = await operations.trail.after(after, limit)
        link = {"Link": link_to(request, (rows[-1].number,), limit)} if len(rows) == limit else None
        return JSONResponse([{"row": dict(row.fields), "digest": row.digest} for row in rows], headers=link)

    return routes


def _without_tokens(hook: StoredHook) -> Json:
    """Return a webhook without its tokens."""
    return {
        "name": hook.name,
        "groups": plain(hook.groups),
        "effects": plain(hook.effects),
        "directions": plain(hook.directions),
        "push": hook.pushes,
        "policy": hook.policy,
        "observe": hook.observes,
        "signed": hook.hmac_secret is not None,
        "rotating": hook.old_token is not None,
        "created_at": hook.created_at,
        "revoked_at": hook.revoked_at,
        "last_used_at": hook.last_used_at,
    }
