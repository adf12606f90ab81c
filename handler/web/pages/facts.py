"""The values that a page shows, gathered on the event loop; everything after that is pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from config.units import GroupId, Instant, MemberName
from handler.operations.facade import Operations
from handler.planning.status import GroupOutline, GroupStatus
from handler.planning.world import World
from handler.ports.store import EDITED
from handler.ports.stored import Event, EventKind, TickSpan
from handler.runtime.series import Picture, Sketch
from handler.web.pages.apart import ShownValue, shown_values
from handler.web.pages.charts import ChartMark
from handler.web.pages.setup import SetupFacts
from handler.web.pages.windows import RECENT, Window
from trigger.explain.explanation import Explanation
from trigger.explain.words import say, sentence_of
from trigger.reasons import Reason

_SHOWN = frozenset({EventKind.DECISION, EventKind.NOTE})
_MARKS_AT_MOST = 40
_PARTS = 60
"""Of half an hour, for the small charts of a list."""
_WHYS_AT_MOST = 2000
_WRITTEN = 60.0
"""Seconds after which a decision without a stored explanation never gets one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """One group for the overview."""

    outline: GroupOutline
    lately: Sketch
    now: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """One group for its own page."""

    status: GroupStatus
    explanation: Explanation | None
    """``None``: nothing has been evaluated yet."""
    picture: Picture
    marks: tuple[ChartMark, ...]
    """Newest first; also older than the daemon."""
    now: Instant
    window: Window
    """The time that the charts show; decisions are those until its end."""
    values: Mapping[MemberName, tuple[ShownValue, ...]] = field(default_factory=dict)
    """What members showed by themselves at the last tick, where the group exports it."""
    world: World | None = None
    """What the last pass saw; ``None``: none has been made yet."""


class PageGatherer:
    """Gathers a page's values; caches the explanations of past decisions, which never change."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._whys: OrderedDict[tuple[GroupId, Instant], tuple[str, ...]] = OrderedDict()

    def glance(self, group: GroupId) -> Glance:
        """Return one group for the overview.

        Raises:
            NoSuch: there is no such group.
        """
        now = self._operations.now()
        lately = self._operations.recent(group).sketch(now, _PARTS)
        return Glance(outline=self._operations.outline(group), lately=lately, now=now)

    def now(self) -> Instant:
        """Return the wall clock's time."""
        return self._operations.now()

    async def facts(self, group: GroupId, window: Window) -> Facts:
        """Return one group for its own page.

        Raises:
            NoSuch: there is no such group.
            StoreError: its history cannot be read.
        """
        found = await self._operations.why(group, None)
        end = None if window.span is not None else window.end
        events = await self._operations.history(group, before=end, limit=_MARKS_AT_MOST, kinds=_SHOWN)
        marks = [mark_of(event, await self.why(event)) for event in events]
        now = self._operations.now()
        return Facts(
            status=self._operations.group(group),
            explanation=found.first if isinstance(found, TickSpan) else found,
            picture=await self.picture(group, window),
            marks=tuple(marks),
            now=now,
            window=window,
            values=shown_values(self._operations.member_values(group), self._operations.counters()),
            world=self._operations.last_world(group),
        )

    async def setup(self, group: GroupId) -> SetupFacts:
        """Return how one group is set up. Raises `NoSuch` and `StoreError`."""
        found = await self._operations.why(group, None)
        explanation = found.first if isinstance(found, TickSpan) else found
        return SetupFacts(
            group=self._operations.definition(group).group,
            revisions=await self._operations.rolling.revisions(group),
            balancers=await self._operations.balancers.behind(group),
            signals=() if explanation is None else explanation.signals,
            now=self._operations.now(),
        )

    async def picture(self, group: GroupId, window: Window) -> Picture:
        """Return a group's numbers: those in memory if they reach as far back, else also its history's."""
        recent = self._operations.recent(group).picture(self._operations.now())
        if window.span == RECENT and recent.began is not None and recent.began <= window.begin:
            return recent
        return await self._operations.past(group, window.begin, window.end)

    async def why(self, event: Event) -> tuple[str, ...]:
        """Return a decision's explanation; empty if there is none, or not yet. Raises `NoSuch` and `StoreError`."""
        if event.kind is not EventKind.DECISION:
            return ()
        key = (event.group, event.at)
        if key in self._whys:
            return self._whys[key]
        found = await self._operations.why(event.group, event.at)
        first = found.first if isinstance(found, TickSpan) else found
        lines = why_of(first) if first is not None and first.at == event.at else ()
        if lines or self._operations.now() - event.at > _WRITTEN:  # the history is written before the explanation
            self._whys[key] = lines
            if len(self._whys) > _WHYS_AT_MOST:
                self._whys.popitem(last=False)
        return lines


def why_of(explanation: Explanation) -> tuple[str, ...]:
    """Return the lines behind a decision: policies, outside requests, and what was in force then."""
    spoke = {answer.by for answer in explanation.answers}
    heard = replace(
        explanation,
        policies=tuple(policy for policy in explanation.policies if policy.policy in spoke),
        quiets=(),
        limits=tuple(limit for limit in explanation.limits if limit.active),
        coming=(),
    )
    return tuple(line.strip() for line in say(heard, heard.at)[2:])


def mark_of(event: Event, why: tuple[str, ...]) -> ChartMark:
    """Return a line of history as a mark, with its known reasons."""
    return ChartMark(
        at=event.at,
        kind=_kind(event),
        title=_title(event),
        why=why or _fallback(event),
        id=f"e{event.at * 1000:.0f}-{event.kind.value}-{event.name}-{event.by}".replace(" ", "-"),
    )


def _kind(event: Event) -> str:
    before, after = event.desired_from, event.desired_to
    if event.kind is EventKind.NOTE or after is None:
        return "edit" if event.kind is EventKind.NOTE and event.name == EDITED else "note"
    if before == after:
        return "refused"
    return "out" if before is None or after > before else "in"


def _title(event: Event) -> str:
    size = ""
    if event.desired_to is not None and event.desired_from != event.desired_to:
        size = f" → {event.desired_to}" if event.desired_from is None else f" {event.desired_from} → {event.desired_to}"
    if event.kind is EventKind.NOTE:
        return "the file was edited" if event.name == EDITED else f"{event.name}{size}"
    return f"{_sentence(event.name)}{size}"


def _sentence(name: str) -> str:
    known = {reason.value for reason in Reason}
    return sentence_of(Reason(name)) if name in known else name.replace("_", " ")


def _fallback(event: Event) -> tuple[str, ...]:
    """Return the history's own text, for a line without an explanation."""
    clamps = tuple(f"clamped {clamp.before} → {clamp.after}: {sentence_of(clamp.guard)}" for clamp in event.clamps)
    by = f"by {event.by}" if event.by else ""
    return tuple(text for text in (by, event.message, *clamps) if text)
