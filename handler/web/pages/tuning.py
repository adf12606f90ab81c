"""The page on which a person tries other settings of a group: its fields, and what would have happened. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from config.model.catalogue import Compare
from config.units import GroupId, Instant, Seconds, format_span
from handler.operations.setting_changes import SettingChange
from handler.tuning.outcomes import Outcome
from handler.tuning.parameters import Parameter
from handler.web.pages.charts import Chart, Plot, Rule, Trace, chart, gap_of
from handler.web.pages.figures import ABSENT, minute, number, quantity, span
from handler.web.pages.frame import href
from handler.web.pages.group import WindowLink
from handler.web.pages.layout import PageTemplate
from handler.web.pages.setting_shown import CanaryShown, ChangeShown, SettingActions, change_of
from handler.web.pages.windows import Window, window_of
from handler.what_if.question import Answer, ConditionCourse, SizeCourse, SizeDifference
from trigger.explain.words import sentence_of

_TEMPLATE = PageTemplate("tuning.html")
SPANS: tuple[Seconds, ...] = (3600.0, 86_400.0, 7 * 86_400.0, 30 * 86_400.0)
USUAL: Seconds = 7 * 86_400.0
"""The time that is looked at if nothing else is asked for."""
_AROUND: Seconds = 300.0
"""Before and after a difference: the time in which its cause is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneField:
    """One value that may be changed."""

    id: str
    name: str
    """Of the parameter: ``conditions.busy.above``."""
    label: str
    value: str
    """As it is entered: a number without its unit, or a duration."""
    declared: str
    """Likewise."""
    unit: str
    is_number: bool
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedEntry:
    """The fields of one condition or policy."""

    title: str
    fields: tuple[TuneField, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """One figure of the three fleets, and how the asked one differs from the declared one."""

    name: str
    real: str
    declared: str
    asked: str
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceRow:
    """A time in which the size would have been another one."""

    begin: str
    lasting: str
    sizes: str
    why: str
    href: str
    """To the group's page at that time, where what really happened is explained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdCard:
    """What a condition measured, with the threshold that can be moved."""

    condition: str
    parameter: str
    threshold: str
    chart: Chart | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerShown:
    """What would have happened."""

    caveats: tuple[str, ...]
    figures: tuple[FigureRow, ...]
    limit: str
    time: str
    sizes: Chart
    cards: tuple[ThresholdCard, ...]
    differences: tuple[DifferenceRow, ...]
    more: int
    """Further differences, shorter than those."""
    change: ChangeShown | None
    """``None``: the setting is the declared one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunePage:
    """The page's content."""

    group: GroupId
    href: str
    spans: tuple[WindowLink, ...]
    begin: str
    end: str
    entries: tuple[TunedEntry, ...]
    refused: tuple[str, ...]
    """Why there is nothing to try."""
    answer: Markup
    """Empty: nothing was asked yet."""
    applied: str = ""
    """What was applied last, in words; empty: nothing was, or it is not the person's to see."""
    dialog: str = ""
    """The path of the dialog that takes it back; empty: this page can send no request."""
    canary: CanaryShown | None = None
    """``None``: there is none, or it is not the person's to see."""


def tune_page(page: TunePage) -> Markup:
    """Lay out the page's content."""
    return _TEMPLATE("page", page)


def answer_part(answer: Answer, change: SettingChange | str | None, applying: SettingActions | None = None) -> Markup:
    """Lay out an answer, and what it takes to declare the setting; or why it cannot be declared."""
    return _TEMPLATE("answer", answer_of(answer, change, applying))


def refusal_part(reason: str) -> Markup:
    """Lay out why there is no answer."""
    return _TEMPLATE("refusal", tuple(reason.splitlines()))


def entries_of(parameters: Sequence[Parameter], values: Mapping[str, str]) -> Iterator[TunedEntry]:
    """Yield the fields of the page, those of one condition or policy together."""
    entries: dict[str, list[TuneField]] = {}
    for parameter in parameters:
        section, name, *keys = parameter.where
        title = f"{'Condition' if section == 'conditions' else 'Policy'} {name}"
        entries.setdefault(title, []).append(_field(parameter, " ".join(keys), values))
    yield from (TunedEntry(title=title, fields=tuple(fields)) for title, fields in entries.items())


def _field(parameter: Parameter, keys: str, values: Mapping[str, str]) -> TuneField:
    unit = (parameter.unit or "").strip()

    def entered(value: float) -> str:
        return parameter.text(value).removesuffix(parameter.unit or "")

    return TuneField(
        id=f"set-{parameter.name.replace('.', '-')}",
        name=parameter.name,
        label=keys.replace("_", " "),
        value=values.get(parameter.name, entered(parameter.today)).strip(),
        declared=entered(parameter.today),
        unit=unit,
        is_number=parameter.unit is not None,
        choices=tuple(map(entered, parameter.choices)),
    )


def span_links(now: Instant, window: Window, values: Mapping[str, str]) -> tuple[WindowLink, ...]:
    """Return links to the same setting over other times."""
    windows = (window_of(now, span=format_span(each)) for each in SPANS)
    return tuple(
        WindowLink(
            f"{span(each.length)}",
            f"?{urlencode({'span': format_span(each.length), **values})}",
            chosen=each.span == window.span,
        )
        for each in windows
    )


def answer_of(
    answer: Answer, change: SettingChange | str | None = None, applying: SettingActions | None = None
) -> AnswerShown:
    """Return what a page shows of an answer."""
    return AnswerShown(
        caveats=answer.caveats,
        figures=tuple(_figures(answer)),
        limit=answer.limit,
        time=f"{minute(answer.begin)} to {minute(answer.end)} UTC",
        sizes=_sizes(answer),
        cards=tuple(_card(answer, each) for each in answer.conditions),
        differences=tuple(_difference(answer.group, each) for each in answer.differences),
        more=answer.differing - len(answer.differences),
        change=change_of(answer.group, change, applying),
    )


def _figures(answer: Answer) -> Iterator[FigureRow]:
    for name, of in (
        ("Member-hours", lambda each: each.hours),
        ("Minutes over the limit", lambda each: each.over),
        ("Changes of size", lambda each: float(each.changes)),
        ("Reversals", lambda each: float(each.reversals)),
    ):
        fleets: tuple[Outcome, Outcome, Outcome] = (answer.real, answer.declared, answer.asked)
        real, declared, asked = (of(each) for each in fleets)
        yield FigureRow(
            name=name,
            real=number(real),
            declared=number(declared),
            asked=number(asked),
            change=_change(declared, asked),
        )


def _change(before: float, after: float) -> str:
    if after == before:
        return "="
    sign = "+" if after > before else "−"
    return f"{sign}{number(abs(after - before))}"


def _sizes(answer: Answer) -> Chart:
    gap = gap_of(answer.end - answer.begin)  # a course says itself where nothing is known
    at = tuple(sorted({*answer.was.at, *answer.would_be.at}))
    traces = (
        _trace("as it was", "serving", answer.was, at),
        _trace("with this setting", "desired", answer.would_be, at),
    )
    return chart(
        Plot(
            id="chart-would-be",
            describe=f"Desired size as it was and with this setting from {minute(answer.begin)} to "
            f"{minute(answer.end)} UTC; {answer.differing} times they differ",
            begin=answer.begin,
            end=Instant(max(answer.end, answer.begin + 1.0)),
            gap=gap,
            unit="",
            traces=traces,
        )
    )


def _trace(label: str, kind: str, course: SizeCourse, at: Sequence[Instant]) -> Trace:
    """Return a size at instants of both courses: a chart has one row for each."""
    values = tuple(course.sizes[bisect_right(course.at, each) - 1] if each >= course.at[0] else None for each in at)
    return Trace(label=label, at=at, values=values, kind=kind, stepped=True, filled=kind == "serving")


def _card(answer: Answer, course: ConditionCourse) -> ThresholdCard:
    threshold = f"{_words(course.compare)} {quantity(course.threshold, course.unit)}"
    known = any(value is not None for value in course.high)
    part = (answer.end - answer.begin) / max(len(course.at), 1)
    plot = Plot(
        id=f"chart-tune-{course.condition}",
        describe=f"{course.condition}, measured in the recorded fleet, from {minute(answer.begin)} to "
        f"{minute(answer.end)} UTC, compared with: {threshold}",
        begin=answer.begin,
        end=Instant(max(answer.end, answer.begin + 1.0)),
        gap=gap_of(max(part, answer.interval)),
        unit=course.unit,
        traces=(Trace(label="range", at=course.at, values=course.high, floor=course.low, kind="range"),),
        rules=(Rule(value=course.threshold, label=threshold, kind="threshold"),),
    )
    return ThresholdCard(
        condition=course.condition,
        parameter=course.parameter,
        threshold=threshold,
        chart=chart(plot) if known else None,
    )


def _words(compare: Compare) -> str:
    return compare.value.replace("_", " ")


def _difference(group: GroupId, found: SizeDifference) -> DifferenceRow:
    cause = found.cause
    if cause is None:
        why = "a change that really came then did not come, or came earlier"
    else:
        by = "" if cause.policy is None else f"{cause.policy}: "
        why = f"{by}{sentence_of(cause.reason)} {_size(cause.desired_from)} → {_size(cause.desired_to)}"
    begin, end = Instant(found.begin - _AROUND), Instant(found.begin + _AROUND)
    window = Window(begin=begin, end=end, span=None)
    return DifferenceRow(
        begin=minute(found.begin),
        lasting=span(found.end - found.begin),
        sizes=f"{found.was} → {found.would_be}",
        why=why,
        href=f"{href(group)}?{window.query}",
    )


def _size(size: int | None) -> str:
    return ABSENT if size is None else str(size)
