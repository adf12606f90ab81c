"""Repeated requests: what becomes of one whose ``Idempotency-Key`` was used before. Pure.

A row is written before the request is carried out, and its answer after. So a process that ends in between leaves a row
without an answer: whether the act was done is then not known, and it is never done again under this key.

Source: draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

import enum
import hashlib
from dataclasses import dataclass
from typing import TypeAlias

from handler.identity.actors import Actor
from handler.ports.identity import StoredCall, user_caller

KEY_AT_MOST = 255
"""Characters of a key."""
BODY_AT_MOST = 64 * 1024
"""Bytes of an answer that is kept."""


class Repetition(enum.Enum):
    """Why a request with a known key is not carried out, and has no kept answer either."""

    OTHER = "other"
    """It is another request than the first with this key."""
    RUNNING = "running"
    """The first is being carried out."""
    UNKNOWN = "unknown"
    """The first may have been carried out, wholly or in part: the daemon ended or failed meanwhile."""
    NOT_KEPT = "not kept"
    """The first was carried out; its answer holds a secret, or is too long."""


@dataclass(frozen=True, slots=True)
class Again:
    """The request is carried out: it is the first with its key, or one whose act itself knows repetitions."""


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """The request was carried out before, with this answer."""

    status: int
    body: str


Judged: TypeAlias = Again | EarlierAnswer | Repetition


def judged(found: StoredCall | None, fingerprint: str, *, running: bool, recognised: bool) -> Judged:
    """Judge a request with a key.

    Args:
        found: what is kept of the first request with this key; ``None``: this is the first.
        fingerprint: of this request.
        running: this process works on another request with this key, too.
        recognised: the act itself finds out that it was done before, by an id of its own.
    """
    if found is None:
        return Again()
    if found.fingerprint != fingerprint:
        return Repetition.OTHER
    if recognised:
        return Again()
    if found.status is None:
        return Repetition.RUNNING if running else Repetition.UNKNOWN
    return Repetition.NOT_KEPT if found.body is None else EarlierAnswer(found.status, found.body)


def caller_of(actor: Actor) -> str:
    """Return what keys belong to: a user whatever its token, else the way and the other end of the connection."""
    if actor.is_user:
        return user_caller(actor.name)
    return f"{actor.origin.way.value} {actor.origin.credential or actor.origin.peer}"


def key_of(given: str) -> str:
    """Return what is stored of a key; with or without the quotes of the draft it is the same key.

    >>> key_of('"k1"') == key_of("k1") != key_of("k2")
    True
    """
    bare = given.strip()
    if len(bare) > 1 and bare[0] == bare[-1] == '"':
        bare = bare[1:-1]
    return hashlib.sha256(bare.encode()).hexdigest()


def fingerprint_of(method: str, path: str, query: bytes, body: bytes) -> str:
    """Return by what a request is recognised: everything that it asks for."""
    digest = hashlib.sha256()
    for part in (method.encode(), path.encode(), query, body):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
