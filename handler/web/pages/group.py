"""One group's page: what it is doing and why, its sizes and conditions over time, its decisions and its members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from config.model.catalogue import Compare, Mode
from config.units import ConditionId, GroupId, Instant, MemberName, format_span
from handler.planning.rolls import RollState
from handler.planning.status import GroupStatus, MemberState, MemberStatus
from handler.planning.steps import Wait
from handler.runtime.series import KEPT, Curve, Line
from handler.web.pages.charts import Chart, Mark, Plot, Rule, Trace, chart, gap_of
from handler.web.pages.facts import Facts
from handler.web.pages.figures import ABSENT, clock, number, quantity, span, stamp
from handler.web.pages.frame import Badge, Parts, badge_of
from handler.web.pages.layout import Template
from handler.web.pages.overview import begin_of, in_service, size_traces
from trigger.explain.explanation import ConditionExplanation, ExpressionExplanation, PolicyExplanation
from trigger.explain.pause_words import say_pause
from trigger.explain.time_words import say_moment
from trigger.explain.words import say, sentence_of
from trigger.requests import Quiet
from trigger.verdicts import Direction, Truth

_TEMPLATE = Template("group.html")
_SHORTEST = 120.0
_NEAR = 2.0
"""A bound is drawn if it is at most this many times the largest size shown; else it would press the sizes flat."""
_GLYPHS = {
    MemberState.BUILDING: "○",
    MemberState.JOINING: "◔",
    MemberState.IN_SERVICE: "●",
    MemberState.DRAINING: "◑",
    MemberState.LEAVING: "◌",
    MemberState.BROKEN: "✕",
    MemberState.UNKNOWN: "?",
    MemberState.STUCK: "⊗",
}
_TRUTHS = {Truth.TRUE: "holds", Truth.FALSE: "does not hold", Truth.UNKNOWN: "unknown"}
_MARK_WORDS = {"out": "▲", "in": "▼", "refused": "✕", "note": "■", "edit": "◆"}


@dataclass(frozen=True, slots=True)
class Stated:
    """A figure of the head."""

    term: str
    value: str
    more: str = ""
    large: bool = False
    until: str = ""
    """When a span that is counted down ends: epoch seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a group is doing."""

    group: GroupId
    badge: Badge
    reason: str
    messages: tuple[str, ...]
    figures: tuple[Stated, ...]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes over time."""

    chart: Chart | None
    """``None``: nothing has been recorded."""
    since: str
    """Since when, if that is later than the chart could begin."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A condition as one policy judged it."""

    glyph: str
    truth: str
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A condition: one that compares a counter has a value and a chart, an expression has terms."""

    condition: ConditionId
    measured: str
    verdicts: tuple[Verdict, ...]
    value: str | None = None
    chart: Chart | None = None
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A line of the group's decisions."""

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
    state: str
    glyph: str
    word: str
    state_since: str
    """Epoch seconds; ``lasting`` says how long ago that is."""
    lasting: str
    since: str
    age: str
    address: str
    raw_state: str
    notes: str


@dataclass(frozen=True, slots=True)
class Members:
    """The members, or why there are none to show."""

    rows: tuple[MemberRow, ...]
    nothing: str


def group_page(facts: Facts) -> Markup:
    """Lay out what is inside the page; each part is what an event replaces."""
    return _TEMPLATE("page", parts_of(facts))


def parts_of(facts: Facts) -> Parts:
    """Lay out every part of the page."""
    status, now = facts.status, facts.now
    lines = ("Nothing has been evaluated yet.",) if facts.explanation is None else say(facts.explanation, now)
    return {
        "head": _TEMPLATE("head", head_of(status, now)),
        "sizes": _TEMPLATE("sizes", sizes_of(facts)),
        "conditions": _TEMPLATE("conditions", tuple(cards_of(facts))),
        "now": _TEMPLATE("now", tuple((line.strip(), line.startswith(" ")) for line in lines)),
        "decisions": _TEMPLATE("decisions", tuple(_decided(mark) for mark in facts.marks)),
        "members": _TEMPLATE("members", members_of(status, now)),
    }


def head_of(status: GroupStatus, now: Instant) -> Head:
    """What a group is doing, and its figures."""
    return Head(
        group=status.group,
        badge=badge_of(status.condition),
        reason=sentence_of(status.reason),
        messages=(*status.messages, *status.unbelieved),
        figures=tuple(_figures(status, now)),
    )


def _figures(status: GroupStatus, now: Instant) -> Iterator[Stated]:
    states = Counter(member.state for member in status.members)
    others = ", ".join(f"{count} {_word(state)}" for state, count in states.items() if state.value != "in_service")
    yield Stated("In service", number(in_service(status)), others, large=True)
    yield Stated("Desired", number(status.desired), "by force" if status.forced else "", large=True)
    yield Stated("Min–max", f"{status.minimum}–{status.maximum}")
    yield from _rolling(status)
    yield from (_quiet(quiet, now) for quiet in status.quiets)
    mode = {Mode.ACT: "", Mode.ADVISE: "advises only", Mode.OFF: "off"}[status.mode]
    if held := " and ".join(text for text in (mode, say_pause(status.pause)) if text):
        yield Stated("Mode", held)
    yield from (_waiting(wait, count, status) for wait, count in status.waits)


def _waiting(wait: Wait, count: int, status: GroupStatus) -> Stated:
    more = {Wait.QUOTA: status.quota, Wait.BUDGET: status.budget}.get(wait, "")
    return Stated("Waiting for", f"{count} × {wait.value.replace('_', ' ')}", more)


def _rolling(status: GroupStatus) -> Iterator[Stated]:
    """Yield what a person has to know of definitions: a rollback, a roll, members of an earlier profile."""
    if status.rollback is not None:
        yield Stated("Rolled back", f"to revision {status.rollback.revision}", f"by {status.rollback.by}")
    roll = status.roll
    if roll is not None and roll.state is not RollState.DONE:
        word = "Rolling" if roll.state is RollState.RUNNING else f"Roll {roll.state.value}"
        budgets = roll.because or f"surge {roll.surge}, unavailable {roll.unavailable}"
        yield Stated(word, f"{roll.done}/{roll.done + roll.remaining}", budgets, large=True)
    elif status.old:
        yield Stated("Of an earlier profile", number(status.old))


def _quiet(quiet: Quiet, now: Instant) -> Stated:
    effect = "nothing scales" if quiet.direction is Direction.OUT else "nothing scales in"
    who = quiet.policy or "a person or an alarm"
    more = f"until {clock(quiet.until)}: {effect}, since {who} scaled {quiet.direction.value}"
    return Stated("Quiet", span(quiet.until - now), more, until=f"{quiet.until:.3f}")


# Charts


def sizes_of(facts: Facts) -> Sizes:
    """Sizes over time, with the bounds that are near and the decisions."""
    picture, now = facts.picture, facts.now
    begin = begin_of(picture, now, _SHORTEST)
    traces = size_traces(picture)
    shown = [value for trace in traces for value in trace.values if value is not None]
    largest = max(shown, default=0.0)
    bounds = ((facts.status.minimum, "min"), (facts.status.maximum, "max"))
    plot = Plot(
        id="chart-sizes",
        describe=f"In service and desired size since {clock(begin)} UTC; now {number(in_service(facts.status))} in "
        f"service, {number(facts.status.desired)} desired",
        begin=begin,
        end=now,
        gap=gap_of(picture.interval),
        unit="",
        traces=traces,
        rules=tuple(
            Rule(value=float(bound), label=f"{word} {bound}", kind="bound")
            for bound, word in bounds
            if bound <= max(_NEAR * largest, 1.0)
        ),
        marks=tuple(mark for mark in facts.marks if mark.at >= begin),
        lane=True,
    )
    return Sizes(chart(plot) if shown else None, _since(facts))


def _since(facts: Facts) -> str:
    began = facts.picture.began
    return "" if began is None or facts.now - began >= KEPT else clock(began)


def cards_of(facts: Facts) -> Iterator[Card]:
    """Yield every condition: those that compare one counter, then expressions."""
    policies = facts.explanation.policies if facts.explanation is not None else ()
    yield from (_condition(facts, curve, policies) for curve in facts.picture.curves)
    expressions = {judged.condition: judged for policy in policies for judged in policy.expressions}
    yield from (_expression(judged, policies) for judged in expressions.values())


def _condition(facts: Facts, curve: Curve, policies: tuple[PolicyExplanation, ...]) -> Card:
    line = curve.line
    judged = [(policy, told) for policy in policies for told in policy.conditions if told.condition == line.condition]
    return Card(
        condition=line.condition,
        value=quantity(judged[0][1].value if judged else None, line.unit),
        measured=f"{_measured(line)}, {_against(curve)}",
        verdicts=tuple(_verdict(policy, told) for policy, told in judged),
        chart=chart(_curve(facts, curve)),
    )


def _expression(shown: ExpressionExplanation, policies: tuple[PolicyExplanation, ...]) -> Card:
    judged = [(policy, told) for policy in policies for told in policy.expressions if told.condition == shown.condition]
    return Card(
        condition=shown.condition,
        measured=shown.expression,
        verdicts=tuple(_verdict(policy, told) for policy, told in judged),
        terms=tuple(f"{term.name}: {quantity(term.value, term.unit)}" for term in shown.terms),
    )


def _measured(line: Line) -> str:
    over = f"{line.aggregate} of {format_span(line.window)}"
    return f"{line.counter}, {over}" if line.per_group else f"{line.counter}, {line.across} across members, {over}"


def _against(curve: Curve) -> str:
    threshold = next((value for value in reversed(curve.thresholds) if value is not None), None)
    compare = "equal to" if curve.line.compare is Compare.EQUALS else curve.line.compare.value.replace("_", " ")
    return f"{compare} {quantity(threshold, curve.line.unit)}"


def _verdict(policy: PolicyExplanation, told: ConditionExplanation | ExpressionExplanation) -> Verdict:
    glyph = {Truth.TRUE: "●", Truth.FALSE: "○", Truth.UNKNOWN: "?"}[told.truth]
    held = f", held {span(policy.held)} of {span(policy.needed)}" if policy.needed and policy.held else ""
    return Verdict(glyph, told.truth.value, f"for {policy.policy}: {_TRUTHS[told.truth]}{held}")


def _curve(facts: Facts, curve: Curve) -> Plot:
    picture, now, line = facts.picture, facts.now, curve.line
    begin = begin_of(picture, now, _SHORTEST)
    thresholds = [value for value in curve.thresholds if value is not None]
    traces = [Trace(label=line.condition, at=picture.at, values=curve.values, kind="value")]
    if len(set(thresholds)) > 1:  # it was changed meanwhile: earlier values were held against the earlier one
        was = Trace(label="threshold", at=picture.at, values=curve.thresholds, kind="was", stepped=True)
        traces.append(was)
    rules = (Rule(value=thresholds[-1], label=_against(curve), kind="threshold"),) if thresholds else ()
    return Plot(
        id=f"chart-{line.condition}-{line.window:g}",
        describe=f"{_measured(line)} since {clock(begin)} UTC, held against: {_against(curve)}",
        begin=begin,
        end=now,
        gap=gap_of(picture.interval),
        unit=line.unit,
        traces=tuple(traces),
        rules=rules,
        marks=tuple(mark for mark in facts.marks if mark.at >= begin and mark.kind in {"out", "in", "edit"}),
    )


# Lists


def _decided(mark: Mark) -> Decided:
    return Decided(
        id=mark.id,
        clock=say_moment(mark.at),
        stamp=stamp(mark.at),
        kind=mark.kind,
        glyph=_MARK_WORDS[mark.kind],
        title=mark.title,
        why=mark.why,
    )


def members_of(status: GroupStatus, now: Instant) -> Members:
    """The members, one a line."""
    nothing = "No members." if status.listed is not None else "Nobody has looked yet."
    return Members(tuple(_member(member, now) for member in status.members), "" if status.members else nothing)


def _member(member: MemberStatus, now: Instant) -> MemberRow:
    notes = [word for word, holds in (("protected", member.protected), ("warming up", member.warming)) if holds]
    if member.unheard_since is not None:
        notes.append(f"not heard since {clock(member.unheard_since)}")
    if member.unready:
        notes.append(f"probe: {member.unready}")
    return MemberRow(
        name=member.name,
        state=member.state.value,
        glyph=_GLYPHS[member.state],
        word=_word(member.state),
        state_since=f"{member.state_since:.3f}",
        lasting=span(now - member.state_since),
        since=f"{member.since:.3f}",
        age=span(now - member.since),
        address=member.address or ABSENT,
        raw_state=member.raw_state,
        notes=", ".join(notes),
    )


def _word(state: MemberState) -> str:
    return state.value.replace("_", " ")
