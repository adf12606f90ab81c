"""Listings of Neutron and Cinder, page by page.

Both services begin a page after the entry whose id the request gives. Their order does not change when entries are
added, so an entry that exists throughout the reading is never left out.

Note [The entry that went]: if that entry is gone by then, Neutron refuses for ports, but shows an empty last page for
floating addresses. So an empty page counts only while the entry before it exists.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass

from collector.clients.openstack.connection import OpenstackConnection
from collector.clients.openstack.parsing import Page, page_of
from config.errors import DriverError, Transient

_PAGES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedEntries:
    """Entries, and why these may be incomplete."""

    entries: tuple[object, ...]
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """An object type that can be listed."""

    service: str
    """Its type in the catalogue."""
    path: str
    """With or without a query."""
    key: str
    """The answer's key for the list; ``KEY_links`` shows whether there is more."""
    one: str
    """The path above single entries."""


def read_whole(connection: OpenstackConnection, collection: Collection, query: Mapping[str, str]) -> PagedEntries:
    """Read a listing to its end. ``query`` filters it; it may show more all the same.

    Raises:
        DriverError: not even the first page can be read.
    """
    read: list[object] = []
    marker = ""
    for _ in range(_PAGES):
        asked = urllib.parse.urlencode({**query, **({"marker": marker} if marker else {})})
        sign = "&" if "?" in collection.path else "?"
        try:
            page = _page(connection, collection, f"{collection.path}{sign if asked else ''}{asked}")
            if marker and not page.entries:  # Note [The entry that went]
                connection.ask(collection.service, "GET", f"{collection.one}/{marker}")
        except DriverError as error:
            if not marker:
                raise
            return PagedEntries(entries=tuple(read), because=str(error))
        read += page.entries
        if not page.marker:
            return PagedEntries(entries=tuple(read))
        if page.marker == marker:
            break
        marker = page.marker
    return PagedEntries(entries=tuple(read), because=f"{connection.id}: the listing of {collection.key} does not end")


def _page(connection: OpenstackConnection, collection: Collection, path: str) -> Page:
    page = page_of(connection.ask(collection.service, "GET", path).body, collection.key)
    if page is None:
        raise Transient(f"{connection.id}: {collection.key}: the answer cannot be read")
    return page
