"""Pages of a list: a caller that gives a ``limit`` gets so many items, and in ``Link`` the address of the next page.

A cursor holds the key of the last item of its page, not a number of items: what comes or goes in between moves nothing,
and an item that is there all the time is on exactly one page. Without a limit a list is whole, as it always was.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from heapq import nsmallest
from typing import Annotated, Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import JSONResponse

from handler.web.render import plain

T = TypeVar("T")
Key: TypeAlias = tuple[str | int | float, ...]
"""What items are sorted by; no two of a list have the same."""
_LONGEST = 1000
_USUAL = 100
"""Items of a page that is asked for by its cursor alone."""
_GREATEST = 2**62
"""Numbers beyond it do not fit into the store's integers."""
LIMIT = Query(ge=1, le=1000, description="Items of one page; Link in the answer has the next one. Left out: all.")
CURSOR = Query(max_length=_LONGEST, description="The cursor of a page, as Link has it.")


class BadCursor(Exception):
    """A cursor is not one of this list's."""


def cursor_of(path: str, key: Key) -> str:
    """Return the cursor after the item with this key, of the list at this path."""
    return base64.urlsafe_b64encode(json.dumps([_mark(path), *key]).encode()).decode().rstrip("=")


def key_in(cursor: str, path: str, like: Key) -> Key:
    """Return the key in a cursor, which has the types of ``like``.

    Raises:
        BadCursor: it was not made for the list at this path.
    """
    try:
        read = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        read = None
    kinds = [str, *map(type, like)]
    if not isinstance(read, list) or [type(each) for each in read] != kinds or not _is_ours(read, path):
        raise BadCursor("this cursor is not of this list: begin again without one")
    return tuple(read[1:])


def page(items: Iterable[T], key: Callable[[T], Key], limit: int, after: Key | None) -> tuple[list[T], Key | None]:
    """Return the items of a page in the order of their keys, and the key of its last if more follow.

    >>> page(["c", "a", "b"], lambda item: (item,), 2, None)
    (['a', 'b'], ('b',))
    >>> page(["c", "a", "b"], lambda item: (item,), 2, ("b",))
    (['c'], None)
    """
    found = nsmallest(limit + 1, (each for each in items if after is None or key(each) > after), key=key)
    shown = found[:limit]
    return shown, key(shown[-1]) if len(found) > limit else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """The page that a request asks for."""

    limit: int | None
    cursor: str | None


async def _paging(limit: Annotated[int | None, LIMIT] = None, cursor: Annotated[str | None, CURSOR] = None) -> Paging:
    return Paging(limit=_USUAL if limit is None and cursor is not None else limit, cursor=cursor)


Paged = Annotated[Paging, Depends(_paging)]


def chosen(
    request: Request, paging: Paging, items: Iterable[T], key: Callable[[T], Key]
) -> tuple[list[T], dict[str, str]]:
    """Return the items of the page that is asked for, and its headers. Raises `BadCursor`."""
    known = list(items)
    if paging.limit is None:
        return known, {}
    after = None
    if paging.cursor is not None:
        like = key(known[0]) if known else None
        after = None if like is None else key_in(paging.cursor, request.url.path, like)
    shown, following = page(known, key, paging.limit, after)
    return shown, {} if following is None else {"Link": link_to(request, following, paging.limit)}


def listed(request: Request, paging: Paging, items: Iterable[T], key: Callable[[T], Key]) -> JSONResponse:
    """Return a list, or the page of it that is asked for. Raises `BadCursor`."""
    shown, headers = chosen(request, paging, items, key)
    return JSONResponse(plain(tuple(shown)), headers=headers)


def link_to(request: Request, after: Key, limit: int) -> str:
    """Return the ``Link`` header of the page after an item (RFC 8288)."""
    kept: list[tuple[str, Any]] = [
        pair for pair in parse_qsl(request.url.query) if pair[0] not in {"cursor", "limit", "before", "after"}
    ]
    query = urlencode([*kept, ("limit", limit), ("cursor", cursor_of(request.url.path, after))])
    return f'<{request.url.path}?{query}>; rel="next"'


def _is_ours(read: list[Any], path: str) -> bool:
    return read[0] == _mark(path) and all(abs(each) <= _GREATEST for each in read if isinstance(each, int))


def _mark(path: str) -> str:
    return hashlib.blake2b(path.encode(), digest_size=6).hexdigest()
