"""The addresses where requests from outside bring tokens or signatures of their own, and the content types of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from handler.ingest.alerts import cloud_events
from handler.ingest.capabilities import signed_urls
from handler.ingest.pushes.receiver import KINDS, is_push

T = TypeVar("T")
ALERTS = "/hooks/alerts"
EXECUTE = "/hooks/execute"
OBSERVE = "/hooks/observe"
SIGNAL = signed_urls.PATH
CLOUDSTACK = "/client/api"

_CAPABILITIES = (f"{EXECUTE}/", f"{OBSERVE}/", f"{SIGNAL}/")
_FORMS = frozenset({"application/x-www-form-urlencoded", ""})
_ALERT_KINDS = frozenset({"application/json", cloud_events.STRUCTURED, cloud_events.BATCHED})


def is_ingest(path: str) -> bool:
    """Tell whether requests come in there that bring tokens or signatures of their own."""
    return is_push(path) or is_capability(path) or path == CLOUDSTACK or f"{path}/".startswith(f"{ALERTS}/")


def receiver_of(path: str, *, alerts: T, pushes: T, capabilities: T, cloudstack: T) -> T:
    """Return which of the receivers takes a request to an address of `is_ingest`."""
    if is_push(path):
        return pushes
    if path == CLOUDSTACK:
        return cloudstack
    return capabilities if is_capability(path) else alerts


def is_capability(path: str) -> bool:
    """Tell whether an address executes a policy or has groups looked at."""
    return f"{path}/".startswith(_CAPABILITIES)


def kinds_of(path: str, headers: Mapping[str, str]) -> frozenset[str] | None:
    """Return the content types that an address takes; ``None``: any, since it reads of the body only what is JSON.

    Args:
        path: one where requests come in.
        headers: by lower-case name; an event in binary mode may carry data of any type.
    """
    if is_push(path):
        return KINDS
    if path == CLOUDSTACK:
        return _FORMS
    if is_capability(path) or cloud_events.BINARY in headers:
        return None
    return _ALERT_KINDS
