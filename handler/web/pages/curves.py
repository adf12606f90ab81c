"""A group's sizes and conditions over time: charts, and the thresholds as text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from config.model.catalogue import Compare
from config.units import ConditionId, Instant, PolicyId, Seconds, format_span
from handler.runtime.series import ConditionLine, Curve, ForeseenCurve, Picture, begin_of
from handler.web.pages.charts import Chart, Plot, Rule, Trace, chart, gap_of
from handler.web.pages.facts import Facts
from handler.web.pages.figures import minute, number, quantity, span
from handler.web.pages.windows import RECENT
from trigger.explain.explanation import ConditionExplanation, ExpressionExplanation, PolicyExplanation
from trigger.verdicts import Truth

_NEAR = 2.0
"""A bound is drawn if it is at most this many times the largest size shown; a higher one would flatten the sizes."""
_TRUTHS = {Truth.TRUE: "holds", Truth.FALSE: "does not hold", Truth.UNKNOWN: "unknown"}


@dataclass(frozen=True, slots=True)
class SizesShown:
    """Sizes over time."""

    chart: Chart | None
    """``None``: nothing has been recorded."""
    since: str
    """When the record begins, if that is later than the chart's possible start."""


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """A condition as one policy judged it."""

    glyph: str
    truth: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """A condition or a forecast: a comparison has a value and a chart, an expression has terms."""

    condition: ConditionId | PolicyId
    measured: str
    verdicts: tuple[VerdictLine, ...]
    value: str | None = None
    chart: Chart | None = None
    terms: tuple[str, ...] = ()


def sizes_of(facts: Facts) -> SizesShown:
    """Return the sizes over time, with near bounds and the decisions."""
    picture, begin, end = facts.picture, _begin(facts), facts.window.end
    traces = _size_traces(picture)
    shown = [value for trace in traces for value in trace.values if value is not None]
    largest = max(shown, default=0.0)
    bounds = ((facts.status.minimum, "min"), (facts.status.maximum, "max"))
    plot = Plot(
        id="chart-sizes",
        describe=f"In service and desired size from {minute(begin)} to {minute(end)} UTC; now "
        f"{number(facts.status.in_service)} in service, {number(facts.status.desired)} desired",
        begin=begin,
        end=end,
        gap=gap_of(picture.interval),
        unit="",
        traces=traces,
        rules=tuple(
            Rule(value=float(bound), label=f"{word} {bound}", kind="bound")
            for bound, word in bounds
            if bound <= max(_NEAR * largest, 1.0)
        ),
        marks=tuple(mark for mark in facts.marks if begin <= mark.at <= end),
        lane=True,
    )
    return SizesShown(chart(plot) if shown else None, _since(facts))


def _begin(facts: Facts) -> Instant:
    """Return where charts begin: soon after a start the last half hour has little to show."""
    window = facts.window
    return begin_of(facts.picture.began, facts.now) if window.span == RECENT else window.begin


def _size_traces(picture: Picture) -> tuple[Trace, Trace]:
    sizes = picture.sizes
    return (
        Trace(label="in service", at=sizes.at, values=sizes.in_service, kind="serving", stepped=True, filled=True),
        Trace(label="desired", at=sizes.at, values=sizes.desired, kind="desired", stepped=True),
    )


def _since(facts: Facts) -> str:
    began, window = facts.picture.began, facts.window
    return "" if began is None or began - window.begin <= window.length / 50 else minute(began)


def cards_of(facts: Facts) -> Iterator[Card]:
    """Yield every forecast and every condition: those that compare one counter, then expressions."""
    yield from (_forecast(facts, curve) for curve in facts.picture.foreseen)
    policies = facts.explanation.policies if facts.explanation is not None else ()
    yield from (_condition(facts, curve, policies) for curve in facts.picture.curves)
    expressions = {judged.condition: judged for policy in policies for judged in policy.expressions}
    yield from (_expression(judged, policies) for judged in expressions.values())


def _forecast(facts: Facts, curve: ForeseenCurve) -> Card:
    """Draw what was forecast at the time that it was for, with its headroom, and over it the load that then came."""
    begin, end, gap = _begin(facts), facts.window.end, gap_of(facts.picture.interval)
    ends = list(accumulate((at + (ahead or 0.0) for at, ahead in zip(curve.at, curve.within, strict=True)), max))
    said = [_said_for(curve, ends, at, gap) for at in curve.at]
    within = next((each for each in reversed(curve.within) if each is not None), 0.0)
    measured = f"load in members, and what was forecast for it {span(within)} before"
    load = next((each for each in reversed(curve.load) if each is not None), None)
    return Card(
        condition=curve.policy,
        value=quantity(load, "members"),
        measured=f"{measured}; the band is its headroom",
        verdicts=(),
        chart=chart(
            Plot(
                id=f"chart-forecast-{curve.policy}",
                describe=f"{measured}, from {minute(begin)} to {minute(end)} UTC",
                begin=begin,
                end=end,
                gap=gap,
                unit="members",
                traces=(
                    Trace(
                        label="forecast",
                        at=curve.at,
                        values=[most for _, most in said],
                        floor=[coming for coming, _ in said],
                        kind="range",
                    ),
                    Trace(label="load", at=curve.at, values=curve.load, kind="value"),
                ),
                marks=tuple(mark for mark in facts.marks if begin <= mark.at <= end and mark.kind in {"out", "in"}),
            )
        ),
    )


def _said_for(
    curve: ForeseenCurve, ends: Sequence[float], at: Instant, gap: Seconds
) -> tuple[float | None, float | None]:
    """Return the load that was forecast for an instant, and that with its headroom; ``None``: nothing was.

    Args:
        curve: what was forecast.
        ends: the instants that its rows were for, ascending.
        at: the instant.
        gap: a forecast for an instant that is longer ago does not count.
    """
    place = bisect_right(ends, at) - 1
    if place < 0 or at - ends[place] > gap:
        return None, None
    return curve.coming[place], curve.at_most[place]


def _condition(facts: Facts, curve: Curve, policies: tuple[PolicyExplanation, ...]) -> Card:
    line = curve.line
    judged = [
        (policy, explanation)
        for policy in policies
        for explanation in policy.conditions
        if explanation.condition == line.condition
    ]
    return Card(
        condition=line.condition,
        value=quantity(judged[0][1].value if judged else None, line.unit),
        measured=f"{_measured(line)}, {_against(curve)}",
        verdicts=tuple(_verdict(policy, explanation) for policy, explanation in judged),
        chart=chart(_curve(facts, curve)),
    )


def _expression(shown: ExpressionExplanation, policies: tuple[PolicyExplanation, ...]) -> Card:
    judged = [
        (policy, explanation)
        for policy in policies
        for explanation in policy.expressions
        if explanation.condition == shown.condition
    ]
    return Card(
        condition=shown.condition,
        measured=shown.expression,
        verdicts=tuple(_verdict(policy, explanation) for policy, explanation in judged),
        terms=tuple(f"{term.name}: {quantity(term.value, term.unit)}" for term in shown.terms),
    )


def _measured(line: ConditionLine) -> str:
    over = f"{line.aggregate} of {format_span(line.window)}"
    return f"{line.counter}, {over}" if line.per_group else f"{line.counter}, {line.across} across members, {over}"


def _against(curve: Curve) -> str:
    threshold = next((value for value in reversed(curve.thresholds) if value is not None), None)
    compare = "equal to" if curve.line.compare is Compare.EQUALS else curve.line.compare.value.replace("_", " ")
    return f"{compare} {quantity(threshold, curve.line.unit)}"


def _verdict(policy: PolicyExplanation, explanation: ConditionExplanation | ExpressionExplanation) -> VerdictLine:
    glyph = {Truth.TRUE: "●", Truth.FALSE: "○", Truth.UNKNOWN: "?"}[explanation.truth]
    held = f", held {span(policy.held)} of {span(policy.needed)}" if policy.needed and policy.held else ""
    return VerdictLine(glyph, explanation.truth.value, f"for {policy.policy}: {_TRUTHS[explanation.truth]}{held}")


def _curve(facts: Facts, curve: Curve) -> Plot:
    picture, line = facts.picture, curve.line
    begin, end = _begin(facts), facts.window.end
    thresholds = [value for value in curve.thresholds if value is not None]
    traces = [Trace(label=line.condition, at=picture.at, values=curve.values, kind="value")]
    if any(value is not None for value in curve.greatest):
        ranges = Trace(label="range", at=picture.at, values=curve.greatest, floor=curve.least, kind="range")
        traces.insert(0, ranges)
    if len(set(thresholds)) > 1:  # edited meanwhile: earlier values had the earlier one
        was = Trace(label="threshold", at=picture.at, values=curve.thresholds, kind="was", stepped=True)
        traces.append(was)
    rules = (Rule(value=thresholds[-1], label=_against(curve), kind="threshold"),) if thresholds else ()
    return Plot(
        id=f"chart-{line.condition}-{line.window:g}",
        describe=f"{_measured(line)} from {minute(begin)} to {minute(end)} UTC, compared with: {_against(curve)}",
        begin=begin,
        end=end,
        gap=gap_of(picture.interval),
        unit=line.unit,
        traces=tuple(traces),
        rules=rules,
        marks=tuple(mark for mark in facts.marks if begin <= mark.at <= end and mark.kind in {"out", "in", "edit"}),
    )
