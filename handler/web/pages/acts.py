"""Buttons and their dialogs, of a group and of all groups: of all offers, those that the visitor is allowed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from config.units import MemberName, Seconds, format_span
from handler.operations.address import call_of
from handler.operations.registry import Operation
from handler.planning.status import GroupStatus
from handler.web.pages.frame import href
from handler.web.pages.freeze_offers import SPANS
from handler.web.pages.layout import PageTemplate
from handler.web.pages.offer import Offer
from handler.web.pages.offers import ON_MEMBERS, Topic, offers_of
from handler.web.pages.pause_offers import pausing_fleet

AUDITED_REASON = "Reason, for the audit trail"
SHOWN_REASON = "Reason, for the audit trail, and shown as long as it lasts"
ACTS = "/acts"
"""Where the dialog of what concerns all groups is."""
_TEMPLATE = PageTemplate("acts.html")
_ANY = MemberName("any")
"""Stands for a member where only the right matters: it is the same for every member of a group."""

Allowed = Callable[[Operation], bool]
"""Tells whether the person who looks may do it."""


_BUTTONS = {
    Topic.SCALE: "Scale…",
    Topic.PAUSE: "Pause…",
    Topic.FREEZE: "Freeze…",
    Topic.CONVERGE: "Converge…",
    Topic.ROLL: "Roll…",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogChoice:
    """An offer as its dialog has it: its words, and the request that the page sends."""

    label: str
    happens: tuple[str, ...]
    lines: tuple[str, ...]
    done: str
    method: str
    path: str
    body: str
    """JSON; empty: there is none."""
    headers: str
    """JSON."""


@dataclass(frozen=True, slots=True)
class DialogField:
    """A field whose value the choices depend on: another value brings other sentences."""

    name: str
    """In the dialog's address."""
    label: str
    value: str
    options: tuple[tuple[str, str], ...] = ()
    """Values to choose from, and their words; none: it is a number of members."""


def size_asked(size: int) -> DialogField:
    """Return the question for a size."""
    return DialogField("size", "Desired size", str(size))


def span_asked(lasts: Seconds) -> DialogField:
    """Return the question how long a freeze lasts."""
    spans = sorted({*SPANS, lasts})
    return DialogField("lasts", "For", f"{lasts:g}", tuple((f"{each:g}", format_span(each)) for each in spans))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialog:
    """What a person chooses from."""

    title: str
    choices: tuple[DialogChoice, ...]
    question: DialogField | None = None
    """What the dialog asks first; the first choice is then chosen at first. ``None``: nothing."""
    reason: str = AUDITED_REASON
    """The label of the field for it."""
    refused: str = "Your role allows none of this."
    """Why there is nothing to choose from."""


@dataclass(frozen=True, slots=True)
class Button:
    """Opens a dialog."""

    id: str
    label: str
    dialog: str
    """Its path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActBar:
    """The buttons of one page, for one person."""

    buttons: tuple[Button, ...]
    member_dialog: str
    """The path of a member's dialog, up to its name; empty: no member may be changed."""
    tuning: str
    """The path of the page on which settings are tried; empty: the person may not."""


def act_bar(status: GroupStatus, allowed: Allowed, *, tunes: bool = False) -> ActBar | None:
    """Return the buttons that lead to something allowed; ``None``: nothing is."""
    path = f"{href(status.group)}/acts"
    buttons = tuple(
        Button(f"act-{topic.value}", _BUTTONS[topic], f"{path}?{urlencode({'topic': topic.value})}")
        for topic in Topic
        if any(allowed(offer.operation) for offer in offers_of(topic, status))
    )
    members = any(allowed(kind(group=status.group, member=_ANY)) for kind in ON_MEMBERS)
    if not (buttons or members or tunes):
        return None
    return ActBar(
        buttons=buttons,
        member_dialog=f"{path}?member=" if members else "",
        tuning=f"{href(status.group)}/tune" if tunes else "",
    )


def fleet_bar(allowed: Allowed) -> ActBar | None:
    """Return the button that leads to the pause of all groups; ``None``: it is not allowed."""
    if not any(allowed(offer.operation) for offer in pausing_fleet(None, 0)):
        return None
    return ActBar(buttons=(Button("act-fleet", "Pause the fleet…", ACTS),), member_dialog="", tuning="")


def fleet_dialog(offers: Iterable[Offer], allowed: Allowed) -> Markup:
    """Lay out the dialog of what concerns all groups."""
    choices = tuple(_choice(offer) for offer in offers if allowed(offer.operation))
    return _TEMPLATE("dialog", Dialog(title="Pause the fleet", choices=choices, reason=SHOWN_REASON))


def dialog_of(
    title: str,
    offers: Iterable[Offer],
    allowed: Allowed,
    question: DialogField | None = None,
    *,
    reason: str = AUDITED_REASON,
) -> Markup:
    """Lay out a dialog of what is allowed; ``reason``: the label of the field for it."""
    choices = tuple(_choice(offer) for offer in offers if allowed(offer.operation))
    asked = question if choices else None
    return _TEMPLATE("dialog", Dialog(title=title, choices=choices, question=asked, reason=reason))


def refusing(title: str, reason: str) -> Markup:
    """Lay out a dialog that says why nothing can be done."""
    return _TEMPLATE("dialog", Dialog(title=title, choices=(), refused=reason))


def _choice(offer: Offer) -> DialogChoice:
    call = call_of(offer.operation)
    return DialogChoice(
        label=offer.label,
        happens=offer.happens,
        lines=offer.lines,
        done=offer.done,
        method=call.method,
        path=call.path,
        body="" if call.body is None else call.body.decode(),
        headers=json.dumps(dict(call.headers)),
    )
