"""What answers of OpenStack's services have in common. Pure: each function takes decoded JSON of any kind.

Source: the API references of Keystone, Nova, Neutron, Glance and Octavia; the texts were read off the Zed release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from collector.clients.quoting import shown as one_line
from config.causes import FailureCause
from config.errors import DriverError, Full, Permanent, Transient
from config.units import Seconds

MEMBER = "trimtab.member"
"""The key of a server's metadata that holds the member's name."""
_SAID = ("message", "faultstring", "title")
_QUOTA = {403: ("quota", "exceeded"), 409: ("quota",), 413: ("quota",)}
_USED_UP = ("no more ip addresses available", "unable to find any ip address on external network")
_FORBIDDEN = 403
_BY_POLICY = ("policy does", "disallowed by policy")
"""What a role lacks: oslo.policy, in Nova's and Octavia's words, and in Neutron's."""
_BY_A_PERSON = ("locked", "more specific", "multiple possible", "not supported")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceResponse:
    """What a service answered, as far as it is JSON."""

    status: int
    body: object
    retry_after: Seconds | None = None
    date: str | None = None
    """The other side's clock, as its header has it; ``None``: it does not tell."""


def entries(body: object, key: str) -> tuple[object, ...] | None:
    """The list of that name; ``None``: malformed.

    >>> entries({"servers": [{"id": "7c1b"}]}, "servers")
    ({'id': '7c1b'},)
    """
    listed = body.get(key) if isinstance(body, Mapping) else None
    return tuple(listed) if isinstance(listed, list) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a listing."""

    entries: tuple[object, ...]
    marker: str
    """After which entry the next one begins; empty: this is the last."""


def page_of(body: object, key: str) -> Page | None:
    """Read one page; ``None``: malformed. Links are not followed: they may name a host that only the cloud knows.

    >>> page_of({"servers": [{"id": "1"}], "servers_links": [{"rel": "next", "href": "http://in/"}]}, "servers").marker
    '1'
    >>> page_of({"servers": []}, "servers")
    Page(entries=(), marker='')
    """
    read = entries(body, key)
    if read is None:
        return None
    more = any(text(link, "rel") == "next" for link in entries(body, f"{key}_links") or ())
    marker = text(read[-1], "id") if read and more else ""
    return None if more and not marker else Page(entries=read, marker=marker)


def text(entry: object, key: str) -> str:
    """A text of an object; empty where there is none."""
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else ""


def mapping(entry: object, key: str) -> Mapping[str, object]:
    """An object of an object; empty where there is none."""
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def reason(body: object) -> str:
    """What a service gives as its reason, fit for one line; empty if it gives none.

    >>> reason({"itemNotFound": {"code": 404, "message": "Instance 7c1b could not be found."}})
    'Instance 7c1b could not be found'
    >>> reason({"faultcode": "Client", "faultstring": "Pool 1 is immutable and cannot be updated.", "debuginfo": None})
    'Pool 1 is immutable and cannot be updated'
    """
    return next((shown(said) for said in _reasons(body) if shown(said)), "")


def _reasons(body: object) -> Iterator[str]:
    if not isinstance(body, Mapping):
        return
    yield from (text(body, key) for key in _SAID)
    for inner in body.values():
        yield from (text(inner, key) for key in _SAID)


def shown(said: str) -> str:
    """What another side said, fit for one line of a message that goes on behind it."""
    return one_line(said).rstrip(".:")


def refusal(answer: ServiceResponse, about: str) -> DriverError:
    """Tell what a person must mend from what passes. ``about`` begins the message.

    A quota is Full: removals or persons make room. Nova says it with 403, Neutron with 409, Cinder with 413; so is a
    network without another address. Any other conflict (409) passes, unless it asks for another wording of the request
    or is a lock that a person set. Any other 413 is Nova's older word for 429.

    >>> full = {"forbidden": {"message": "Quota exceeded for instances"}}
    >>> print(refusal(ServiceResponse(status=403, body=full), "prod"))
    prod: quota: Quota exceeded for instances: raise the project's quota, or lower max
    >>> print(refusal(ServiceResponse(status=409, body={"message": "Quota exceeded for resources: ['port']."}), "prod"))
    prod: quota: Quota exceeded for resources: ['port']: raise the project's quota, or lower max
    >>> denied = {"faultstring": "Policy does not allow this request to be"}
    >>> refusal(ServiceResponse(status=403, body=denied), "prod").cause
    <FailureCause.CREDENTIALS: 'credentials'>
    >>> type(refusal(ServiceResponse(status=429, body={}, retry_after=7.0), "prod")).__name__
    'Transient'
    """
    said = reason(answer.body) or "no reason is given"
    low = said.lower()
    match answer.status:
        case 401:
            mend = "check the credentials, and that they have not expired"
            return Permanent(f"{about}: refused: {said}: {mend}", cause=FailureCause.CREDENTIALS)
        case status if any(word in low for word in _QUOTA.get(status, ())):
            return Full(f"{about}: quota: {said}: raise the project's quota, or lower max")
        case 400 | 409 if any(word in low for word in _USED_UP):
            return Full(f"{about}: {said}: give the network more addresses, or lower max")
        case 400 | 403 | 404 | 405 | 406 | 422:
            lacking = answer.status == _FORBIDDEN and any(word in low for word in _BY_POLICY)
            return Permanent(f"{about}: refused: {said}", cause=FailureCause.CREDENTIALS if lacking else None)
        case 409 if any(word in low for word in _BY_A_PERSON):
            return Permanent(f"{about}: refused: {said}")
        case status:
            return Transient(f"{about}: {said} (HTTP {status})", retry_after=answer.retry_after)
