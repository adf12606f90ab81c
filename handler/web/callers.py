"""Which caller a request on a listening socket belongs to.

Over the unix socket (mode 0600) every caller is the local administrator. Over TCP, until users exist, so is the bearer
of the state directory's token; from the first user on that token is not accepted, and users' tokens and sessions are.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass, field

from handler.identity.actors import UNNAMED, Actor, Origin, Way
from handler.identity.grants import grants_of_anonymous
from handler.operations.authorising import UNAUTHORIZED, UNAUTHORIZED_USER
from handler.users.known import KnownUsers
from handler.users.sessions import Session, Sessions
from handler.web.session_cookie import SessionCookie

_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
LOCAL_ADMIN = "local admin"
"""The name of the token in the state directory."""
NOT_ACCEPTED = "this token is not accepted: it is not known, revoked or expired, or its user is disabled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What one listening socket allows."""

    trusted: bool
    """The unix socket: the file's mode controls access."""
    port: int | None = None
    token: str | None = field(default=None, repr=False)
    names: Callable[[], frozenset[str]] = frozenset
    """Names and addresses, besides those of this machine, that the Host header may have, with any port; lower case.
    ``*.`` before a name stands for one label."""
    secure: bool = False
    """What is sent is encrypted, by the daemon or by a proxy before it."""
    host_checked: bool = False
    """Requests come from standbys, each of which has checked that the Host header names the socket it came over."""

    @property
    def cookie(self) -> SessionCookie:
        """The cookie of browsers' sessions on this socket."""
        return SessionCookie(port=self.port, secure=self.secure)

    def serves(self, host: str) -> bool:
        """Tell whether a Host header means this socket, so that no other web page makes a browser send requests."""
        name, _, port = host.rpartition(":")
        if self.host_checked:
            return True
        if name in _HOSTS and port == str(self.port):
            return True
        bare = (name if port.isdigit() and name else host).strip("[]").lower()
        names = self.names()
        return bool(bare) and (bare in names or f"*.{bare.partition('.')[2]}" in names)


class Callers:
    """Finds the actor of each request; ``users`` left out: there are none."""

    def __init__(self, access: Access, users: KnownUsers | None = None, sessions: Sessions | None = None) -> None:
        self._access = access
        self._users = users
        self._sessions = sessions

    def session(self, cookies: str, *, by_person: bool) -> Session | None:
        """Return the session of a request with this Cookie header; ``None``: there is none. See `Sessions.find`."""
        if self._sessions is None or self._access.trusted or not cookies:
            return None
        value = self._access.cookie.value_in(cookies)
        return self._sessions.find(value, by_person=by_person) if value else None

    def actor(self, authorization: str, peer: str, session: Session | None = None) -> Actor | None:
        """Return the actor of a request; ``None``: it shows a token that is not accepted, and users exist.

        A token counts before a session. A session that has ended is as none.
        """
        if self._access.trusted:
            return Actor(name=UNNAMED, origin=Origin(way=Way.SOCKET, peer=peer))
        scheme, _, given = authorization.partition(" ")
        token = given.strip() if scheme.lower() == "bearer" else ""
        if self._users is not None and self._users.exist:
            if token:
                return self._users.bearer(token, peer)
            origin = Origin(way=Way.SESSION, peer=peer)
            found = None if session is None else self._users.actor(session.user, origin)
            return self._users.without_token(peer) if found is None else found
        if self._is_local_admin(token):
            return Actor(name=UNNAMED, origin=Origin(way=Way.TOKEN, peer=peer, credential=LOCAL_ADMIN))
        return self.unknown(peer)

    def unknown(self, peer: str) -> Actor:
        """Return the actor of a request whose credential, if it has one, is not a user's."""
        if self._users is not None:
            return self._users.without_token(peer)
        return Actor(name=UNNAMED, origin=Origin(way=Way.NONE, peer=peer), grants=grants_of_anonymous(None))

    @property
    def needs(self) -> str:
        """The message for a caller without a credential."""
        return UNAUTHORIZED_USER if self._users is not None and self._users.exist else UNAUTHORIZED

    def _is_local_admin(self, token: str) -> bool:
        expected = self._access.token
        return bool(expected) and hmac.compare_digest(token.encode(), (expected or "").encode())
