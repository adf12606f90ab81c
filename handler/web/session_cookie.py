"""The cookie of a browser's session, and the proof that a request comes from a page of this daemon.

A browser sends a cookie along with requests that other pages make, too. So a request that changes something must show
the session's CSRF token, which only a page of this origin can read, besides the cookie; and a browser's own account of
where it comes from (``Origin``, ``Sec-Fetch-Site``) must not name another origin.

Source: RFC 6265bis (SameSite, ``__Host-``), the Fetch standard (Sec-Fetch-Site).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qs

from handler.users.sessions import ABSOLUTE

CSRF_HEADER, CSRF_FIELD = "x-trimtab-csrf", "csrf"
FORM = "application/x-www-form-urlencoded"
LOGIN, LOGOUT, PASSWORD = "/login", "/logout", "/password"
DECLARED = "/declared"
"""What is declared, and below it the forms that change it."""
GROUPS = "/groups/"
"""Below it are the pages of groups, and the form for a member's log."""
GARBAGE, WEBHOOKS, USERS, TOKENS = "/garbage", "/webhooks", "/users", "/tokens"
BY_PROVIDER, FROM_PROVIDER = "/login/oidc", "/login/oidc/callback"
_VALUE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
"""What a cookie of ours may hold."""
_OF_FLOW = "-oidc"
_FLOW_LASTS = 600
"""Seconds for a person to prove to the provider who they are."""
_FIELDS_AT_MOST = 1_000
"""Of a form: each entry of a list may be a field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCookie:
    """How one listening socket sets and reads the cookie. Browsers share cookies among ports: its name has the port."""

    port: int | None
    secure: bool
    """What is sent is encrypted, by the daemon or by a proxy before it."""
    suffix: str = ""
    """Tells the cookie of a login that is under way from that of a session."""

    @property
    def name(self) -> str:
        """The cookie's name. ``__Host-``: no other host of the domain can have set it."""
        return f"{'__Host-' if self.secure else ''}trimtab-{self.port}{self.suffix}"

    def value_in(self, header: str) -> str:
        """Return the cookie's value out of a Cookie header; empty: it has none.

        A browser sends the cookies of every program of the host, on whichever port. Some have forms that parsers refuse
        together with all others, so each pair is looked at by itself (RFC 6265, 5.4).
        """
        pairs = (pair.partition("=") for pair in header.split(";"))
        found = [value.strip() for name, _, value in pairs if name.strip() == self.name]
        return found[-1] if found and _VALUE.fullmatch(found[-1]) else ""

    def holding(self, value: str) -> str:
        """Return the Set-Cookie header of a new session."""
        return self._header(value, int(ABSOLUTE))

    def ended(self) -> str:
        """Return the Set-Cookie header that has the browser forget it."""
        return self._header("", 0)

    def flow_in(self, header: str) -> str:
        """Return what the cookie of a login with a provider holds; empty: none is under way."""
        return replace(self, suffix=_OF_FLOW).value_in(header)

    def flow_holding(self, value: str) -> str:
        """Return the Set-Cookie header of a login with a provider; without a value, of one that is over.

        Its answer comes from another site: with ``Strict`` the browser would not send the cookie along from there.
        """
        return self._header(value, _FLOW_LASTS if value else 0, site="Lax", suffix=_OF_FLOW)

    def _header(self, value: str, lasts: int, site: str = "Strict", suffix: str = "") -> str:
        secure = "; Secure" if self.secure else ""
        return f"{self.name}{suffix}={value}; Path=/; Max-Age={lasts}; HttpOnly; SameSite={site}{secure}"


def is_form(path: str) -> bool:
    """Tell whether what is sent to a path is a form.

    >>> is_form("/login"), is_form("/declared/groups"), is_form("/groups/web/members/web-1"), is_form("/declaredly")
    (True, True, True, False)
    >>> is_form("/api/v1/groups")
    False
    """
    pages = {LOGIN, LOGOUT, PASSWORD, GARBAGE, WEBHOOKS, USERS, TOKENS}
    return path in pages or path.startswith((f"{DECLARED}/", f"{USERS}/", GROUPS))


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Tell whether a browser says that a page of another origin makes the request.

    ``Sec-Fetch-Site`` says it best. A browser without it names the origin, or ``null`` where it hides it.

    >>> is_foreign({"host": "a:1", "origin": "null", "sec-fetch-site": "same-origin"})
    False
    >>> is_foreign({"host": "a:1", "origin": "http://a:2"}), is_foreign({"host": "a:1", "origin": "null"})
    (True, True)
    >>> is_foreign({"host": "a:1", "sec-fetch-site": "same-site"})
    True
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site not in {"same-origin", "none"}
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()


def shown_csrf(headers: Mapping[str, str], body: bytes) -> str:
    """Return the CSRF token that a request shows, in its header or in the field of a form; empty: none."""
    shown = headers.get(CSRF_HEADER, "")
    if shown or headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        return shown
    return form_of(body).get(CSRF_FIELD, "")


def form_of(body: bytes) -> dict[str, str]:
    """Return the fields of a form; of several with one name, the first. What is no form has none."""
    try:
        found = parse_qs(
            body.decode("utf-8"), keep_blank_values=True, max_num_fields=_FIELDS_AT_MOST, strict_parsing=True
        )
    except ValueError:
        return {}
    return {name: values[0] for name, values in found.items()}


def own_path(text: str) -> str:
    r"""Return a path of this daemon that a login may lead to; of anything else, the first page.

    >>> own_path("/groups/web?span=1h"), own_path("https://evil.example/"), own_path("//evil.example")
    ('/groups/web?span=1h', '/', '/')
    """
    is_own = text.startswith("/") and not text.startswith("//") and text.isascii() and text.isprintable()
    return text if is_own and "\\" not in text and not text.startswith((LOGIN, LOGOUT)) else "/"
