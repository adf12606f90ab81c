"""Messages of all groups in trouble, each shown once: a cloud that is down is one message, not one for each group."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from handler.planning.status import GroupOutline, severity
from handler.web.pages.choosing import NEEDY
from handler.web.pages.frame import Badge, badge_of, href
from trigger.explain.words import sentence_of

_NUMBER = re.compile(r"\d+(?:[.:]\d+)*")
_MESSAGES = 12
_NAMES = 40


@dataclass(frozen=True, slots=True)
class NamedGroup:
    """A link to a group."""

    name: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMessage:
    """One message, and the groups that have it."""

    id: str
    """Stays the same while the page lives, so that an open list stays open."""
    badge: Badge
    """Of the worst of these groups."""
    text: str
    """As the first of them has it; of the others it may differ in their names and in numbers."""
    groups: tuple[NamedGroup, ...]
    more: int
    """How many further groups have it."""
    count: str
    """Of all groups that have it; empty: only one has."""


@dataclass(frozen=True, slots=True)
class SharedMessages:
    """What is wrong with the fleet, the worst first."""

    shown: tuple[SharedMessage, ...]
    more: int
    """How many further messages there are."""


def why(outline: GroupOutline) -> str:
    """Return the worst message, or the reason of the last tick."""
    return outline.messages[0] if outline.messages else sentence_of(outline.reason)


def shared(outlines: Iterable[GroupOutline]) -> SharedMessages:
    """Return the messages of groups in trouble, those that differ only in the group's name or in numbers as one."""
    alike: dict[str, list[GroupOutline]] = {}
    for outline in sorted((each for each in outlines if each.condition in NEEDY), key=_rank):
        alike.setdefault(_form(outline), []).append(outline)
    ranked = sorted(alike.items(), key=lambda item: (_rank(item[1][0])[0], -len(item[1]), item[0]))
    return SharedMessages(tuple(_shown(ranked[:_MESSAGES])), max(len(ranked) - _MESSAGES, 0))


def _rank(outline: GroupOutline) -> tuple[int, str]:
    return severity(outline.condition), outline.group


def _form(outline: GroupOutline) -> str:
    own = re.compile(rf"(?<!\w){re.escape(outline.group)}(?!\w)")
    return _NUMBER.sub("0", own.sub("\0", why(outline)))


def _shown(ranked: Sequence[tuple[str, list[GroupOutline]]]) -> Iterator[SharedMessage]:
    for form, outlines in ranked:
        first, *others = outlines
        yield SharedMessage(
            id=f"message-{hashlib.sha256(form.encode()).hexdigest()[:12]}",
            badge=badge_of(first.condition),
            text=why(first),
            groups=tuple(NamedGroup(each.group, href(each.group)) for each in outlines[:_NAMES]),
            more=max(len(outlines) - _NAMES, 0),
            count=f"{len(outlines):,} groups" if others else "",
        )
