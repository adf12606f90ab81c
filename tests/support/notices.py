"""Builders for notices, and a receiver that writes down what it gets."""

from __future__ import annotations

from config.model import Group, Notify, NotifyCommand, NotifyTarget, Severity
from config.units import GroupId, Instant, ProfileId
from handler.notices import Filed, Notice, Turn
from handler.status import GroupCondition

NOW = Instant(1_700_000_000.0)
BOTH = (Severity.WARNING, Severity.ERROR)
PAGER = NotifyCommand(command=("/usr/local/bin/page",))


def at(seconds: float) -> Instant:
    return Instant(NOW + seconds)


def a_watched_group(
    name: str = "web", *, on: tuple[Severity, ...] = BOTH, target: NotifyTarget = PAGER, interval: float = 30.0
) -> Group:
    return Group(
        id=GroupId(name),
        profile=ProfileId("small"),
        minimum=2,
        maximum=8,
        interval=interval,
        notify=Notify(target=target, on=on),
    )


def a_notice(
    group: str = "web",
    turn: Turn = Turn.ENTERED,
    severity: Severity = Severity.ERROR,
    *,
    since: float = 0.0,
    told: float | None = None,
    messages: tuple[str, ...] = ("create: no such image",),
) -> Notice:
    entered = GroupCondition(severity.value)
    return Notice(
        group=GroupId(group),
        turn=turn,
        severity=severity,
        condition=entered if turn is Turn.ENTERED else GroupCondition.RUNNING,
        messages=messages if turn is Turn.ENTERED else (),
        since=at(since),
        at=at(since if told is None else told),
    )


def a_filed(notice: Notice | None = None, *, target: NotifyTarget = PAGER, attempts: int = 0) -> Filed:
    return Filed(notice=notice or a_notice(), target=target, attempts=attempts)
