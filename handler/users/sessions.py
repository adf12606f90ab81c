"""Sessions of persons who logged in with a browser. Pure: the clock is an argument.

A session is found by the hash of what its cookie holds, which a caller cannot choose. Sessions are in memory alone: a
daemon that starts again has none, and its users log in again.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from config.units import Seconds
from handler.users.tokens import digest_of

IDLE: Seconds = 3600.0
"""A session ends this long after its last request by a person."""
ABSOLUTE: Seconds = 12 * 3600.0
"""A session ends this long after its login, whatever happens."""
OF_USER = 20
"""Sessions of one user; the one that was used longest ago makes room for a new one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One login."""

    user: str
    csrf: str = field(repr=False)
    """What a request that changes something shows besides the cookie: only pages of this origin can read it."""
    began: Seconds
    """By a steady clock."""
    by_provider: bool = False
    """A provider of identities proved who the person is, and has a session of its own for them."""

    def proves(self, shown: str) -> bool:
        """Tell whether a request shows this session's CSRF token, in constant time."""
        return hmac.compare_digest(self.csrf.encode(), shown.encode("utf-8", "surrogatepass"))


class Sessions:
    """The sessions of a running daemon."""

    def __init__(self, now: Callable[[], Seconds]) -> None:
        self._now = now
        self._sessions: dict[str, Session] = {}
        self._used: dict[str, Seconds] = {}
        """Both by the hash of the cookie's value; the second in the order of use."""

    def begin(self, user: str, *, by_provider: bool = False) -> tuple[str, Session]:
        """Begin a session; returns what its cookie holds, this one time, and the session."""
        now = self._now()
        for digest in [digest for digest in self._sessions if self._is_over(digest, now)]:
            self._drop(digest)
        own = [digest for digest in self._used if self._sessions[digest].user == user]
        for digest in own[: max(len(own) - OF_USER + 1, 0)]:
            self._drop(digest)
        cookie, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        session = Session(user=user, csrf=csrf, began=now, by_provider=by_provider)
        self._sessions[digest_of(cookie)] = session
        self._used[digest_of(cookie)] = now
        return cookie, session

    def find(self, cookie: str, *, by_person: bool) -> Session | None:
        """Return the session of a cookie; ``None``: there is none, or it has ended.

        Args:
            cookie: what it holds.
            by_person: the request is one of a person, so that the session is in use; not of a page by itself.
        """
        digest, now = digest_of(cookie), self._now()
        if digest not in self._sessions:
            return None
        if self._is_over(digest, now):
            self._drop(digest)
            return None
        if by_person:
            del self._used[digest]
            self._used[digest] = now
        return self._sessions[digest]

    def end(self, cookie: str) -> None:
        """End the session of a cookie, if there is one."""
        self._drop(digest_of(cookie))

    def end_all(self, user: str) -> None:
        """End every session of a user."""
        for digest in [digest for digest, session in self._sessions.items() if session.user == user]:
            self._drop(digest)

    def _is_over(self, digest: str, now: Seconds) -> bool:
        return now - self._used[digest] >= IDLE or now - self._sessions[digest].began >= ABSOLUTE

    def _drop(self, digest: str) -> None:
        self._sessions.pop(digest, None)
        self._used.pop(digest, None)
