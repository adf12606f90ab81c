"""The first page: every group in one line, with those that need a person named at the top."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from config.model.catalogue import Mode
from config.units import GroupId, Instant, Seconds
from handler.planning.status import GroupCondition, GroupStatus, MemberState, severity
from handler.runtime.series import KEPT, Picture
from handler.web.pages.charts import Stroke, Trace, gap_of, sparkline
from handler.web.pages.facts import Glance
from handler.web.pages.figures import number
from handler.web.pages.frame import Badge, Parts, badge_of
from handler.web.pages.layout import PageTemplate
from trigger.explain.words import sentence_of

_NEEDY = frozenset({GroupCondition.ERROR, GroupCondition.WARNING, GroupCondition.ORPHANED})
_SHORTEST: Seconds = 120.0
_NAMED = 8
_TEMPLATE = PageTemplate("overview.html")
_MODES = {Mode.ACT: "", Mode.ADVISE: "advises only", Mode.OFF: "mode off"}
"""Shown for a group whose size Trimtab does not change, whose desired size would else mislead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """One group in one line."""

    part: str
    """Its name in events."""
    group: GroupId
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
class NamedGroup:
    """A group in trouble."""

    name: GroupId
    href: str
    badge: Badge


@dataclass(frozen=True, slots=True)
class Summary:
    """How many groups there are, and which of them need a person."""

    said: str
    needy: tuple[NamedGroup, ...] = ()
    """The worst first."""
    more: int = 0
    """How many more are not named."""


def first_page(glances: Sequence[Glance]) -> Markup:
    """Lay out the first page's content."""
    return _TEMPLATE("first", summary([glance.status for glance in glances]), overview(glances))


def overview(glances: Sequence[Glance]) -> Markup:
    """Lay out all groups: those in trouble first, then by name."""
    shown = {glance.status.group: glance for glance in glances}
    return _TEMPLATE("groups", [row_of(shown[group]) for group in order(glance.status for glance in glances)])


def order(statuses: Iterable[GroupStatus]) -> tuple[GroupId, ...]:
    """Return the groups in the order of the list: the worst state first, then by name."""
    ranked = sorted(statuses, key=lambda status: (severity(status.condition), status.group))
    return tuple(status.group for status in ranked)


def parts_of(glances: Sequence[Glance]) -> Parts:
    """Return the rows of these groups, for an event."""
    return {row_name(glance.status.group): row(glance) for glance in glances}


def row_name(group: GroupId) -> str:
    """Return the name of a group's row in events."""
    return f"row:{group}"


def href(group: GroupId) -> str:
    """Return the path of a group's page."""
    return f"/groups/{quote(group, safe='')}"


def row(glance: Glance) -> Markup:
    """Lay out one group in one line."""
    return _TEMPLATE("row", row_of(glance))


def row_of(glance: Glance) -> GroupRow:
    """One group in one line."""
    status = glance.status
    return GroupRow(
        part=row_name(status.group),
        group=status.group,
        href=href(status.group),
        badge=badge_of(status.condition),
        in_service=number(in_service(status)),
        moving=_moving(status),
        desired=number(status.desired),
        bounds=f"{status.minimum}–{status.maximum}",
        lately=_lately(glance.picture, glance.now),
        mode=_MODES[status.mode],
        why=why(status),
    )


def summary(statuses: Sequence[GroupStatus]) -> Markup:
    """Lay out how many groups there are, and which need a person."""
    return _TEMPLATE("summary", summary_of(statuses))


def summary_of(statuses: Sequence[GroupStatus]) -> Summary:
    """Return how many groups there are, and those that need a person."""
    needy = [status for status in statuses if status.condition in _NEEDY]
    count = f"{len(statuses)} group" if len(statuses) == 1 else f"{len(statuses)} groups"
    if not needy:
        return Summary(f"{count}, none in trouble" if statuses else "")
    named = tuple(
        NamedGroup(status.group, href(status.group), badge_of(status.condition))
        for status in sorted(needy, key=lambda status: severity(status.condition))[:_NAMED]
    )
    return Summary(f"{count}, {len(needy)} in trouble:", named, len(needy) - len(named))


def in_service(status: GroupStatus) -> int | None:
    """Return the members in service; ``None``: they have not been listed yet."""
    if status.listed is None:
        return None
    return sum(member.state is MemberState.IN_SERVICE for member in status.members)


def why(status: GroupStatus) -> str:
    """Return the worst message, or the reason of the last tick."""
    return status.messages[0] if status.messages else sentence_of(status.reason)


def begin_of(picture: Picture, now: Instant) -> Instant:
    """Return where a chart begins: half an hour ago, or soon after a start, a little before the first row."""
    began = now if picture.began is None else picture.began
    return Instant(max(now - KEPT, min(began, now - _SHORTEST)))


def size_traces(picture: Picture) -> tuple[Trace, Trace]:
    """Return the traces of members in service and of the desired size."""
    sizes = picture.sizes
    return (
        Trace(label="in service", at=sizes.at, values=sizes.in_service, kind="serving", stepped=True, filled=True),
        Trace(label="desired", at=sizes.at, values=sizes.desired, kind="desired", stepped=True),
    )


def _moving(status: GroupStatus) -> str:
    coming = sum(member.state in {MemberState.BUILDING, MemberState.JOINING} for member in status.members)
    going = sum(member.state in {MemberState.DRAINING, MemberState.LEAVING} for member in status.members)
    return " ".join(text for text in (f"+{coming}" if coming else "", f"−{going}" if going else "") if text)


def _lately(picture: Picture, now: Instant) -> tuple[Stroke, ...] | None:
    serving, desired = size_traces(picture)
    if not serving.at:
        return None
    return sparkline(serving, desired, begin_of(picture, now), now, gap_of(picture.interval))
