"""Builders of what pages are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from config.model.catalogue import Mode
from config.units import GroupId, Instant, MemberName
from handler.planning.status import GroupCondition, GroupOutline, GroupStatus, MemberState, MemberStatus
from handler.runtime.series import Picture, SeriesRecorder
from handler.web.pages.charts import ChartMark
from handler.web.pages.facts import Facts, Glance
from handler.web.pages.windows import window_of
from tests.support.store import an_explanation, at
from trigger.explain.explanation import Explanation
from trigger.policies.manual_freezes import ManualFreeze
from trigger.reasons import Reason
from trigger.requests import Pause, Quiet

NOW = at(100)
_ENTERED = at(10)


def a_member(
    name: str = "web-k3f9ab-1",
    state: MemberState = MemberState.IN_SERVICE,
    *,
    address: str | None = "127.1.0.1",
    in_service_at: Instant | None = _ENTERED,
    warming: bool = False,
    protected: bool = False,
    unheard_since: Instant | None = None,
) -> MemberStatus:
    return MemberStatus(
        name=MemberName(name),
        state=state,
        address=address,
        since=at(0),
        state_since=at(10),
        protected=protected,
        warming=warming,
        raw_state="running",
        unheard_since=unheard_since,
        in_service_at=in_service_at,
    )


def a_status(
    *members: MemberStatus,
    group: str = "web",
    condition: GroupCondition = GroupCondition.RUNNING,
    messages: tuple[str, ...] = (),
    desired: int | None = 3,
    quiets: tuple[Quiet, ...] = (),
    freezes: tuple[ManualFreeze, ...] = (),
    listed: bool | None = True,
    reason: Reason = Reason.STEADY,
) -> GroupStatus:
    return GroupStatus(
        group=GroupId(group),
        condition=condition,
        messages=messages,
        mode=Mode.ACT,
        pause=Pause.NO,
        fleet_pause=None,
        queued=None,
        desired=desired,
        minimum=2,
        maximum=10,
        forced=False,
        revision=1,
        members=members,
        reason=reason,
        policies={},
        quiets=quiets,
        freezes=freezes,
        waits=(),
        decided_at=NOW,
        converged_at=NOW,
        listed=listed,
    )


def a_picture(
    sizes: Sequence[tuple[float, int | None, int | None]] = (), values: Sequence[tuple[float, float | None]] = ()
) -> Picture:
    """From (second, desired, in service) and (second, value of the condition)."""
    series = a_series(sizes)
    for second, value in values:
        series.judged(an_explanation(at(second), values=(value,)))
    return series.picture(NOW)


def a_series(sizes: Sequence[tuple[float, int | None, int | None]]) -> SeriesRecorder:
    series = SeriesRecorder(10.0)
    for second, desired, in_service in sizes:
        series.sized(at(second), desired=desired, in_service=in_service, minimum=2, maximum=10)
    return series


def a_mark(
    kind: str = "out", title: str = "scaled out 2 → 3", why: tuple[str, ...] = ("busy",), when: float = 50
) -> ChartMark:
    return ChartMark(at=at(when), kind=kind, title=title, why=why, id=f"e{when:.0f}")


def an_outline(status: GroupStatus | None = None) -> GroupOutline:
    """The outline of a group with this status."""
    of = status or a_status()
    return GroupOutline(
        group=of.group,
        condition=of.condition,
        messages=of.messages,
        mode=of.mode,
        desired=of.desired,
        minimum=of.minimum,
        maximum=of.maximum,
        counts=None if of.listed is None else Counter(member.state for member in of.members),
        reason=of.reason,
    )


def a_glance(status: GroupStatus | None = None, series: SeriesRecorder | None = None) -> Glance:
    return Glance(outline=an_outline(status), lately=(series or SeriesRecorder(10.0)).sketch(NOW, 60), now=NOW)


def some_facts(
    status: GroupStatus | None = None,
    *,
    picture: Picture | None = None,
    marks: tuple[ChartMark, ...] = (),
    explanation: Explanation | None = None,
) -> Facts:
    return Facts(
        status=status or a_status(),
        explanation=explanation,
        picture=picture or a_picture(),
        marks=marks,
        now=NOW,
        window=window_of(NOW),
    )
