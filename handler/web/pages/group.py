"""One group's page: what it is doing and why, its sizes and conditions over time, its decisions and its members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from config.model.catalogue import Compare, Mode
from config.units import Instant, format_span
from handler.planning.rolls import RollState
from handler.planning.status import GroupStatus, MemberState, MemberStatus
from handler.planning.steps import Wait
from handler.runtime.series import KEPT, Curve, Line
from handler.web.pages.charts import Mark, Plot, Rule, Trace, chart, gap_of, legend
from handler.web.pages.facts import Facts
from handler.web.pages.figures import ABSENT, clock, number, quantity, span, stamp
from handler.web.pages.frame import Parts, badge, part
from handler.web.pages.markup import Content, Html, join, tag
from handler.web.pages.overview import begin_of, in_service, size_traces
from trigger.explain.explanation import ConditionExplanation, Explanation, ExpressionExplanation, PolicyExplanation
from trigger.explain.pause_words import say_pause
from trigger.explain.time_words import say_moment
from trigger.explain.words import say, sentence_of
from trigger.requests import Quiet
from trigger.verdicts import Direction, Truth

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


def group_page(facts: Facts) -> Html:
    """What is inside the page; each part is what an event replaces."""
    parts = parts_of(facts)
    return join(
        [
            part("head", parts["head"], "div", class_="head"),
            part("sizes", parts["sizes"], "section", aria_label="Sizes over time"),
            part("conditions", parts["conditions"], "section", aria_label="Conditions"),
            part("now", parts["now"], "section", aria_label="The last evaluation"),
            part("decisions", parts["decisions"], "section", aria_label="Decisions"),
            part("members", parts["members"], "section", aria_label="Members"),
        ]
    )


def parts_of(facts: Facts) -> Parts:
    """Every part of the page."""
    return {
        "head": _head(facts),
        "sizes": _sizes(facts),
        "conditions": _conditions(facts),
        "now": _now(facts.explanation, facts.now),
        "decisions": _decisions(facts.marks),
        "members": _members(facts.status.members, facts.now, listed=facts.status.listed),
    }


def _head(facts: Facts) -> Html:
    status = facts.status
    states = Counter(member.state for member in status.members)
    others = ", ".join(f"{count} {_word(state)}" for state, count in states.items() if state.value != "in_service")
    mode = {Mode.ACT: None, Mode.ADVISE: "advises only", Mode.OFF: "off"}[status.mode]
    pause, said = say_pause(status.pause), (*status.messages, *status.unbelieved)
    return join(
        [
            tag("h1", status.group, " ", badge(status.condition)),
            tag("p", sentence_of(status.reason), class_="reason"),
            tag("ul", *(tag("li", message) for message in said), class_="messages") if said else None,
            tag(
                "dl",
                _stated("In service", tag("b", number(in_service(status))), others or None),
                _stated("Desired", tag("b", number(status.desired)), "by force" if status.forced else None),
                _stated("Min–max", f"{status.minimum}–{status.maximum}"),
                *_rolling(status),
                *(_stated("Quiet", *_quiet(quiet, facts.now)) for quiet in status.quiets),
                _stated("Mode", " and ".join(text for text in (mode, pause) if text)) if mode or pause else None,
                *(_waiting(wait, count, status) for wait, count in status.waits),
                class_="figures",
            ),
        ]
    )


def _waiting(wait: Wait, count: int, status: GroupStatus) -> Html:
    more = {Wait.QUOTA: status.quota, Wait.BUDGET: status.budget}.get(wait) or None
    return _stated("Waiting for", f"{count} × {wait.value.replace('_', ' ')}", more)


def _rolling(status: GroupStatus) -> Iterator[Html]:
    """Yield what a person has to know of definitions: a rollback, a roll, members of an earlier profile."""
    if status.rollback is not None:
        yield _stated("Rolled back", f"to revision {status.rollback.revision}", f"by {status.rollback.by}")
    roll = status.roll
    if roll is not None and roll.state is not RollState.DONE:
        progress = tag("b", f"{roll.done}/{roll.done + roll.remaining}")
        word = "Rolling" if roll.state is RollState.RUNNING else f"Roll {roll.state.value}"
        yield _stated(word, progress, roll.because or f"surge {roll.surge}, unavailable {roll.unavailable}")
    elif status.old:
        yield _stated("Of an earlier profile", number(status.old))


def _stated(term: str, value: Content, more: Content = None) -> Html:
    small = tag("small", more) if more is not None else None
    return tag("div", tag("dt", term), tag("dd", value, small))


def _quiet(quiet: Quiet, now: Instant) -> tuple[Html, str]:
    effect = "nothing scales" if quiet.direction is Direction.OUT else "nothing scales in"
    who = quiet.policy or "a person or an alarm"
    left = tag("b", span(quiet.until - now), data_until=f"{quiet.until:.3f}")
    return left, f"until {clock(quiet.until)}: {effect}, since {who} scaled {quiet.direction.value}"


# Charts


def _sizes(facts: Facts) -> Html:
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
    keys = legend(("serving", "in service"), ("desired", "desired"), ("bound", "min, max"))
    return join([tag("h2", "Sizes"), keys, chart(plot) if shown else _nothing(), _since(facts)])


def _since(facts: Facts) -> Html | None:
    began = facts.picture.began
    if began is None or facts.now - began >= KEPT:
        return None
    return tag(
        "p", f"Recorded since {clock(began)} UTC, when Trimtab began; what was before is not kept.", class_="note"
    )


def _nothing() -> Html:
    return tag("p", "Nothing has been recorded since Trimtab started.", class_="nothing")


def _conditions(facts: Facts) -> Html:
    heading = tag("h2", "Conditions")
    policies = facts.explanation.policies if facts.explanation is not None else ()
    expressions = {judged.condition: judged for policy in policies for judged in policy.expressions}
    cards = [_condition(facts, curve, policies) for curve in facts.picture.curves]
    cards += [_expression(judged, policies) for judged in expressions.values()]
    if not cards:
        return join([heading, tag("p", "No condition has been judged since Trimtab started.", class_="nothing")])
    return join([heading, tag("div", cards, class_="cards")])


def _condition(facts: Facts, curve: Curve, policies: tuple[PolicyExplanation, ...]) -> Html:
    line = curve.line
    judged = [(policy, told) for policy in policies for told in policy.conditions if told.condition == line.condition]
    value = judged[0][1].value if judged else None
    return tag(
        "article",
        tag("h3", line.condition, tag("b", quantity(value, line.unit))),
        tag("p", f"{_measured(line)}, {_against(curve)}", class_="measured"),
        tag("ul", *(tag("li", _verdict(policy, told)) for policy, told in judged), class_="verdicts"),
        chart(_curve(facts, curve)),
    )


def _expression(shown: ExpressionExplanation, policies: tuple[PolicyExplanation, ...]) -> Html:
    judged = [(policy, told) for policy in policies for told in policy.expressions if told.condition == shown.condition]
    return tag(
        "article",
        tag("h3", shown.condition),
        tag("p", shown.expression, class_="measured"),
        tag("ul", *(tag("li", _verdict(policy, told)) for policy, told in judged), class_="verdicts"),
        tag("ul", *(tag("li", f"{term.name}: {quantity(term.value, term.unit)}") for term in shown.terms)),
    )


def _measured(line: Line) -> str:
    over = f"{line.aggregate} of {format_span(line.window)}"
    return f"{line.counter}, {over}" if line.per_group else f"{line.counter}, {line.across} across members, {over}"


def _against(curve: Curve) -> str:
    threshold = next((value for value in reversed(curve.thresholds) if value is not None), None)
    compare = "equal to" if curve.line.compare is Compare.EQUALS else curve.line.compare.value.replace("_", " ")
    return f"{compare} {quantity(threshold, curve.line.unit)}"


def _verdict(policy: PolicyExplanation, told: ConditionExplanation | ExpressionExplanation) -> Content:
    glyph = {Truth.TRUE: "●", Truth.FALSE: "○", Truth.UNKNOWN: "?"}[told.truth]
    held = f", held {span(policy.held)} of {span(policy.needed)}" if policy.needed and policy.held else ""
    shape = tag("span", glyph, aria_hidden="true", class_=f"truth {told.truth.value}")
    return [shape, f" for {policy.policy}: {_TRUTHS[told.truth]}{held}"]


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


# Words and lists


def _now(explanation: Explanation | None, now: Instant) -> Html:
    lines = ("Nothing has been evaluated yet.",) if explanation is None else say(explanation, now)
    items = [tag("li", line.strip(), class_="inner" if line.startswith(" ") else None) for line in lines]
    return join([tag("h2", "Why"), tag("ul", items, class_="words")])


def _decisions(marks: tuple[Mark, ...]) -> Html:
    rows = [
        tag(
            "li",
            tag("time", say_moment(mark.at), datetime=stamp(mark.at), title=stamp(mark.at)),
            tag("span", _MARK_WORDS[mark.kind], class_=f"glyph {mark.kind}", aria_hidden="true"),
            tag("div", tag("b", mark.title), *(tag("p", line) for line in mark.why)),
            id=mark.id,
            tabindex="-1",
        )
        for mark in marks
    ]
    nothing = tag("p", "Nothing has been decided yet.", class_="nothing")
    return join([tag("h2", "Decisions"), tag("ol", rows, class_="decisions") if rows else nothing])


_COLUMNS = ("Member", "State", "For", "Age", "Address", "Cloud says", "Notes")


def _members(members: tuple[MemberStatus, ...], now: Instant, *, listed: bool | None) -> Html:
    heading = tag("h2", "Members")
    if not members:
        words = "No members." if listed is not None else "Nobody has looked yet."
        return join([heading, tag("p", words, class_="nothing")])
    head = tag("thead", tag("tr", *(tag("th", column, scope="col") for column in _COLUMNS)))
    return join(
        [heading, tag("table", head, tag("tbody", *(_member(member, now) for member in members)), class_="members")]
    )


def _member(member: MemberStatus, now: Instant) -> Html:
    notes = [word for word, holds in (("protected", member.protected), ("warming up", member.warming)) if holds]
    if member.unheard_since is not None:
        notes.append(f"not heard since {clock(member.unheard_since)}")
    if member.unready:
        notes.append(f"probe: {member.unready}")
    glyph = tag("span", _GLYPHS[member.state], aria_hidden="true")
    state = tag("span", glyph, f" {_word(member.state)}", class_=f"state {member.state.value}")
    cells: tuple[Content, ...] = (
        state,
        tag("span", span(now - member.state_since), data_since=f"{member.state_since:.3f}"),
        tag("span", span(now - member.since), data_since=f"{member.since:.3f}"),
        member.address or ABSENT,
        member.raw_state,
        ", ".join(notes),
    )
    named = zip(_COLUMNS[1:], cells, strict=True)
    return tag("tr", tag("th", member.name, scope="row"), *(tag("td", cell, data_label=name) for name, cell in named))


def _word(state: MemberState) -> str:
    return state.value.replace("_", " ")
