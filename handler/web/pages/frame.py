"""The frame of every page: title, link to the overview, and whether the page is live."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import quote

from markupsafe import Markup

from config.units import GroupId, Instant, MemberName
from handler.identity.actors import Actor
from handler.identity.grants import Ruling
from handler.identity.rights import INSTALLATION, Right, Verb
from handler.planning.status import GroupCondition
from handler.web.pages.figures import clock
from handler.web.pages.layout import PageTemplate
from trigger.explain.time_words import say_pause
from trigger.requests import FleetPause

Parts = dict[str, Markup]
"""Name → content of the element with that name, which an event replaces."""

_POLICY = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
PAGE_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers hide the origin of our own forms
    "Cache-Control": "no-store",
}

_TEMPLATE = PageTemplate("frame.html")
_GLYPHS = {
    GroupCondition.DELETING: "⌫",
    GroupCondition.ORPHANED: "◇",
    GroupCondition.ERROR: "✕",
    GroupCondition.WARNING: "▲",
    GroupCondition.PAUSED: "‖",
    GroupCondition.STARTING: "○",
    GroupCondition.SCALING: "◐",
    GroupCondition.COOLDOWN: "◔",
    GroupCondition.RUNNING: "●",
}


@dataclass(frozen=True, slots=True)
class Badge:
    """A group's state: shape and word."""

    glyph: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who looks at a page."""

    name: str = ""
    """The user that is logged in; empty: none is."""
    csrf: str = field(default="", repr=False)
    """What a request of this page that changes something must show."""
    may_log_in: bool = False
    actor: Actor | None = field(default=None, repr=False)
    """Whose rights decide what the page offers; ``None``: no one is logged in, and it offers nothing."""

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Address and name of the pages besides the groups' that the visitor may read."""
        grants = None if self.actor is None else self.actor.grants
        if grants is None:
            return ()
        found = [("/declared", "Declared")]
        if Verb.EXAMINE in grants.verbs:
            found.append(("/garbage", "Garbage"))
        if Verb.HOOKS in grants.verbs:
            found.append(("/webhooks", "Webhooks"))
        if Verb.USERS in grants.verbs:
            found.append(("/users", "Users"))
        if grants.ruling(Right(Verb.AUDIT, INSTALLATION)) is Ruling.ALLOWED:
            found.append(("/audit", "Audit"))
        return tuple(found)


NO_LOGIN = Visitor()
"""There are no users to log in as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """Everything around the content of a page."""

    title: str
    """The window's title."""
    group: GroupId | None
    """Shown beside the link to the overview; ``None``: the page is not a group's."""
    banner: Markup
    now: str
    """When the page was made: epoch seconds."""
    clock: str
    stream: str
    """The path of its events."""
    assets: str
    """A digest that changes with style or script."""
    scripts: tuple[str, ...]
    """Names of its scripts, in their order."""
    visitor: Visitor


@dataclass(frozen=True, slots=True)
class _Stopped:
    what: str
    more: str


def document(page: PageFrame, main: Markup) -> Markup:
    """Lay out a complete page."""
    return _TEMPLATE("document", page, main)


def page_of(  # noqa: PLR0913  # what stands on every page
    title: str,
    *,
    group: GroupId | None,
    stopped: FleetPause | None,
    now: Instant,
    stream: str,
    assets: str,
    scripts: tuple[str, ...],
    visitor: Visitor = NO_LOGIN,
) -> PageFrame:
    """Return the frame of a page that is made now."""
    return PageFrame(
        title=title,
        group=group,
        banner=banner(stopped),
        now=f"{now:.3f}",
        clock=clock(now),
        stream=stream,
        assets=assets,
        scripts=scripts,
        visitor=visitor,
    )


def banner(stopped: FleetPause | None) -> Markup:
    """Return the banner of a pause of all groups: what is stopped, by which person, since when and why."""
    if stopped is None:
        return Markup()
    because = f": {stopped.because}" if stopped.because else ""
    what = f"The whole fleet: {say_pause(stopped.pause)}"
    return _TEMPLATE("banner", _Stopped(what, f" by {stopped.by} since {clock(stopped.since)} UTC{because}"))


def not_here(message: str) -> Markup:
    """Return the content of a page that does not exist."""
    return _TEMPLATE("not_here", message)


def href(group: GroupId) -> str:
    """Return the path of a group's page."""
    return f"/groups/{quote(group, safe='')}"


def member_href(group: GroupId, member: MemberName) -> str:
    """Return the path of a member's page."""
    return f"{href(group)}/members/{quote(member, safe='')}"


def badge_of(condition: GroupCondition) -> Badge:
    """Return the badge of a group's state."""
    return Badge(_GLYPHS[condition], condition.value)
