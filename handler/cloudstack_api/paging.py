"""Which part of a list one answer has. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from handler.cloudstack_api.faults import wrong
from handler.cloudstack_api.parameters import Given

PAGE_AT_MOST: Final = 500
"""What CloudStack calls ``default.page.size``."""
_ALL: Final = -1

_Item = TypeVar("_Item")


def page_of(items: Sequence[_Item], given: Given) -> Sequence[_Item]:
    """Return the part of a list that a request asks for.

    Raises:
        CloudstackFault: its page and size make no sense; the texts are CloudStack's.
    """
    page, size = given.number("page"), given.number("pagesize")
    if page is None and size == _ALL:
        return items
    if page is None and size is None:
        return items[:PAGE_AT_MOST]
    if page is None:
        raise wrong('"page" parameter is required when "pagesize" is specified')
    if size is None:
        raise wrong('"pagesize" parameter is required when "page" is specified')
    if size > PAGE_AT_MOST:
        raise wrong(f"Page size can't exceed max allowed page size value: {PAGE_AT_MOST}")
    if page < 1 or size < 1:
        raise wrong("page and pagesize must be greater than 0")
    return items[(page - 1) * size : page * size]
