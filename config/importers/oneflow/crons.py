"""Which recurrences OneFlow refuses. It reads them with parse-cron, which knows less than cron does. Pure.

A field is a list of ``*``, ``*/n``, ``a``, ``a-b`` and ``a-b/n``; names of months and days have three letters. There
are five fields, or six of which the last means nothing, or a word such as ``@daily``.

Source: parse-cron 0.1.4, ``parse_element`` and ``validate_source``; OneFlow asks it for the next time before it takes a
template, and refuses the template where that fails.
"""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
_NAMES: Final = re.compile("jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat")
_EVERY: Final = re.compile(r"\*(.[-+]?0*[1-9].*)?")  # what follows the number is not looked at
_SOME: Final = re.compile(r"[0-9]+(-[0-9]+(/0*[1-9][0-9]*)?)?")
_FROM: Final = re.compile(r"([0-9]+)/([0-9]+)")
_FIELDS: Final = ("a minute", "an hour", "a day of the month", "a month", "a day of the week")
_LAST: Final = (59, 23, 31, 12, 6)
_FEWEST, _MOST = 5, 6


def refusal(recurrence: str) -> str:
    """Say what of a recurrence OneFlow does not read; empty: it reads all of it.

    >>> refusal("0 9 * * mon-fri"), refusal("@daily"), refusal("*/5 8-18/2 1,15 * *")
    ('', '', '')
    >>> refusal("5/15 * * * *")
    "'5/15' as a minute; write '5-59/15'"
    >>> refusal("0 9 L * *"), refusal("0 9 * * 5#2")
    ("'L' as a day of the month", "'5#2' as a day of the week")
    >>> refusal("@reboot")
    'one field: it wants five'
    """
    if recurrence in _WORDS:
        return ""
    fields = re.split(r"\s+", recurrence.rstrip())
    if not _FEWEST <= len(fields) <= _MOST:
        return f"{'one field' if len(fields) == 1 else f'{len(fields)} fields'}: it wants five"
    for name, last, field in zip(_FIELDS, _LAST, fields, strict=False):
        for part in field.split(","):
            if field and not _is_read(part):
                return f"{part!a} as {name}{_instead(part, last)}"
    return ""


def _is_read(part: str) -> bool:
    plain = _NAMES.sub("0", part.lower())
    return _EVERY.fullmatch(plain) is not None or _SOME.fullmatch(plain) is not None


def _instead(part: str, last: int) -> str:
    found = _FROM.fullmatch(part)
    return "" if found is None else f"; write '{found[1]}-{last}/{found[2]}'"
