"""One group's page: its state and the reasons, its decisions, its members and its curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from config.model.catalogue import Mode
from config.model.effects import FrozenDirection
from config.units import GroupId, Instant, MemberName, format_span
from handler.planning.rolls import RollState
from handler.planning.status import GroupStatus, MemberState, MemberStatus
from handler.planning.steps import Wait
from handler.web.pages.acts import ActBar
from handler.web.pages.apart import ShownValue
from handler.web.pages.charts import ChartMark
from handler.web.pages.curves import cards_of, sizes_of
from handler.web.pages.facts import Facts
from handler.web.pages.figures import ABSENT, clock, minute, number, span, stamp
from handler.web.pages.frame import Badge, Parts, badge_of, href, member_href
from handler.web.pages.layout import PageTemplate
from handler.web.pages.registrations import ShownRegistration, shown_registrations
from handler.web.pages.windows import SPANS, Window, field_text, window_of
from trigger.explain.forecast_words import say_learned
from trigger.explain.time_words import say_moment, say_pause
from trigger.explain.words import say, sentence_of
from trigger.policies.manual_freezes import ManualFreeze
from trigger.requests import Quiet
from trigger.verdicts import Direction

_TEMPLATE = PageTemplate("group.html")
GLYPHS = {
    MemberState.BUILDING: "○",
    MemberState.JOINING: "◔",
    MemberState.IN_SERVICE: "●",
    MemberState.DRAINING: "◑",
    MemberState.LEAVING: "◌",
    MemberState.BROKEN: "✕",
    MemberState.UNKNOWN: "?",
    MemberState.STUCK: "⊗",
}
_MARK_WORDS = {"out": "▲", "in": "▼", "refused": "✕", "note": "■", "edit": "◆"}


@dataclass(frozen=True, slots=True)
class Stated:
    """A figure in the head of the page."""

    term: str
    value: str
    more: str = ""
    large: bool = False
    until: str = ""
    """When a countdown ends: epoch seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A group's state and figures."""

    group: GroupId
    setup: str
    """The path of the page of how it is set up."""
    values: str
    """The path of the page of what its members showed over time."""
    badge: Badge
    reason: str
    messages: tuple[str, ...]
    figures: tuple[Stated, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A line of the list of decisions."""

    id: str
    clock: str
    stamp: str
    kind: str
    glyph: str
    title: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """A line of the table of members."""

    name: MemberName
    href: str
    state: str
    glyph: str
    word: str
    state_since: str
    """Epoch seconds; ``lasting`` is the time since then."""
    lasting: str
    since: str
    age: str
    address: str
    raw_state: str
    notes: str
    shows: tuple[ShownValue, ...]
    """What it showed by itself at the last tick, where that is exported."""
    balancers: tuple[ShownRegistration, ...]


@dataclass(frozen=True, slots=True)
class WindowLink:
    """A link to another time of the same page."""

    label: str
    href: str
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowChoice:
    """The time that the page shows, and others."""

    spans: tuple[WindowLink, ...]
    moves: tuple[WindowLink, ...]
    wider: WindowLink
    begin: str
    end: str
    """For fields of a form: UTC."""


@dataclass(frozen=True, slots=True)
class MembersTable:
    """The members, or why none are shown."""

    rows: tuple[MemberRow, ...]
    nothing: str
    has_values: bool
    """Members' own values are exported."""
    read_at: str
    """When the balancers were read; empty: no member is behind one."""


def group_page(facts: Facts, acts: ActBar | None = None) -> Markup:
    """Lay out the page's content; an event replaces single parts of it.

    Args:
        facts: what the page shows, the same for all who look.
        acts: what the person who looks may do; ``None``: nothing.
    """
    return _TEMPLATE("page", parts_of(facts), window_choice(facts.window), acts)


def window_choice(window: Window) -> WindowChoice:
    """Return the time that the page shows, and those that it leads to."""
    spans = (window_of(window.end, span=format_span(span)) for span in SPANS)
    return WindowChoice(
        spans=tuple(_link(span(each.length), each, chosen=each.span == window.span) for each in spans),
        moves=(_link("earlier", window.moved(-0.5)), _link("later", window.moved(0.5))),
        wider=_link("wider", window.wider(2.0)),
        begin=field_text(window.begin),
        end=field_text(window.end),
    )


def _link(label: str, window: Window, *, chosen: bool = False) -> WindowLink:
    return WindowLink(label, f"?{window.query}", chosen)


def parts_of(facts: Facts) -> Parts:
    """Lay out every part of the page."""
    status, now = facts.status, facts.now
    lines = ("Nothing has been evaluated yet.",) if facts.explanation is None else say(facts.explanation, now)
    return {
        "head": _TEMPLATE("head", head_of(status, now)),
        **chart_parts(facts),
        "now": _TEMPLATE("now", tuple((line.strip(), line.startswith(" ")) for line in lines)),
        "decisions": _TEMPLATE("decisions", tuple(_decided(mark) for mark in facts.marks)),
        "members": _TEMPLATE("members", members_of(facts)),
    }


def chart_parts(facts: Facts) -> Parts:
    """Lay out the parts that have charts."""
    return {
        "sizes": _TEMPLATE("sizes", sizes_of(facts)),
        "conditions": _TEMPLATE("conditions", tuple(cards_of(facts))),
    }


def head_of(status: GroupStatus, now: Instant) -> Head:
    """Return a group's state and figures."""
    return Head(
        group=status.group,
        setup=f"{href(status.group)}/setup",
        values=f"{href(status.group)}/values",
        badge=badge_of(status.condition),
        reason=sentence_of(status.reason),
        messages=(*status.messages, *status.unbelieved),
        figures=tuple(_figures(status, now)),
    )


def _figures(status: GroupStatus, now: Instant) -> Iterator[Stated]:
    states = Counter(member.state for member in status.members)
    others = ", ".join(f"{count} {state_word(state)}" for state, count in states.items() if state.value != "in_service")
    yield Stated("In service", number(status.in_service), others, large=True)
    yield Stated("Desired", number(status.desired), "by force" if status.forced else "", large=True)
    yield Stated("Min–max", f"{status.minimum}–{status.maximum}")
    yield from _rolling(status)
    yield from _times(status)
    yield from (_quiet(quiet, now) for quiet in status.quiets)
    yield from (_frozen(freeze, now) for freeze in status.freezes)
    mode = {Mode.ACT: "", Mode.ADVISE: "advises only", Mode.OFF: "off"}[status.mode]
    if held := " and ".join(text for text in (mode, say_pause(status.pause)) if text):
        yield Stated("Mode", held)
    yield from (_waiting(wait, count, status) for wait, count in status.waits)


def _waiting(wait: Wait, count: int, status: GroupStatus) -> Stated:
    more = {Wait.QUOTA: status.quota, Wait.BUDGET: status.budget}.get(wait, "")
    return Stated("Waiting for", f"{count} × {wait.value.replace('_', ' ')}", more)


def _rolling(status: GroupStatus) -> Iterator[Stated]:
    """Yield the figures about definitions: a rollback, a roll, members of an earlier profile."""
    if status.rollback is not None:
        yield Stated("Rolled back", f"to revision {status.rollback.revision}", f"by {status.rollback.by}")
    roll = status.roll
    if roll is not None and roll.state is not RollState.DONE:
        word = "Rolling" if roll.state is RollState.RUNNING else f"Roll {roll.state.value}"
        budgets = roll.because or f"surge {roll.surge}, unavailable {roll.unavailable}"
        yield Stated(word, f"{roll.done}/{roll.done + roll.remaining}", budgets, large=True)
    elif status.old:
        yield Stated("Of an earlier profile", number(status.old))


def _times(status: GroupStatus) -> Iterator[Stated]:
    """Yield how long members take, with the evidence."""
    for term, learned in (("Boots in", status.boot), ("Drains in", status.drain)):
        if learned is not None:
            yield Stated(term, span(learned.most), say_learned(learned))


def _quiet(quiet: Quiet, now: Instant) -> Stated:
    effect = "no policy scales" if quiet.direction is Direction.OUT else "no policy scales in"
    who = quiet.policy or "a person or an alarm"
    more = f"until {clock(quiet.until)}: {effect}, since {who} scaled {quiet.direction.value}"
    return Stated("Quiet", span(quiet.until - now), more, until=f"{quiet.until:.3f}")


def _frozen(freeze: ManualFreeze, now: Instant) -> Stated:
    term = {FrozenDirection.BOTH: "Frozen", FrozenDirection.IN: "Shielded", FrozenDirection.OUT: "No growth"}
    because = f": {freeze.because}" if freeze.because else ""
    more = f"until {minute(freeze.until)} UTC by {freeze.by}{because}"
    return Stated(term[freeze.direction], span(freeze.until - now), more, until=f"{freeze.until:.3f}")


def _decided(mark: ChartMark) -> Decided:
    return Decided(
        id=mark.id,
        clock=say_moment(mark.at),
        stamp=stamp(mark.at),
        kind=mark.kind,
        glyph=_MARK_WORDS[mark.kind],
        title=mark.title,
        why=mark.why,
    )


def members_of(facts: Facts) -> MembersTable:
    """Return the members, one for each line."""
    status, now = facts.status, facts.now
    nothing = "No members." if status.listed is not None else "The members have not been listed yet."
    registrations = shown_registrations(facts.world)
    rows = tuple(
        _member(status.group, member, now, facts.values.get(member.name, ()), registrations.get(member.name, ()))
        for member in status.members
    )
    return MembersTable(
        rows,
        "" if status.members else nothing,
        has_values=bool(facts.values),
        read_at=clock(facts.world.at) if registrations and facts.world is not None else "",
    )


def _member(
    group: GroupId,
    member: MemberStatus,
    now: Instant,
    shows: tuple[ShownValue, ...],
    balancers: tuple[ShownRegistration, ...],
) -> MemberRow:
    notes = [word for word, holds in (("protected", member.protected), ("warming up", member.warming)) if holds]
    if member.unheard_since is not None:
        notes.append(f"no answer since {clock(member.unheard_since)}")
    if member.unready:
        notes.append(f"probe: {member.unready}")
    return MemberRow(
        name=member.name,
        href=member_href(group, member.name),
        state=member.state.value,
        glyph=GLYPHS[member.state],
        word=state_word(member.state),
        state_since=f"{member.state_since:.3f}",
        lasting=span(now - member.state_since),
        since=f"{member.since:.3f}",
        age=span(now - member.since),
        address=member.address or ABSENT,
        raw_state=member.raw_state,
        notes=", ".join(notes),
        shows=shows,
        balancers=balancers,
    )


def state_word(state: MemberState) -> str:
    """Return a member's state in words."""
    return state.value.replace("_", " ")
