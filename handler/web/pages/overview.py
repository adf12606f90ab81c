"""The first page: how the fleet is, its messages, and every group in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from config.model.catalogue import Mode
from config.units import GroupId
from handler.planning.status import BY_SEVERITY, GroupOutline, MemberState, severity
from handler.web.pages.acts import ActBar
from handler.web.pages.charts import Stroke, Trace, gap_of, sparkline
from handler.web.pages.choosing import NEEDY, STATES, TROUBLE, FleetFilter, Sort, missing
from handler.web.pages.facts import Glance
from handler.web.pages.figures import number
from handler.web.pages.frame import Badge, Parts, badge_of, href
from handler.web.pages.layout import PageTemplate
from handler.web.pages.messages import shared, why

_TEMPLATE = PageTemplate("overview.html")
_MODES = {Mode.ACT: "", Mode.ADVISE: "advises only", Mode.OFF: "mode off"}
"""Shown for a group whose size Trimtab does not change, whose desired size would else mislead."""
_SORTS = {Sort.WORST: "worst first", Sort.NAME: "name", Sort.SIZE: "most members", Sort.MISSING: "most missing"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One group in one line."""

    group: GroupId
    rank: int
    """Its place by severity."""
    serving: int
    missing: int
    href: str
    badge: Badge
    in_service: str
    moving: str
    """How many members come and go; empty: none."""
    desired: str
    bounds: str
    lately: tuple[Stroke, ...] | None
    """``None``: nothing has been recorded."""
    mode: str
    """Why Trimtab does not change its size; empty: it does."""
    why: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How many groups are in one state, and the address of the page that shows these."""

    badge: Badge
    count: str
    href: str


@dataclass(frozen=True, slots=True)
class FleetSummary:
    """How many groups there are, and in which states."""

    count: str
    tallies: tuple[Tally, ...]


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a choice."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class ChoiceForm:
    """What a person has chosen, and could choose."""

    words: str
    states: tuple[Option, ...]
    sorts: tuple[Option, ...]
    shown: str
    """How many groups that shows."""
    none: str
    """Why no group is shown; empty: some are."""


def first_page(
    outlines: Sequence[GroupOutline],
    rows: Iterable[tuple[Markup, bool]],
    choice: FleetFilter,
    acts: ActBar | None = None,
) -> Markup:
    """Lay out the first page's content.

    Args:
        outlines: of all groups.
        rows: each group as `row` lays it out, in the order of the page, and whether it is shown at first.
        choice: what a person has chosen.
        acts: what the person may do with all groups; ``None``: nothing.
    """
    lines = list(rows)
    form = form_of(choice, sum(shown for _, shown in lines), len(lines))
    shown = [line if shown else _hidden(line) for line, shown in lines]
    return _TEMPLATE("first", fleet_parts(outlines), form, shown, acts)


def _hidden(line: Markup) -> Markup:
    """Keep a line in the page without showing it: the script may show it, without asking the daemon for it."""
    return line.replace(Markup("<li "), Markup("<li hidden "), 1)


def fleet_parts(outlines: Sequence[GroupOutline]) -> Parts:
    """Lay out what the page says of all groups together."""
    return {"summary": _TEMPLATE("summary", summary_of(outlines)), "messages": _TEMPLATE("messages", shared(outlines))}


def row(glance: Glance) -> Markup:
    """Lay out one group in one line."""
    return _TEMPLATE("row", row_of(glance))


def row_of(glance: Glance) -> GroupRow:
    """One group in one line."""
    outline = glance.outline
    return GroupRow(
        group=outline.group,
        rank=severity(outline.condition),
        serving=outline.in_service or 0,
        missing=missing(outline),
        href=href(outline.group),
        badge=badge_of(outline.condition),
        in_service=number(outline.in_service),
        moving=_moving(outline),
        desired=number(outline.desired),
        bounds=f"{outline.minimum}–{outline.maximum}",
        lately=_lately(glance),
        mode=_MODES[outline.mode],
        why=why(outline),
    )


def summary_of(outlines: Sequence[GroupOutline]) -> FleetSummary:
    """Return how many groups there are, and in which states, the most urgent first."""
    counts = Counter(outline.condition for outline in outlines)
    count = f"{len(outlines):,} group" if len(outlines) == 1 else f"{len(outlines):,} groups"
    needy = sum(counts[condition] for condition in NEEDY)
    trouble = f"{needy:,} in trouble" if needy else "none in trouble"
    return FleetSummary(
        f"{count}, {trouble}" if outlines else "",
        tuple(
            Tally(badge_of(condition), f"{counts[condition]:,}", f"/?state={condition.value}")
            for condition in BY_SEVERITY
            if counts[condition]
        ),
    )


def form_of(choice: FleetFilter, shown: int, of: int) -> ChoiceForm:
    """Return what can be chosen."""
    labels = {"": "all states", TROUBLE: "in trouble"}
    return ChoiceForm(
        choice.words,
        tuple(Option(state, labels.get(state, state), state == choice.state) for state in STATES),
        tuple(Option(sort.value, label, sort is choice.sort) for sort, label in _SORTS.items()),
        f"{shown:,} of {of:,} shown",
        "" if shown else "No group fits." if of else "No groups are declared.",
    )


def _moving(outline: GroupOutline) -> str:
    coming = outline.of(MemberState.BUILDING, MemberState.JOINING)
    going = outline.of(MemberState.DRAINING, MemberState.LEAVING)
    return " ".join(text for text in (f"+{coming}" if coming else "", f"−{going}" if going else "") if text)


def _lately(glance: Glance) -> tuple[Stroke, ...] | None:
    sizes, lately = glance.lately.sizes, glance.lately
    if not sizes.at:
        return None
    serving = Trace(label="in service", at=sizes.at, values=sizes.in_service, kind="serving", stepped=True, filled=True)
    desired = Trace(label="desired", at=sizes.at, values=sizes.desired, kind="desired", stepped=True)
    return sparkline(serving, desired, lately.begin, glance.now, gap_of(lately.apart))
