"""Decode the common parts of CloudStack's answers. Pure; decoded values may have any shape.

Source: the wire protocol of CloudStack 4.22.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from collector.clients.quoting import shown
from collector.parsing import loads
from config.causes import REMEDIES, FailureCause
from config.errors import DriverError, Full, Permanent, Transient
from config.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackRefused:
    """CloudStack's refusal of a command."""

    status: int
    """The HTTP status."""
    code: int | None
    """CloudStack's error code; ``None``: the answer is not CloudStack's."""
    words: str
    """The unchanged text: it may hold key and secret."""
    retry_after: Seconds | None = None
    """How long CloudStack asks us to wait."""

    @property
    def error(self) -> Mapping[str, object]:
        """Return the error in the shape that `refusal` takes."""
        return {"errorcode": self.code, "errortext": self.words}

    @property
    def at_most(self) -> int | None:
        """Return the largest allowed page (``default.page.size``), if CloudStack refused a page for its size."""
        return _at_most(self.code, self.words)


def opened(body: bytes, status: int) -> Mapping[str, object] | CloudstackRefused:
    """Unwrap an answer: its envelope's only key is named after the command.

    >>> opened(b'{"listzonesresponse": {"count": 0}}', 200)
    {'count': 0}
    >>> opened(b'{"listzonesresponse": {"errorcode": 431, "errortext": "no"}}', 431)
    CloudstackRefused(status=431, code=431, words='no', retry_after=None)
    >>> opened(b"<html>", 502).code is None
    True
    """
    try:
        answer = loads(body)
    except (ValueError, RecursionError):
        answer = None
    inside = next(iter(answer.values())) if isinstance(answer, dict) and len(answer) == 1 else None
    if status == OK and isinstance(inside, dict):
        return inside
    code = inside.get("errorcode") if isinstance(inside, dict) else None
    return CloudstackRefused(
        status=status, code=code if isinstance(code, int) else None, words=text(inside, "errortext")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedEntries:
    """A listing, as far as it could be read."""

    read: tuple[object, ...]
    because: str = ""
    """Why the listing is incomplete; empty: it is complete."""


def tags_of(tags: object) -> Mapping[str, str]:
    """Read the tags of an object, by their keys."""
    return {text(tag, "key"): text(tag, "value") for tag in tags} if isinstance(tags, list) else {}


def text(entry: object, key: str) -> str:
    """Return a text of an object; empty: there is none."""
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListingPage:
    """One page of a listing."""

    entries: tuple[object, ...]
    count: int | None
    """Entries of the complete listing, if the cloud reports them."""


def page_of(answer: Mapping[str, object], kind: str) -> ListingPage | None:
    """Read one page; ``None``: malformed. An empty listing is an empty object.

    >>> page_of({"count": 1, "zone": [{"id": "1"}]}, "zone")
    ListingPage(entries=({'id': '1'},), count=1)
    >>> page_of({}, "zone")
    ListingPage(entries=(), count=0)
    """
    if not answer.keys() & {kind, "count"}:
        return None if answer else ListingPage(entries=(), count=0)
    entries, count = answer.get(kind, []), answer.get("count")
    if not isinstance(entries, list) or not (count is None or (isinstance(count, int) and count >= 0)):
        return None
    return ListingPage(entries=tuple(entries), count=count)


class PagedListing:
    """Collects a listing's pages until one is empty, or is short and the count promises no more.

    Args:
        size: entries that a page may have.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._pages: list[ListingPage] = []
        self._beyond = 0
        """Entries that a page without any counts: as many as all pages have."""
        self.read: list[object] = []
        self.ended = False

    @property
    def asks(self) -> Mapping[str, str]:
        """Return the parameters of the next page."""
        return {"page": str(len(self._pages) + 1), "pagesize": str(self._size)}

    @property
    def endless(self) -> bool:
        """Return whether the listing has more pages than any account can fill."""
        return len(self._pages) >= _PAGES

    def take(self, page: ListingPage) -> None:
        """Add the page that was requested."""
        self.ended = not page.entries
        if not page.entries:
            self._beyond = page.count or 0
        else:
            self._pages.append(page)
            self.read += page.entries
            self.ended = len(page.entries) < self._size and len(self.read) >= (page.count or 0)

    @property
    def lacking(self) -> str:
        """Say why the listing is incomplete; empty: it is complete.

        Every page holds a count: of all entries, or in some of CloudStack's listings of the page's own. An entry that
        came or went between two pages may have moved another one across a page border. A page without entries counts
        all of them, or none.
        """
        if self._beyond > len(self.read):
            return f"the answer shows {len(self.read)} of {self._beyond} entries"
        if all(page.count in {None, len(page.entries)} for page in self._pages):
            return ""
        seen = {text(entry, "id") for entry in self.read}
        same = {page.count for page in self._pages} == {len(seen)}
        return "" if same else "the listing changed while it was read"


_SHOWN = 5


def one_called(entries: Iterable[object], word: str, written: str, *, where: str = "", remedy: str) -> str:
    """Return the id of the only entry with the name ``written``; a listing may show more than was requested.

    Raises:
        ValueError: no entry or several have the name; the message says how to fix it.

    >>> one_called([{"id": "7c1b", "name": "web"}, {"id": "9f00", "name": "web-2"}], "template", "web", remedy="")
    '7c1b'
    """
    bearing = sorted({text(entry, "id") for entry in entries if text(entry, "name") == written} - {""})
    if len(bearing) == 1:
        return bearing[0]
    if not bearing:
        raise ValueError(f"no {word} that the account can see{where} is called {written!a}: {remedy}")
    shown = ", ".join(bearing[:_SHOWN]) + (", …" if len(bearing) > _SHOWN else "")
    raise ValueError(f"{len(bearing)} {word}s are called {written!a}: write the id of one of them: {shown}")


PAGE = 100
"""Entries that one page requests."""
_PAGES = 1000


class JobState(enum.Enum):
    """The state of a job."""

    PENDING = 0
    DONE = 1
    FAILED = 2
    CANCELLED = 3


def job_of(answer: Mapping[str, object]) -> tuple[JobState, object]:
    """Read the job's state and result from ``queryAsyncJobResult``; a job whose state is unreadable has not ended.

    >>> job_of({"jobstatus": 2, "jobresultcode": 533, "jobresult": {"errorcode": 533, "errortext": "no host"}})[0]
    <JobState.FAILED: 2>
    """
    status, code = answer.get("jobstatus"), answer.get("jobresultcode")
    state = JobState(status) if isinstance(status, int) and status in range(4) else JobState.PENDING
    if state is JobState.DONE and isinstance(code, int) and code:
        state = JobState.FAILED
    return state, answer.get("jobresult")


_QUOTA = frozenset({532, 535})


_NEVER = frozenset({400, 430, 431, 432, 531, 537})


OK, UNAUTHORISED = 200, 401


_MOST = re.compile(r"max allowed page size value: ([1-9][0-9]{0,5})", re.ASCII)


class Oversized(Permanent):
    """The requested page is larger than this CloudStack allows (its setting ``default.page.size``).

    Args:
        words: the message.
        at_most: entries that a page may have.
    """

    def __init__(self, words: str, at_most: int) -> None:
        super().__init__(words)
        self.at_most = at_most


def refusal(error: object, about: str, *, retry_after: Seconds | None = None) -> DriverError:
    """Classify a refusal as permanent (a person must act) or transient. ``about`` begins the message.

    A limit of the account (532, 535) is `Full`: removals or persons make room. Lack of capacity (533), lack of a
    resource (534) and unknown errors are transient. A host name that is taken is transient, too: it belongs to a
    machine of ours that is not listed yet.

    >>> type(refusal({"errorcode": 533, "errortext": "Unable to create a deployment"}, "prod")).__name__
    'Transient'
    >>> print(refusal({"errorcode": 535, "errortext": "Maximum number of resources exceeded"}, "prod"))
    prod: quota: Maximum number of resources exceeded: raise the account's limit, or lower max
    >>> most = "Page size can't exceed max allowed page size value: 50"  # BaseListCmd
    >>> refusal({"errorcode": 431, "errortext": most}, "prod").at_most
    50
    """
    code = error.get("errorcode") if isinstance(error, Mapping) else None
    reason = shown(text(error, "errortext")).rstrip(".:") or "no reason is given"
    if code == UNAUTHORISED:
        remedy = "check api_key, secret, this machine's clock, and what the role may call"
        return Permanent(f"{about}: refused: {reason}: {remedy}", cause=FailureCause.CREDENTIALS)
    if code in _QUOTA:
        return Full(f"{about}: quota: {reason}: {REMEDIES[FailureCause.QUOTA]}", cause=FailureCause.QUOTA)
    if (most := _at_most(code, reason)) is not None:
        return Oversized(f"{about}: refused: {reason}", at_most=most)
    if code in _NEVER and "already exists" not in reason:
        return Permanent(f"{about}: refused: {reason}")
    return Transient(f"{about}: {reason} ({code if isinstance(code, int) else 'no code'})", retry_after=retry_after)


def _at_most(code: object, words: str) -> int | None:
    match = _MOST.search(words) if code in _NEVER else None
    return None if match is None else int(match[1])
