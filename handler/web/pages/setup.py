"""The page of how a group is set up: definitions with what changed, balancers, its calendar, and alerts that last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from config.model.catalogue import Group
from config.model.freezes import freezing
from config.model.schedules import ScheduledLimit, standing
from config.units import GroupId, Instant
from handler.operations.outcomes import RevisionStatus
from handler.planning.attachments import Behind
from handler.ports.store import GroupEdit
from handler.web.pages.calendar import PlannedDay, week_of
from handler.web.pages.figures import minute, number
from handler.web.pages.frame import href
from handler.web.pages.layout import PageTemplate
from trigger.explain.time_words import say_freezing, say_limit
from trigger.requests import Signal

_TEMPLATE = PageTemplate("setup.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFacts:
    """What the page is made of."""

    group: Group
    revisions: Sequence[RevisionStatus]
    """Newest first."""
    balancers: Sequence[Behind]
    signals: Sequence[Signal]
    now: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionShown:
    """One definition, and what it changed."""

    number: int
    at: str
    marks: str
    """Whether it is declared, in force, or has converged."""
    members: str
    changes: tuple[str, ...]
    edits: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancerShown:
    """One balancer of the group."""

    name: str
    port: int
    by: str
    members: str
    leaving: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The page's content."""

    group: GroupId
    href: str
    now: tuple[str, ...]
    """Alerts, freezes, limits and windows in force, as text."""
    week: tuple[PlannedDay, ...]
    balancers: tuple[BalancerShown, ...]
    revisions: tuple[RevisionShown, ...]


def setup_page(facts: SetupFacts) -> Markup:
    """Lay out the page's content."""
    return _TEMPLATE("page", setup_of(facts))


def setup_of(facts: SetupFacts) -> Setup:
    """Return the page's content."""
    return Setup(
        group=facts.group.id,
        href=href(facts.group.id),
        now=tuple(_in_force(facts)),
        week=week_of(facts.group, facts.now),
        balancers=tuple(_balancer(each) for each in facts.balancers),
        revisions=tuple(_revision(each) for each in facts.revisions),
    )


def _in_force(facts: SetupFacts) -> Iterator[str]:
    group, now = facts.group, facts.now
    for signal in facts.signals:
        size = "" if signal.size is None else f" {signal.size}"
        effect = f"{signal.kind.value.replace('_', ' ')}{size}"
        ends = f"ends by {minute(signal.until)} UTC"
        because = f" ({signal.because})" if signal.because else ""
        author = f"alert {signal.alert}" if signal.alert else f"{signal.by}{because}"
        yield f"{author}: {effect} since {minute(signal.since)} UTC, {ends}"
    limits = (standing(each, now) for each in group.schedules if isinstance(each, ScheduledLimit))
    yield from (say_limit(each, group.id, now) for each in limits if each.active)
    windows = (freezing(each, now) for each in group.freezes)
    yield from (say_freezing(each, group.id, now) for each in windows if each.active)


def _balancer(behind: Behind) -> BalancerShown:
    return BalancerShown(
        name=behind.balancer,
        port=behind.port,
        by=behind.by or "earlier members only",
        members=number(behind.members),
        leaving=number(behind.leaving) if behind.leaving else "",
    )


def _revision(revision: RevisionStatus) -> RevisionShown:
    converged = "" if revision.converged_at is None else f"converged {minute(revision.converged_at)}"
    marks = ("declared" if revision.declared else "", "in force" if revision.in_force else "", converged)
    return RevisionShown(
        number=revision.number,
        at=minute(revision.at),
        marks=", ".join(mark for mark in marks if mark),
        members=number(revision.members),
        changes=revision.changes,
        edits=tuple(line for edit in revision.edits for line in _edit_lines(edit)),
    )


def _edit_lines(edit: GroupEdit) -> Iterator[str]:
    for each in edit.edits:
        values = (
            ""
            if each.before is None and each.after is None
            else f"{each.before or 'not set'} → {each.after or 'not set'}"
        )
        yield f"{minute(edit.at)} {edit.by}: {each.key}: {values or each.act.value}"
