"""The page of what members showed by themselves over time: each beside the median of all. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from config.units import CounterId, GroupId, Instant, MemberName, format_span
from handler.operations.member_course_admin import LivedCourses, MemberLife
from handler.web.pages.charts import Chart, ChartMark, Plot, Trace, chart, gap_of
from handler.web.pages.figures import ABSENT, minute, quantity, second, span
from handler.web.pages.frame import href, member_href
from handler.web.pages.group import WindowLink
from handler.web.pages.layout import PageTemplate
from handler.web.pages.windows import SPANS, Window, field_text, window_of
from handler.what_if.member_question import PARTS, Farthest, MemberCourse, MemberCourses

_TEMPLATE = PageTemplate("courses.html")
_ROWS = 24
"""Of the table of values: more are not read from top to bottom."""
_TELLABLE = 3
"""Of fewer members it cannot be told which one is far from the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoursesAsked:
    """What an address asks for."""

    group: GroupId
    counters: Sequence[CounterId]
    """Those that members have values of."""
    counter: CounterId | None
    """``None``: the first one."""
    window: Window
    members: tuple[MemberName, ...]
    """Only these; none: those farthest from the others."""
    now: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class CoursesPage:
    """The page's content."""

    group: GroupId
    href: str
    spans: tuple[WindowLink, ...]
    counters: tuple[tuple[CounterId, bool], ...]
    """Each with whether it is shown."""
    begin: str
    end: str
    members: tuple[MemberName, ...]
    """Asked for by name."""
    everyone: str
    """The address that asks for no member by name."""
    refused: str
    """Why nothing is shown."""
    shown: CoursesShown | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseShown:
    """One member."""

    member: MemberName
    href: str
    life: str
    least: str
    greatest: str
    farthest: str
    beside: str
    chart: Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class CoursesShown:
    """What members showed."""

    which: str
    """Which members are shown, of how many."""
    caveats: tuple[str, ...]
    together: Chart
    courses: tuple[CourseShown, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """A time, and what each column was then."""


def courses_page(asked: CoursesAsked, found: LivedCourses | str) -> Markup:
    """Lay out the page's content; ``found``: or why there is nothing to show."""
    counter = asked.counter or next(iter(asked.counters), None)
    page = CoursesPage(
        group=asked.group,
        href=href(asked.group),
        spans=tuple(_links(asked, counter)),
        counters=tuple((each, each == counter) for each in asked.counters),
        begin=field_text(asked.window.begin),
        end=field_text(asked.window.end),
        members=asked.members,
        everyone=_address(asked.window, counter, ()),
        refused=found if isinstance(found, str) else "",
        shown=None if isinstance(found, str) else _shown(found, asked.group),
    )
    return _TEMPLATE("page", page)


def _links(asked: CoursesAsked, counter: CounterId | None) -> Iterator[WindowLink]:
    for length in SPANS:
        window = window_of(asked.now, span=format_span(length))
        address = _address(window, counter, asked.members)
        yield WindowLink(span(length), address, chosen=length == asked.window.span)


def _address(window: Window, counter: CounterId | None, members: Sequence[MemberName]) -> str:
    named = urlencode([*(() if counter is None else [("counter", counter)]), *(("member", each) for each in members)])
    return "?" + "&".join(part for part in (window.query, named) if part)


def _shown(found: LivedCourses, group: GroupId) -> CoursesShown:
    courses = found.courses
    values = [value for column in (courses.low, courses.high) for value in column if value is not None]
    return CoursesShown(
        which=_which(courses),
        caveats=courses.caveats,
        together=_together(courses),
        courses=tuple(_course(found, each, values, group) for each in courses.members),
        columns=("median", *(each.member for each in courses.members)),
        rows=tuple(_rows(courses)),
    )


def _which(courses: MemberCourses) -> str:
    shown = len(courses.members)
    if shown == courses.of:
        return f"all {shown} members, the one farthest from the others first" if shown > 1 else "the only member"
    return f"{shown} of {courses.of} members, the one farthest from the others first; the others are within the band"


def _together(courses: MemberCourses) -> Chart:
    traces = (
        Trace(label="all", at=courses.at, values=courses.high, floor=courses.low, kind="range"),
        Trace(label="median", at=courses.at, values=courses.median, kind="desired"),
        Trace(label="average", at=courses.at, values=courses.average, kind="value"),
    )
    return chart(_plot(courses, "chart-members", f"{courses.counter} of all {courses.of} members", traces))


def _course(found: LivedCourses, course: MemberCourse, values: Sequence[float], group: GroupId) -> CourseShown:
    courses, life = found.courses, found.lives.get(course.member)
    own = (
        Trace(label=course.member, at=courses.at, values=course.high, kind="value")
        if courses.exact
        else Trace(label=course.member, at=courses.at, values=course.high, floor=course.low, kind="range")
    )
    traces = (own, Trace(label="median", at=courses.at, values=courses.median, kind="desired"))
    about = f"{courses.counter} of {course.member}, and the median of all members"
    return CourseShown(
        member=course.member,
        href=member_href(group, course.member),
        life=_lived(life),
        least=quantity(course.least, courses.unit),
        greatest=f"{quantity(course.greatest, courses.unit)} at {second(course.greatest_at)}",
        farthest=_far(course.farthest, courses.unit),
        beside=_beside(course.farthest),
        chart=chart(_plot(courses, f"chart-member-{course.member}", about, traces, _marks(courses, life), values)),
    )


def _plot(  # what differs between charts
    courses: MemberCourses,
    name: str,
    about: str,
    traces: tuple[Trace, ...],
    marks: tuple[ChartMark, ...] = (),
    room: Sequence[float] = (),
) -> Plot:
    return Plot(
        id=name,
        describe=f"{about}, from {minute(courses.begin)} to {minute(courses.end)} UTC",
        begin=courses.begin,
        end=courses.end,
        gap=gap_of(max(courses.apart, (courses.end - courses.begin) / PARTS)),
        unit=courses.unit,
        traces=traces,
        marks=marks,
        room=tuple(room),
    )


def _marks(courses: MemberCourses, life: MemberLife | None) -> tuple[ChartMark, ...]:
    """Return the instants of a member's life within the chart: a thin line at each."""
    times = {} if life is None else _times(life)
    return tuple(
        ChartMark(at=at, kind="note", title=word, why=(), id="")
        for word, at in times.items()
        if courses.begin <= at <= courses.end
    )


def _times(life: MemberLife) -> dict[str, Instant]:
    times = {
        "made": life.made_at,
        "in service": life.in_service_at,
        "leaving": life.leaving_at,
        "gone": life.gone_at,
    }
    return {word: at for word, at in times.items() if at is not None}


def _lived(life: MemberLife | None) -> str:
    times = {} if life is None else _times(life)
    return ", ".join(f"{word} {second(at)}" for word, at in times.items()) or ABSENT


def _far(farthest: Farthest | None, unit: str) -> str:
    if farthest is None:
        return ABSENT
    value, median = quantity(farthest.value, unit), quantity(farthest.median, unit)
    return f"{value} at {second(farthest.at)}; median {median}"


def _beside(farthest: Farthest | None) -> str:
    if farthest is None:
        return "warmed up all the time"
    if farthest.among < _TELLABLE:
        return "of two, none is unlike the other" if farthest.among > 1 else "the only one that counted"
    others = {0: "alone", 1: "with one other"}
    return others.get(farthest.beside, f"with {farthest.beside} others")


def _rows(courses: MemberCourses) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield rows at equal distances for who cannot see the charts: greatest values, as no peak is to be missed."""
    step = -(-len(courses.at) // _ROWS)
    for first in range(0, len(courses.at), step):
        columns = (courses.median, *(each.high for each in courses.members))
        greatest = (_greatest(column[first : first + step]) for column in columns)
        yield second(courses.at[first]), tuple(quantity(each, courses.unit) for each in greatest)


def _greatest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
