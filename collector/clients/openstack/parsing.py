"""Decode the common parts of OpenStack's answers. Pure: each function takes decoded JSON of any shape.

Source: the API references of Keystone, Nova, Neutron, Glance and Octavia; the texts are those of the Zed release.
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
_MESSAGE_KEYS = ("message", "faultstring", "title")
_QUOTA = {403: ("quota", "exceeded"), 409: ("quota",), 413: ("quota",)}
_USED_UP = ("no more ip addresses available", "unable to find any ip address on external network")
_FORBIDDEN = 403
_BY_POLICY = ("policy does", "disallowed by policy")
"""oslo.policy's texts for a missing right: Nova's and Octavia's, and Neutron's."""
_BY_A_PERSON = ("locked", "more specific", "multiple possible", "not supported")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceResponse:
    """A service's answer; the body is decoded if it is JSON."""

    status: int
    body: object
    retry_after: Seconds | None = None
    date: str | None = None
    """The server's clock (header ``Date``); ``None``: it is missing."""


def entries(body: object, key: str) -> tuple[object, ...] | None:
    """Return the list under a key; ``None``: malformed.

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
    """The entry that the next page follows; empty: this is the last page."""


def page_of(body: object, key: str) -> Page | None:
    """Read one page; ``None``: malformed. Links are not followed: they may name a host that only the cloud can reach.

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
    """Return a text of an object; empty: there is none."""
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, str) else ""


def mapping(entry: object, key: str) -> Mapping[str, object]:
    """Return an object within an object; empty: there is none."""
    value = entry.get(key) if isinstance(entry, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def reason(body: object) -> str:
    """Return a service's error text, fit for one line; empty: there is none.

    >>> reason({"itemNotFound": {"code": 404, "message": "Instance 7c1b could not be found."}})
    'Instance 7c1b could not be found'
    >>> reason({"faultcode": "Client", "faultstring": "Pool 1 is immutable and cannot be updated.", "debuginfo": None})
    'Pool 1 is immutable and cannot be updated'
    """
    return next((line for found in _reasons(body) if (line := shown(found))), "")


def _reasons(body: object) -> Iterator[str]:
    if not isinstance(body, Mapping):
        return
    yield from (text(body, key) for key in _MESSAGE_KEYS)
    for inner in body.values():
        yield from (text(inner, key) for key in _MESSAGE_KEYS)


def shown(text: str) -> str:
    """Make a foreign text fit for one line of a longer message."""
    return one_line(text).rstrip(".:")


def refusal(answer: ServiceResponse, about: str) -> DriverError:
    """Classify a refusal as permanent (a person must act) or transient. ``about`` begins the message.

    A full quota is `Full`: removals or persons make room. Nova reports it with 403, Neutron with 409, Cinder with 413;
    a network without a free address counts, too. Any other conflict (409) is transient, unless it asks for a different
    request or comes from a lock that a person set. Any other 413 is Nova's older form of 429.

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
    explanation = reason(answer.body) or "no reason is given"
    low = explanation.lower()
    match answer.status:
        case 401:
            remedy = "check the credentials, and that they have not expired"
            return Permanent(f"{about}: refused: {explanation}: {remedy}", cause=FailureCause.CREDENTIALS)
        case status if any(word in low for word in _QUOTA.get(status, ())):
            return Full(f"{about}: quota: {explanation}: raise the project's quota, or lower max")
        case 400 | 409 if any(word in low for word in _USED_UP):
            return Full(f"{about}: {explanation}: give the network more addresses, or lower max")
        case 400 | 403 | 404 | 405 | 406 | 422:
            lacking = answer.status == _FORBIDDEN and any(word in low for word in _BY_POLICY)
            return Permanent(f"{about}: refused: {explanation}", cause=FailureCause.CREDENTIALS if lacking else None)
        case 409 if any(word in low for word in _BY_A_PERSON):
            return Permanent(f"{about}: refused: {explanation}")
        case status:
            return Transient(f"{about}: {explanation} (HTTP {status})", retry_after=answer.retry_after)
