"""The first page: every group at a glance, those that need somebody named on top."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote

from config.model.catalogue import Mode
from config.units import GroupId, Instant
from handler.planning.status import GroupCondition, GroupStatus, MemberState, severity
from handler.runtime.series import KEPT, Picture
from handler.web.pages.charts import Trace, gap_of, sparkline
from handler.web.pages.facts import Glance
from handler.web.pages.figures import ABSENT, number
from handler.web.pages.frame import Parts, badge, part
from handler.web.pages.markup import Html, join, tag
from trigger.explain.words import sentence_of

_NEEDY = frozenset({GroupCondition.ERROR, GroupCondition.WARNING, GroupCondition.ORPHANED})
_SHORTEST = 120.0
_NAMED = 8
_HEADINGS = ("Group", "Condition", "In service", "Desired", "Min–max", "Lately", "Why")


def overview(glances: Sequence[Glance]) -> Html:
    """All groups: those in trouble first, and each sort in the order of their names."""
    if not glances:
        return tag("p", "No groups are declared.", class_="nothing")
    headings = tag("div", *(tag("span", heading) for heading in _HEADINGS), class_="headings", aria_hidden="true")
    shown = {glance.status.group: glance for glance in glances}
    ordered = (shown[group] for group in order(glance.status for glance in glances))
    rows = (part(row_name(glance.status.group), row(glance), "li", class_="row") for glance in ordered)
    return join([headings, tag("ul", *rows, class_="groups")])


def order(statuses: Iterable[GroupStatus]) -> tuple[GroupId, ...]:
    """The groups as they are listed: the worst condition first, then by name."""
    ranked = sorted(statuses, key=lambda status: (severity(status.condition), status.group))
    return tuple(status.group for status in ranked)


def parts_of(glances: Sequence[Glance]) -> Parts:
    """The rows of these groups, for an event."""
    return {row_name(glance.status.group): row(glance) for glance in glances}


def row_name(group: GroupId) -> str:
    """What an event calls a group's row."""
    return f"row:{group}"


def href(group: GroupId) -> str:
    """A group's own page."""
    return f"/groups/{quote(group, safe='')}"


def row(glance: Glance) -> Html:
    """One group in one line."""
    status = glance.status
    return join(
        [
            tag("a", status.group, href=href(status.group), class_="name", id=f"to-{status.group}"),
            badge(status.condition),
            _figure("in service", number(in_service(status)), _moving(status)),
            _figure("desired", number(status.desired)),
            _figure("min–max", f"{status.minimum}–{status.maximum}"),
            _lately(glance.picture, glance.now),
            tag("p", _mode(status), why(status), class_="why"),
        ]
    )


def _mode(status: GroupStatus) -> Html | None:
    """Say of a group whose size is not changed that it is so: its desired size would mislead without it."""
    said = {Mode.ACT: None, Mode.ADVISE: "advises only", Mode.OFF: "mode off"}[status.mode]
    return tag("b", f"{said} · ", class_="mode") if said else None


def summary(statuses: Sequence[GroupStatus]) -> Html:
    """How many groups, and who needs somebody."""
    needy = [status for status in statuses if status.condition in _NEEDY]
    count = f"{len(statuses)} group" if len(statuses) == 1 else f"{len(statuses)} groups"
    if not needy:
        return tag("p", f"{count}, none in trouble" if statuses else "", class_="summary")
    named = [
        tag("li", tag("a", status.group, href=href(status.group)), " ", badge(status.condition))
        for status in sorted(needy, key=lambda status: severity(status.condition))
    ]
    more = tag("li", f"and {len(named) - _NAMED} more") if len(named) > _NAMED else None
    return join(
        [
            tag("p", f"{count}, {len(needy)} in trouble:", class_="summary"),
            tag("ul", named[:_NAMED], more, class_="needy"),
        ]
    )


def in_service(status: GroupStatus) -> int | None:
    """Members in service; ``None``: nobody has looked yet."""
    if status.listed is None:
        return None
    return sum(member.state is MemberState.IN_SERVICE for member in status.members)


def why(status: GroupStatus) -> str:
    """The worst message, or the reason of the last tick."""
    return status.messages[0] if status.messages else sentence_of(status.reason)


def begin_of(picture: Picture, now: Instant, shortest: float = _SHORTEST) -> Instant:
    """Where a chart begins: half an hour ago, or, soon after a start, a little before the first row."""
    began = now if picture.began is None else picture.began
    return Instant(max(now - KEPT, min(began, now - shortest)))


def size_traces(picture: Picture) -> tuple[Trace, Trace]:
    """In service, and desired."""
    sizes = picture.sizes
    return (
        Trace(label="in service", at=sizes.at, values=sizes.in_service, kind="serving", stepped=True, filled=True),
        Trace(label="desired", at=sizes.at, values=sizes.desired, kind="desired", stepped=True),
    )


def _figure(label: str, value: str, more: str | None = None) -> Html:
    extra = tag("small", f" {more}") if more else None
    return tag("span", tag("span", f"{label} ", class_="label"), tag("b", value), extra, class_="figure")


def _moving(status: GroupStatus) -> str | None:
    coming = sum(member.state in {MemberState.BUILDING, MemberState.JOINING} for member in status.members)
    going = sum(member.state in {MemberState.DRAINING, MemberState.LEAVING} for member in status.members)
    return " ".join(text for text in (f"+{coming}" if coming else "", f"−{going}" if going else "") if text) or None


def _lately(picture: Picture, now: Instant) -> Html:
    serving, desired = size_traces(picture)
    if not serving.at:
        return tag("span", ABSENT, class_="lately")
    return tag(
        "span",
        sparkline(serving, desired, begin_of(picture, now), now, gap_of(picture.interval)),
        class_="lately",
    )
