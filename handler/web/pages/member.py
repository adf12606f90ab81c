"""One member's page: what it is, its life, its balancers, its history, and the end of what it wrote. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from markupsafe import Markup

from config.units import GroupId, Instant, MemberName
from handler.operations.address import BASE
from handler.operations.member_admin import RecordedMember
from handler.operations.member_log import MemberLog
from handler.operations.outcomes import RevisionStatus
from handler.planning.status import MemberState, MemberStatus
from handler.planning.step_outcomes import StepResult
from handler.planning.world import Attempts, Phase, Record, Server, World
from handler.ports.stored import Event, EventKind
from handler.web.pages.figures import ABSENT, clock, second, span, stamp
from handler.web.pages.frame import href, member_href
from handler.web.pages.group import GLYPHS, state_word
from handler.web.pages.layout import PageTemplate
from handler.web.pages.registrations import ShownRegistration, shown_registrations

LINES: Final = (50, 200, 1000)
"""Of a log, to choose from."""
LINES_AT_FIRST: Final = 200
EVENTS: Final = 100
"""Of the history, on one page."""
_TEMPLATE = PageTemplate("member.html")
_MAY_NOT: Final = (
    "It takes a person who is logged in with the role operator, since programs write secrets there. On the machine "
    "of the daemon: trimtab member log {} {}"
)
_RESULTS: Final = {
    StepResult.DONE: "done",
    StepResult.RETRY: "asked to wait",
    StepResult.LIMITED: "failed for now",
    StepResult.FAILED: "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFacts:
    """What the page is made of."""

    group: GroupId
    member: MemberName
    recorded: RecordedMember
    status: MemberStatus | None
    """``None``: it is gone, or no pass has seen it since the daemon began."""
    world: World | None
    """What the last pass saw; ``None``: none has been made yet."""
    revisions: tuple[RevisionStatus, ...]
    """Of the group's definition."""
    now: Instant
    log: LogAsked


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAsked:
    """What became of the question for the log."""

    csrf: str = ""
    """What the form must show; empty: the visitor may not read the log."""
    lines: int = LINES_AT_FIRST
    answer: MemberLog | str | None = None
    """Or why it is refused; ``None``: it was not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """Of the history."""

    stamp: str
    moment: str
    glyph: str
    kind: str
    title: str
    more: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Log:
    href: str
    csrf: str
    may_not: str
    lines: tuple[tuple[int, bool], ...]
    """Each with whether it is chosen."""
    refused: str
    title: str
    """What the text is; empty: there is none."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    group: GroupId
    group_href: str
    values: str
    name: MemberName
    state: str
    glyph: str
    word: str
    figures: tuple[tuple[str, str], ...]
    life: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    balancers: tuple[ShownRegistration, ...]
    read_at: str
    """When the balancers were read, or that they were not yet."""
    history: tuple[_Line, ...]
    which: str
    whole: str
    """The address of the group's whole history."""
    log: _Log


def member_page(facts: MemberFacts) -> Markup:
    """Lay out the page's content."""
    group = href(facts.group)
    balancers = shown_registrations(facts.world).get(facts.member, ())
    state, glyph, word = _state(facts)
    page = _Member(
        group=facts.group,
        group_href=group,
        values=f"{group}/values?{urlencode({'member': facts.member})}",
        name=facts.member,
        state=state,
        glyph=glyph,
        word=word,
        figures=tuple(_figures(facts)),
        life=tuple(_life(facts)),
        notes=tuple(_notes(facts)),
        balancers=balancers,
        read_at="No pass has looked yet."
        if facts.world is None
        else f"As the last pass saw it, at {clock(facts.world.at)}.",
        history=tuple(_line(event) for event in facts.recorded.events),
        which=f"The newest {EVENTS}. " if len(facts.recorded.events) >= EVENTS else "",
        whole=f"{BASE}{group}/history?kind=step&kind=note&limit=1000",
        log=_log(facts),
    )
    return _TEMPLATE("page", page)


def _state(facts: MemberFacts) -> tuple[str, str, str]:
    """Return a member's state as the sheet names it, its shape and its word."""
    status, record = facts.status, facts.recorded.record
    if status is not None:
        return status.state.value, GLYPHS[status.state], state_word(status.state)
    if record is not None and record.phase is Phase.GONE:
        return "gone", "∅", "gone"
    return MemberState.UNKNOWN.value, GLYPHS[MemberState.UNKNOWN], "not listed since the start"


def _figures(facts: MemberFacts) -> Iterator[tuple[str, str]]:
    status, record, server = facts.status, facts.recorded.record, _server(facts)
    if status is not None:
        yield "In this state", f"{span(facts.now - status.state_since)}, since {second(status.state_since)}"
        yield "Address", status.address or ABSENT
        yield "Cloud says", status.raw_state or ABSENT
    yield "Id in its cloud", (server.id if server else record.server_id if record else None) or ABSENT
    if server is not None and server.zone is not None:
        yield "Zone", server.zone
    yield "Made of", _profile(record, facts.revisions)


def _server(facts: MemberFacts) -> Server | None:
    members = () if facts.world is None else facts.world.members
    return next((each.server for each in members if each.name == facts.member), None)


def _profile(record: Record | None, revisions: tuple[RevisionStatus, ...]) -> str:
    """Return the profile that a member was made of, and the revisions of the definition that have it."""
    if record is None or record.profile is None:
        return "a profile that is not known"
    having = sorted(each.number for each in revisions if each.profile == record.profile)
    if not having:
        return f"profile {record.profile}, of no revision that is kept"
    word = "revision" if len(having) == 1 else "revisions"
    is_old = not any(each.in_force and each.profile == record.profile for each in revisions)
    return f"{word} {', '.join(map(str, having))}{', an earlier profile' if is_old else ''}"


def _life(facts: MemberFacts) -> Iterator[tuple[str, str]]:
    record = facts.recorded.record
    if record is None:
        if facts.status is not None:
            yield "Made", second(facts.status.since)
        return
    times = {
        "Intended": record.intended_at,
        "Made": record.made_at,
        "In service": record.in_service_at,
        "Leaving": record.leaving_at,
        "Draining": record.drained_at,
        "Removal requested": record.removal_at,
        "Gone": record.gone_at,
    }
    yield from ((word, second(at)) for word, at in times.items() if at is not None)


def _notes(facts: MemberFacts) -> Iterator[str]:
    """Yield what else holds for it, in sentences."""
    status, record = facts.status, facts.recorded.record
    if record is None:
        yield "Its cloud lists it, and it is not recorded yet."
    elif record.leaving is not None:
        chosen = "It was" if record.phase is Phase.GONE else "It is"
        yield f"{chosen} chosen to leave: {record.leaving.value.replace('_', ' ')}."
    if status is not None:
        yield from _standing(status)
    if record is not None and record.phase is not Phase.GONE:
        yield from _troubles(record)
    if record is not None and record.given:
        yield "A person gave it to the group; it was not made here."


def _standing(status: MemberStatus) -> Iterator[str]:
    if status.protected:
        yield "It is protected: no scale-in chooses it."
    if status.warming:
        yield "It warms up: its values do not count yet."
    if status.unheard_since is not None:
        yield f"Its counters have had no answer since {second(status.unheard_since)}."
    if status.unready:
        yield f"Its probe says: {status.unready}."


def _troubles(record: Record) -> Iterator[str]:
    if record.failing_since is not None:
        yield f"It has failed the health check of its balancer since {second(record.failing_since)}."
    if record.absent_at is not None:
        yield f"Listings of its cloud have lacked it since {second(record.absent_at)}."
    yield from (_attempts(each) for each in record.attempts)


def _attempts(tried: Attempts) -> str:
    call = tried.call.replace("_", " ") + (f" on {tried.balancer}" if tried.balancer is not None else "")
    if not tried.count:
        return f"The {call} was accepted, and is looked at again at {second(tried.again_at)}."
    because = f": {tried.because}" if tried.because else ""
    return f"The {call} has failed {tried.count} times, and is tried again at {second(tried.again_at)}{because}."


def _line(event: Event) -> _Line:
    is_note = event.kind is EventKind.NOTE
    by = f"by {event.by}" if is_note and event.by else ""
    return _Line(
        stamp=stamp(event.at),
        moment=second(event.at),
        glyph="■" if is_note else "›",
        kind="note" if is_note else "step",
        title=event.name.replace("_", " ") + ("" if is_note else f": {_outcome(event)}"),
        more=": ".join(text for text in (by, event.message) if text),
    )


def _outcome(event: Event) -> str:
    if event.result is None:
        return "under way"
    is_long = event.took is not None and event.took >= 1
    return f"{_RESULTS[event.result]} after {span(event.took)}" if is_long else _RESULTS[event.result]


def _log(facts: MemberFacts) -> _Log:
    asked, answer = facts.log, facts.log.answer
    found = answer if isinstance(answer, MemberLog) else None
    return _Log(
        href=member_href(facts.group, facts.member),
        csrf=asked.csrf,
        may_not="" if asked.csrf else _MAY_NOT.format(facts.group, facts.member),
        lines=tuple((number, number == asked.lines) for number in LINES),
        refused=answer if isinstance(answer, str) else "",
        title="" if found is None else _title(found, facts.now),
        text="" if found is None else found.text,
    )


def _title(found: MemberLog, now: Instant) -> str:
    if not found.lines:
        return f"As of {clock(now)} UTC it has written nothing."
    lines = "1 line" if found.lines == 1 else f"{found.lines} lines"
    return f"{'All of it:' if found.is_whole else 'The last'} {lines}, as of {clock(now)} UTC."
