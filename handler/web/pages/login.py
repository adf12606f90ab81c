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
    message: str = ""
    """Why the last try failed; empty: there was none."""
    user: str = ""
    """The name that was tried."""
    then: str = "/"
    """Where a person goes who has logged in."""


def login_form(form: LoginForm) -> Markup:
    """Return the content of the page."""
    return _TEMPLATE("login", form)
