"""Log in with a name and a password: limits, then the password, then a session."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from config.units import Seconds
from handler.users.known import KnownUsers
from handler.users.login_limits import LoginLimits
from handler.users.passwords import KnownPasswords
from handler.users.sessions import Sessions


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedIn:
    """The password fits."""

    user: str
    cookie: str = field(repr=False)
    """What the session's cookie holds."""


@dataclass(frozen=True, slots=True)
class NotLoggedIn:
    """Name or password are wrong, or the user is disabled; the caller does not learn which."""

    known: bool
    """There is such a user. For the audit trail only."""


@dataclass(frozen=True, slots=True)
class TooManyTries:
    """This name or this peer had too many wrong attempts."""

    wait: Seconds


LoginOutcome = LoggedIn | NotLoggedIn | TooManyTries


class Login:
    """Makes sessions of names and passwords."""

    def __init__(
        self, users: KnownUsers, passwords: KnownPasswords, sessions: Sessions, steady: Callable[[], Seconds]
    ) -> None:
        self._users, self._passwords, self._sessions, self._steady = users, passwords, sessions, steady
        self._limits = LoginLimits()
        users.follow(sessions.end_all)

    async def log_in(self, user: str, password: str, peer: Hashable) -> LoginOutcome:
        """Try a name and a password.

        An unknown name takes the same time and has the same limits as a known one.
        """
        proof = await self.proves(user, password, peer)
        if isinstance(proof, TooManyTries):
            return proof
        if not proof:
            return NotLoggedIn(known=self._users.has(user))
        return LoggedIn(user=user, cookie=self._sessions.begin(user)[0])

    async def proves(self, user: str, password: str, peer: Hashable) -> bool | TooManyTries:
        """Tell whether this is the password of a user who may log in. It has the limits of a login."""
        wait = self._limits.begin(user, peer, self._steady())
        if wait > 0:
            return TooManyTries(wait)
        if not await self._passwords.fits(user, password) or not self._users.may_ask(user):
            return False
        self._limits.proved(user, peer)
        return True
