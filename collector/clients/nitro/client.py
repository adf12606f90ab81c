"""NetScaler's client for a driver: calls within one deadline; failures are `Transient` or `Permanent`."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from http.cookiejar import DefaultCookiePolicy

import requests

from collector.clients.circuits import Circuits
from collector.clients.http.http_errors import why
from collector.clients.http.pool import BoundedPool, retry_after
from collector.clients.nitro.parsing import (
    FORBIDDEN,
    MISSING,
    NOT_PRIMARY,
    WRONG_PASSWORD,
    NitroAnswer,
    NitroFailure,
    Thing,
)
from collector.clients.nitro.session import Denied, NitroCall, NitroLogin, NitroSession, headers
from collector.clients.quoting import shown
from config.causes import FailureCause
from config.errors import DriverError, Permanent, Transient, TrimtabError
from config.model.access import SecretRef
from config.model.balancers import NetscalerBalancer
from config.units import Instant

GROUPS = "name a service group that `show servicegroup` lists, or add it"
_AT_MOST = 16 * 2**20
_PASSES = frozenset({429, 502, 503, 504})


class NitroClient:
    """Calls one appliance as one user; blocks.

    Args:
        declaration: the address, the user, and how long an answer may take.
        read_secret: reads the password at each login.
        clock: measures how long a refused password is not tried.
        circuits: those of all endpoints.
    """

    def __init__(
        self,
        declaration: NetscalerBalancer,
        read_secret: Callable[[SecretRef], str],
        clock: Callable[[], Instant],
        circuits: Circuits | None = None,
    ) -> None:
        self._login, self._about = NitroLogin.of(declaration), f"{declaration.id}: NetScaler"
        self._read_secret, self._clock = read_secret, clock
        self._session = NitroSession(declaration.user)
        self._entering = threading.Lock()
        self._http = BoundedPool(declaration.timeout, _AT_MOST, circuits=circuits)
        self._http.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))

    def ask(self, call: NitroCall) -> NitroAnswer | NitroFailure:
        """Make one call; log in first if necessary, and once more if the session has ended.

        Raises:
            Transient: no answer, or one that is not NITRO's. The call may have been carried out.
            Permanent: the login is refused.
        """
        over: str | None = None
        for _ in range(2):
            token = self._enter(over)
            found = self._read(self._sent(call, token), token)
            if isinstance(found, NitroAnswer) or not found.expired:
                return found
            over = token
        with self._entering:
            raise self.error(self._session.over_at_once(over, self._clock()))

    def must(self, call: NitroCall) -> NitroAnswer:
        """Make one call that must succeed."""
        found = self.ask(call)
        if isinstance(found, NitroFailure):
            raise self.error(found)
        return found

    def whole(self, call: NitroCall) -> Thing:
        """Read an object. Raises if the appliance itself doubts its answer."""
        return self.whole_of(self.ask(call))

    def whole_of(self, found: NitroAnswer | NitroFailure) -> Thing:
        """Check that an answer is complete. One that lists nothing says so: it holds an error code."""
        if isinstance(found, NitroFailure):
            raise self.error(found)
        if found.doubt:
            raise Transient(f"{self._about}: the answer is incomplete: {found.doubt}")
        if not found.document:
            raise Transient(f"{self._about}: the answer is empty")
        return found.document

    def date(self, call: NitroCall) -> str | None:
        """Return the header ``Date`` of an answer; ``None``: it has none. Raises as `must`."""
        token = self._enter(None)
        response = self._sent(call, token)
        found = self._read(response, token)
        if isinstance(found, NitroFailure):
            raise self.error(found)
        return response.headers.get("Date")

    def error(self, failure: NitroFailure) -> DriverError:
        """Translate a failure into the driver's error."""
        message = f"{self._about}: {failure.detail}"
        if isinstance(failure, Denied):
            refused = f"{self._about}: {self._login.user} cannot log in: {failure.detail}"
            return Permanent(refused, cause=FailureCause.CREDENTIALS, remedy="correct user and password in the file")
        if failure.code == NOT_PRIMARY or "secondary" in failure.detail.lower():
            return Permanent(
                f"{self._about}: this node is the secondary of a pair and accepts no changes ({failure.detail}): "
                "declare the address that follows the primary, a SNIP with management access"
            )
        if failure.code in FORBIDDEN:
            denied = f"{self._about}: {self._login.user} may not do that ({failure.detail})"
            return Permanent(denied, cause=FailureCause.CREDENTIALS, remedy="extend its policy")
        if failure.code in WRONG_PASSWORD:
            return Permanent(message)
        if failure.code in MISSING:
            return Permanent(message, cause=FailureCause.POOL, remedy=GROUPS)
        return Transient(message)

    def _enter(self, over: str | None) -> str:
        """Return the session's token; log in if there is none, or if it is the one that has ended."""
        with self._entering:
            if self._session.token is not None and self._session.token != over:
                return self._session.token
            try:
                password = self._read_secret(self._login.password)
            except (TrimtabError, OSError) as error:
                raise Permanent(f"{self._about}: {error}") from None
            self._check_trust()
            found: NitroCall | NitroFailure | str = self._session.login(password, self._clock())
            if isinstance(found, NitroCall):
                found = self._session.opened(self._read(self._sent(found, None), None), self._clock())
            if isinstance(found, NitroFailure):
                raise self.error(found)
            return found

    def _read(self, response: requests.Response, token: str | None) -> NitroAnswer | NitroFailure:
        found = self._session.read(response.status_code, response.content, token)
        if isinstance(found, NitroFailure) and response.status_code in _PASSES:
            raise Transient(f"{self._about}: {found.detail}", retry_after=retry_after(response))
        return found

    def _sent(self, call: NitroCall, token: str | None) -> requests.Response:
        trust = self._login.trust
        try:
            return self._http.request(
                call.method,
                call.url(self._login),
                data=call.raw,
                headers=headers(token),
                verify=trust.ca or not trust.insecure,
            )
        except requests.RequestException as problem:
            raise Transient(f"{self._about} does not answer: {why(problem)}") from None

    def _check_trust(self) -> None:
        """Check that the file of certificates can be read."""
        ca = self._login.trust.ca
        if ca is None:
            return
        try:
            ssl.create_default_context(cafile=ca)
        except OSError as problem:  # ssl.SSLError is one: the file holds no certificate
            reason = shown(problem.strerror or type(problem).__name__)
            message = f"{self._about}: the certificate file {ca} (ca) cannot be read: {reason}"
            raise Permanent(
                message, cause=FailureCause.CREDENTIALS, remedy="name a PEM file that Trimtab may read"
            ) from None
