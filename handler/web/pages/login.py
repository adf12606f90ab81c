"""The page on which a person logs in."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from handler.web.pages.layout import PageTemplate

_TEMPLATE = PageTemplate("login.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginForm:
    """What the page shows."""

    there_are_users: bool
    by_provider: bool = False
    """A provider can be logged in with, too."""
    is_done: bool = False
    """A person has logged in, and the page leads on by itself."""
    is_out: bool = False
    """A person has logged out."""
    provider_logout: str = ""
    """The page of the provider on which a person logs out there, too; empty: there is none, or no need."""
    message: str = ""
    """Why the last try failed; empty: there was none."""
    user: str = ""
    """The name that was tried."""
    then: str = "/"
    """Where a person goes who has logged in."""


def login_form(form: LoginForm) -> Markup:
    """Return the content of the page."""
    return _TEMPLATE("login", form)
