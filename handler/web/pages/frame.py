"""The page around everything: title, way home, and whether what is shown is live."""

from __future__ import annotations

from config.units import Instant
from handler.planning.status import GroupCondition
from handler.web.pages.figures import clock
from handler.web.pages.markup import Content, Html, join, tag
from trigger.explain.pause_words import say_pause
from trigger.requests import FleetPause

Parts = dict[str, Html]
"""Name → what is inside the element of that name: what an event replaces."""

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


def document(*, title: str, crumb: Content, main: Content, now: Instant, stream: str, assets: str) -> Html:
    """A whole page.

    Args:
        title: of the window.
        crumb: beside the way home.
        main: what is inside.
        now: when it was made.
        stream: the address of its events.
        assets: changes whenever style or script do.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("link", rel="icon", href=f"/static/icon.svg?v={assets}", type="image/svg+xml"),
        tag("link", rel="stylesheet", href=f"/static/console.css?v={assets}"),
        tag("script", src=f"/static/console.js?v={assets}", defer=True),
    )
    body = tag(
        "body",
        tag("a", "To the content", href="#main", class_="skip"),
        tag(
            "header",
            tag("nav", tag("a", "Trimtab", href="/", class_="home"), crumb, aria_label="Where you are"),
            tag("p", f"as of {clock(now)} UTC", id="live", role="status"),
        ),
        tag("main", main, id="main"),
        tag("noscript", tag("p", "Without a script this page stays as it is: load it again for newer figures.")),
        data_stream=stream,
        data_now=f"{now:.3f}",
    )
    return join([Html("<!doctype html>"), tag("html", head, body, lang="en")])


def banner(fleet_pause: FleetPause | None) -> Html:
    """What is stopped in all groups, by whom, since when and why; nothing while nothing is."""
    if fleet_pause is None:
        return Html("")
    because = f": {fleet_pause.because}" if fleet_pause.because else ""
    what = tag("b", f"The whole fleet: {say_pause(fleet_pause.pause)}")
    return tag("p", what, f" by {fleet_pause.by} since {clock(fleet_pause.since)} UTC{because}", class_="fleet-pause")


def part(name: str, content: Html, element: str = "div", **attributes: str | None) -> Html:
    """An element that events replace the inside of."""
    return tag(element, content, data_part=name, **attributes)


def badge(condition: GroupCondition) -> Html:
    """A group's condition: shape and word; the colour only repeats it."""
    shape = tag("span", _GLYPHS[condition], aria_hidden="true")
    return tag("span", shape, f" {condition.value}", class_=f"badge {condition.value}")
