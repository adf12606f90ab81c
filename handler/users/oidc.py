"""Log in with a provider of identities: its settings and keys, the exchange of a code, and a session in the end."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from collector.clients.http.client import HttpClient, HttpFailure, HttpRequest
from config.errors import Refused
from config.model.access import HttpAccess, SecretRef
from config.model.daemon import OidcProvider
from config.units import Moment, Seconds
from handler.users.known import KnownUsers
from handler.users.login import LoggedIn, NotLoggedIn, TooManyTries
from handler.users.login_limits import LoginLimits
from handler.users.oidc_flow import OidcFlow, Unproved, proved, user_of
from handler.users.sessions import Sessions

LOGGED_OUT = "logged-out"
"""What a browser brings back from the provider after a logout there; it proves nothing."""
_KEPT: Seconds = 3600.0
"""How long the provider's settings and keys are used before they are read again."""
_LARGEST = 1024 * 1024
_WELL_KNOWN = "/.well-known/openid-configuration"
_NOT_YET: Seconds = 5.0
"""After a provider did not answer, it is asked again."""
_AGAIN: Seconds = 30.0
"""After it the keys are read again for a token whose key is not among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """What a provider says of itself."""

    provider: OidcProvider
    authorization: str
    token: str
    userinfo: str
    """Empty: it has none."""
    end_session: str
    """Where persons log out of the provider itself; empty: it announces no such page."""
    posts_secret: bool
    """It takes the client's secret in the form; otherwise as basic authentication."""
    keys: Mapping[str, object]
    read_at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trouble:
    """Why a provider's settings could not be read."""

    provider: OidcProvider
    words: str
    at: Seconds


OidcOutcome = LoggedIn | NotLoggedIn | TooManyTries


class OidcLogin:
    """Makes sessions of what the provider of the file proves.

    Args:
        provider: returns that of the file; ``None``: it has none.
        http: sends the requests; follows no redirect.
        read_secret: reads the client's secret; raises `Refused`.
        users: those that persons may be mapped to.
        sessions: where sessions begin.
        clock: both clocks.
    """

    def __init__(  # what it stands between
        self,
        provider: Callable[[], OidcProvider | None],
        http: HttpClient,
        read_secret: Callable[[SecretRef], str],
        users: KnownUsers,
        sessions: Sessions,
        clock: Callable[[], Moment],
    ) -> None:
        self._provider, self._http, self._read_secret = provider, http, read_secret
        self._users, self._sessions, self._clock = users, sessions, clock
        self._limits = LoginLimits()
        self._settings: _Settings | None = None
        self._trouble: _Trouble | None = None
        self._turn = asyncio.Lock()

    @property
    def is_offered(self) -> bool:
        """Whether the file names a provider."""
        return self._provider() is not None

    async def begin(self, then: str, redirect: str) -> tuple[OidcFlow, str]:
        """Return a flow, and the address at the provider to which the browser goes.

        Raises:
            Refused: there is no provider, or it does not answer as one.
        """
        settings = await self._known()
        flow = OidcFlow.begun(then)
        joint = "&" if "?" in settings.authorization else "?"
        return flow, settings.authorization + joint + flow.sent(settings.provider, redirect)

    async def finish(self, flow: OidcFlow, answer: Mapping[str, str], redirect: str, peer: Hashable) -> OidcOutcome:
        """Exchange the code that a browser brings back, and begin a session.

        Raises:
            Refused: the provider does not answer as one.
            Unproved: what it answers proves no one.
        """
        wait = self._limits.begin(None, peer, self._clock().steady)
        if wait > 0:
            return TooManyTries(wait)
        settings = await self._known()
        claims = await self._claims(settings, flow, flow.code_in(answer, settings.provider.issuer), redirect)
        user = user_of(claims, settings.provider)
        if user is None or not self._users.may_ask(user):
            return NotLoggedIn(known=user is not None and self._users.has(user))
        self._limits.proved(None, peer)
        return LoggedIn(user=user, cookie=self._sessions.begin(user, by_provider=True)[0])

    def logout_address(self, back: str) -> str | None:
        """Return the page at the provider on which a person logs out there and comes ``back``; ``None``: it has none.

        The provider asks the person, since no identity token goes along: they may be logged in there for other things.
        Source: OpenID Connect RP-Initiated Logout 1.0, 2.
        """
        known = self._settings
        if known is None or known.provider != self._provider() or not known.end_session:
            return None
        query = {"client_id": known.provider.client_id, "post_logout_redirect_uri": back, "state": LOGGED_OUT}
        return f"{known.end_session}{'&' if '?' in known.end_session else '?'}{urlencode(query)}"

    # The provider

    async def _known(self) -> _Settings:
        provider, now = self._provider(), self._clock().steady
        if provider is None:
            raise Refused("the file names no provider to log in with: write oidc")
        async with self._turn:
            known, trouble = self._settings, self._trouble
            if known is not None and known.provider == provider and now - known.read_at < _KEPT:
                return known
            if trouble is not None and trouble.provider == provider and now - trouble.at < _NOT_YET:
                raise Refused(trouble.words)  # callers in a queue must not wait for one deadline after another
            try:
                self._settings = known = await self._read(provider)
            except Refused as error:
                self._trouble = _Trouble(provider=provider, words=str(error), at=self._clock().steady)
                raise
            return known

    async def _read(self, provider: OidcProvider) -> _Settings:
        found = await self._json(provider, provider.issuer.rstrip("/") + _WELL_KNOWN)
        if found.get("issuer") != provider.issuer:
            raise Refused("the provider calls itself by another name than oidc.issuer: write it as the provider does")
        methods = found.get("token_endpoint_auth_methods_supported")
        return _Settings(
            provider=provider,
            authorization=_endpoint(found, "authorization_endpoint", provider),
            token=_endpoint(found, "token_endpoint", provider),
            userinfo=_endpoint(found, "userinfo_endpoint", provider) if "userinfo_endpoint" in found else "",
            end_session=_endpoint(found, "end_session_endpoint", provider) if "end_session_endpoint" in found else "",
            posts_secret=isinstance(methods, list) and "client_secret_post" in methods,
            keys=await self._json(provider, _endpoint(found, "jwks_uri", provider)),
            read_at=self._clock().steady,
        )

    async def _keys_again(self, settings: _Settings) -> _Settings:
        """Read the keys again, since a token names one that is new. Raises as `_read`, and `Unproved`."""
        async with self._turn:
            if self._settings is settings and self._clock().steady - settings.read_at >= _AGAIN:
                self._settings = await self._read(settings.provider)
            if self._settings is None or self._settings is settings:
                raise Unproved("the identity token names a key that the provider does not have")
            return self._settings

    async def _claims(self, settings: _Settings, flow: OidcFlow, code: str, redirect: str) -> Mapping[str, object]:
        provider, form = settings.provider, {"grant_type": "authorization_code", "code": code}
        form |= {"redirect_uri": redirect, "code_verifier": flow.verifier, "client_id": provider.client_id}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if provider.client_secret is not None:
            secret = self._read_secret(provider.client_secret)
            if settings.posts_secret:
                form["client_secret"] = secret
            else:
                pair = f"{quote(provider.client_id, safe='')}:{quote(secret, safe='')}"
                headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        granted = await self._json(provider, settings.token, form=form, headers=headers)
        token, now = granted.get("id_token"), self._clock().wall
        if not isinstance(token, str):
            raise Unproved("the provider gives no identity token")
        try:
            claims = proved(token, settings.keys, flow, provider, now)
        except KeyError:
            try:
                claims = proved(token, (await self._keys_again(settings)).keys, flow, provider, now)
            except KeyError:
                raise Unproved("the identity token names a key that the provider does not have") from None
        if provider.claim in claims or not settings.userinfo:
            return claims
        return await self._with_userinfo(settings, claims, granted.get("access_token"))

    async def _with_userinfo(
        self, settings: _Settings, claims: Mapping[str, object], access: object
    ) -> Mapping[str, object]:
        """Add what only the provider's further page says of the same subject (OpenID Connect Core, 5.3)."""
        more = await self._json(settings.provider, settings.userinfo, headers={"Authorization": f"Bearer {access}"})
        if more.get("sub") != claims["sub"]:
            raise Unproved("the provider says more of another person")
        return {**more, **claims}

    async def _json(
        self,
        provider: OidcProvider,
        url: str,
        *,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Mapping[str, object]:
        """Ask the provider. Raises `Refused`: it does not answer, or not with an object."""
        answer = await self._http.ask(
            HttpRequest(
                url=url,
                access=HttpAccess(trust=provider.trust),
                timeout=provider.timeout,
                method="GET" if form is None else "POST",
                headers={"Accept": "application/json", **(headers or {})},
                body=None if form is None else urlencode(form).encode(),
                largest=_LARGEST,
            )
        )
        if isinstance(answer, HttpFailure):
            raise Refused(f"the provider does not answer: {answer.detail}")
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise Refused("the provider does not answer as one: its answer is no JSON object")
        return found


def _endpoint(found: Mapping[str, object], name: str, provider: OidcProvider) -> str:
    """Return an address of the provider, which is as safe as that of the provider itself. Raises `Refused`."""
    url = found.get(name)
    if not isinstance(url, str) or not url.startswith(f"{provider.issuer.partition(':')[0]}://"):
        raise Refused(f"the provider has no {name} that can be used")
    return url
