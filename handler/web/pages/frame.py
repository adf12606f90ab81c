"""The page around everything: title, way home, and whether what is shown is live."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from config.units import GroupId, Instant
from handler.planning.status import GroupCondition
from handler.web.pages.figures import clock
from handler.web.pages.layout import PageTemplate
from trigger.explain.time_words import say_pause
from trigger.requests import FleetPause

Parts = dict[str, Markup]
"""Name → what is inside the element of that name: what an event replaces."""

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
    """A group's condition: shape and word."""

    glyph: str
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """What stands around the content of a page."""

    title: str
    """Of the window."""
    group: GroupId | None
    """Beside the way home; ``None``: the page is no group's."""
    banner: Markup
    now: str
    """When it was made: epoch seconds."""
    clock: str
    stream: str
    """The address of its events."""
    assets: str
    """Changes whenever style or script do."""


@dataclass(frozen=True, slots=True)
class _Stopped:
    what: str
    more: str


def document(page: PageFrame, main: Markup) -> Markup:
    """Lay out a whole page."""
    return _TEMPLATE("document", page, main)


def page_of(
    title: str, *, group: GroupId | None, stopped: FleetPause | None, now: Instant, stream: str, assets: str
) -> PageFrame:
    """Say what stands around a page that is made now."""
    return PageFrame(
        title=title,
        group=group,
        banner=banner(stopped),
        now=f"{now:.3f}",
        clock=clock(now),
        stream=stream,
        assets=assets,
    )


def banner(stopped: FleetPause | None) -> Markup:
    """What is stopped in all groups, by whom, since when and why; nothing while nothing is."""
    if stopped is None:
        return Markup()
    because = f": {stopped.because}" if stopped.because else ""
    what = f"The whole fleet: {say_pause(stopped.pause)}"
    return _TEMPLATE("banner", _Stopped(what, f" by {stopped.by} since {clock(stopped.since)} UTC{because}"))


def not_here(message: str) -> Markup:
    """Say that what was asked for does not exist."""
    return _TEMPLATE("not_here", message)


def badge_of(condition: GroupCondition) -> Badge:
    """How a group's condition is shown."""
    return Badge(_GLYPHS[condition], condition.value)
