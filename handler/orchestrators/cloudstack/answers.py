"""What CloudStack's answers mean. Pure: each function takes decoded JSON, of which nothing is certain.

Source: the wire protocol of CloudStack 4.22 and ``VirtualMachine.State``.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from collector.clients.said import shown
from config.causes import MENDING, Cause
from config.errors import DriverError, Full, Permanent, Transient
from config.units import Instant, Seconds
from handler.orchestrators.cloudstack.names import CLAIM, MARK, RELEASED, TAG
from handler.planning.launches import Claim
from handler.planning.world import ServerState

_STATES = {
    "Starting": ServerState.BUILDING,
    "Running": ServerState.RUNNING,
    "Migrating": ServerState.PASSING,
    "Stopping": ServerState.PASSING,
    "Restoring": ServerState.PASSING,
    "Stopped": ServerState.STOPPED,
    "Shutdown": ServerState.STOPPED,
    "Error": ServerState.ERROR,
    "Expunging": ServerState.DELETING,
}
_GONE = "Destroyed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One entry of ``listVirtualMachines``, whoever it belongs to."""

    id: str
    host: str
    display: str
    mark: str | None
    """``None``: bears none, or the cloud does not show details."""
    tag: str | None
    """Which member it was made by being given to Trimtab."""
    released: bool
    """It was taken from Trimtab."""
    word: str
    """Its state in CloudStack's words."""
    busy: bool
    """A job is at work on it."""
    address: str | None
    zone: str | None
    created_at: Instant
    claim: Claim | None = None
    """The highest of what its detail and its tag say: the detail is written once, when the machine is made."""
    claim_tag: str = ""
    """What the tag says; empty: there is none."""

    @property
    def is_gone(self) -> bool:
        """Destroyed: it serves no more, and only a person could recover it."""
        return self.word == _GONE

    @property
    def last_word(self) -> str | None:
        """What tags say it is; ``None``: nothing."""
        return RELEASED if self.tag is None and self.released else self.tag

    def state(self, now: Instant, settling: Seconds) -> ServerState:
        """Fold its state. A new machine is Stopped until its start begins: for ``settling`` seconds that is building.

        A word that is not known is UNKNOWN: the machine is left alone.
        """
        if self.word == "Stopped" and (self.busy or now - self.created_at < settling):
            return ServerState.BUILDING
        return _STATES.get(self.word, ServerState.UNKNOWN)


def machine_of(entry: object) -> Machine | None:
    """Read one machine; ``None``: that is none, or lacks what identifies it.

    >>> nic = {"isdefault": True, "ipaddress": "10.1.1.7"}
    >>> entry = {"id": "7c1b", "name": "web-k3f9ab-1", "state": "Running", "created": "2026-01-31T10:00:00+0000"}
    >>> machine = machine_of(entry | {"nic": [nic], "details": {"trimtab": "web-k3f9ab-1"}})
    >>> machine.address, machine.mark, machine.created_at
    ('10.1.1.7', 'web-k3f9ab-1', 1769853600.0)
    """
    if not isinstance(entry, Mapping):
        return None
    own_id, host, word = text(entry, "id"), text(entry, "name"), text(entry, "state")
    created_at = _instant(text(entry, "created"))
    if not (own_id and host and word) or created_at is None:
        return None
    details, tags = entry.get("details"), tags_of(entry.get("tags"))
    return Machine(
        id=own_id,
        host=host,
        display=text(entry, "displayname"),
        mark=(text(details, MARK) or None) if isinstance(details, Mapping) else None,
        tag=tags.get(TAG),
        released=RELEASED in tags,
        word=word,
        busy=bool(text(entry, "jobid")) and entry.get("jobstatus") == 0,
        address=_address(entry.get("nic")),
        zone=text(entry, "zonename") or None,
        created_at=created_at,
        claim=_claim(text(details, CLAIM) if isinstance(details, Mapping) else "", tags.get(CLAIM, "")),
        claim_tag=tags.get(CLAIM, ""),
    )


def _claim(*said: str) -> Claim | None:
    claims = (Claim.parse(each) for each in said)
    return max((claim for claim in claims if claim is not None), default=None)


def _address(nics: object) -> str | None:
    given = [nic for nic in nics if isinstance(nic, Mapping)] if isinstance(nics, list) else []
    for nic in sorted(given, key=lambda nic: nic.get("isdefault") is not True):
        if address := text(nic, "ipaddress") or text(nic, "ip6address"):
            return address
    return None


def tags_of(tags: object) -> Mapping[str, str]:
    """Read the tags of anything, by their keys."""
    return {text(tag, "key"): text(tag, "value") for tag in tags} if isinstance(tags, list) else {}


def _instant(said: str) -> Instant | None:
    try:
        moment = datetime.fromisoformat(said)
        return Instant(moment.timestamp()) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def text(entry: object, key: str) -> str:
    """A text of an object; empty where there is none."""
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else ""


# Pages.


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a listing."""

    entries: tuple[object, ...]
    count: int | None
    """Of the whole listing, as far as the cloud says it."""


def page_of(answer: Mapping[str, object], kind: str) -> Page | None:
    """Read one page; ``None``: malformed. An empty listing is an empty object.

    >>> page_of({"count": 1, "zone": [{"id": "1"}]}, "zone")
    Page(entries=({'id': '1'},), count=1)
    >>> page_of({}, "zone")
    Page(entries=(), count=0)
    """
    if not answer.keys() & {kind, "count"}:
        return None if answer else Page(entries=(), count=0)
    entries, count = answer.get(kind, []), answer.get("count")
    if not isinstance(entries, list) or not (count is None or (isinstance(count, int) and count >= 0)):
        return None
    return Page(entries=tuple(entries), count=count)


# Names.

_SHOWN = 5


def one_called(entries: Iterable[object], word: str, written: str, *, where: str = "", mend: str) -> str:
    """Find the id of the only entry that is called so; a listing may show more than it was asked for.

    Raises:
        ValueError: none is called so, or several are, and how that is mended.

    >>> one_called([{"id": "7c1b", "name": "web"}, {"id": "9f00", "name": "web-2"}], "template", "web", mend="")
    '7c1b'
    """
    bearing = sorted({text(entry, "id") for entry in entries if text(entry, "name") == written} - {""})
    if len(bearing) == 1:
        return bearing[0]
    if not bearing:
        raise ValueError(f"no {word} that the account can see{where} is called {written!a}: {mend}")
    shown = ", ".join(bearing[:_SHOWN]) + (", …" if len(bearing) > _SHOWN else "")
    raise ValueError(f"{len(bearing)} {word}s are called {written!a}: write the id of one of them: {shown}")


# Jobs.


class JobState(enum.Enum):
    """Where a job is."""

    PENDING = 0
    DONE = 1
    FAILED = 2
    CANCELLED = 3


def job_of(answer: Mapping[str, object]) -> tuple[JobState, object]:
    """Read ``queryAsyncJobResult``: the job's state and result. What cannot be read is not known to have ended.

    >>> job_of({"jobstatus": 2, "jobresultcode": 533, "jobresult": {"errorcode": 533, "errortext": "no host"}})[0]
    <JobState.FAILED: 2>
    """
    status, code = answer.get("jobstatus"), answer.get("jobresultcode")
    state = JobState(status) if isinstance(status, int) and status in range(4) else JobState.PENDING
    if state is JobState.DONE and isinstance(code, int) and code:
        state = JobState.FAILED
    return state, answer.get("jobresult")


# Errors.

_QUOTA = frozenset({532, 535})
_NEVER = frozenset({400, 430, 431, 432, 531, 537})
_UNAUTHORISED = 401
_MOST = re.compile(r"max allowed page size value: ([1-9][0-9]{0,5})", re.ASCII)


class Oversized(Permanent):
    """A page of so many entries was asked for as this CloudStack does not give: its setting ``default.page.size``.

    Args:
        words: for a person.
        at_most: entries that a page may have.
    """

    def __init__(self, words: str, at_most: int) -> None:
        super().__init__(words)
        self.at_most = at_most


def refusal(error: object, about: str, *, retry_after: Seconds | None = None) -> DriverError:
    """Tell what a person must mend from what passes. ``about`` begins the message.

    A limit of the account (532, 535) is Full: removals or persons make room. Lack of capacity (533), of a resource
    (534) and whatever is not known pass. A host name that is taken passes too: of a machine of ours that is not listed
    yet.

    >>> type(refusal({"errorcode": 533, "errortext": "Unable to create a deployment"}, "prod")).__name__
    'Transient'
    >>> print(refusal({"errorcode": 535, "errortext": "Maximum number of resources exceeded"}, "prod"))
    prod: quota: Maximum number of resources exceeded: raise the account's limit, or lower max
    >>> most = "Page size can't exceed max allowed page size value: 50"  # BaseListCmd
    >>> refusal({"errorcode": 431, "errortext": most}, "prod").at_most
    50
    """
    code = error.get("errorcode") if isinstance(error, Mapping) else None
    said = shown(text(error, "errortext")).rstrip(".:") or "no reason is given"
    if code == _UNAUTHORISED:
        mend = "check api_key, secret, this machine's clock, and what the role may call"
        return Permanent(f"{about}: refused: {said}: {mend}", cause=Cause.CREDENTIALS)
    if code in _QUOTA:
        return Full(f"{about}: quota: {said}: {MENDING[Cause.QUOTA]}", cause=Cause.QUOTA)
    if code in _NEVER and (most := _MOST.search(said)):
        return Oversized(f"{about}: refused: {said}", at_most=int(most[1]))
    if code in _NEVER and "already exists" not in said:
        return Permanent(f"{about}: refused: {said}")
    return Transient(f"{about}: {said} ({code if isinstance(code, int) else 'no code'})", retry_after=retry_after)
