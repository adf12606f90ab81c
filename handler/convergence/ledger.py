"""Remember since when members of every group have been lost, so that losses are judged together for each cloud.

It lives in memory: after a restart every loss is new, and all of them count together, which is the careful side.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from config.units import CloudId, GroupId, Instant, MemberName, Seconds
from trigger.moving import moved

_REMEMBERED: Seconds = 900.0
"""For so long a loss that was acted upon counts with later ones; judging asks for less."""
_NEVER = Instant(float("-inf"))


@dataclass(slots=True)
class _Page:
    """What is remembered of one group."""

    cloud: CloudId
    seen_at: Instant = _NEVER
    lost: dict[MemberName, Instant] = field(default_factory=dict)
    taken: dict[MemberName, Instant] = field(default_factory=dict)
    """Losses that were acted upon: the member is not in service any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """What one look at a group with losses adds up to."""

    since: Mapping[MemberName, Instant]
    """When each member that is lost now was first seen so; there is at least one."""
    elsewhere: tuple[Instant, ...]
    """When other members of the cloud were lost, and those of this group that are not in service any more; sorted."""
    others_seen: Instant | None
    """Every other group of the cloud has been looked at since then; ``None``: there is no other."""


class LossLedger:
    """Losses of all groups, by cloud. Groups are looked at side by side, each by one thread at a time."""

    def __init__(self) -> None:
        self._pages: dict[GroupId, _Page] = {}
        self._turn = threading.Lock()

    def expect(self, groups: Mapping[GroupId, CloudId]) -> None:
        """Learn which groups there are, also those that have not been looked at; all others are forgotten."""
        with self._turn:
            pages, self._pages = self._pages, {}
            for group, cloud in groups.items():
                page = pages.get(group)
                self._pages[group] = page if page is not None and page.cloud == cloud else _Page(cloud)

    def follow(self, step: Seconds) -> None:
        """Keep how long everything has lasted that is remembered: the clock was set by ``step``."""
        with self._turn:
            self._pages = moved(self._pages, dict[GroupId, _Page], step)

    def seen(self, groups: Iterable[GroupId], at: Instant) -> None:
        """Take note of a look that showed these groups without a loss."""
        with self._turn:
            for group in groups:
                page = self._pages.get(group)
                if page is not None and not page.lost:
                    page.seen_at = max(page.seen_at, at)

    def note(
        self,
        group: GroupId,
        cloud: CloudId,
        lost: Collection[MemberName],
        in_service: Callable[[MemberName], bool],
        at: Instant,
    ) -> Noted | None:
        """Take note of a look at a group; ``None``: nothing is lost, so all other groups are left alone.

        Args:
            group: that was looked at.
            cloud: that it is on.
            lost: its members that seem lost now.
            in_service: whether a member is still counted on: of one that was lost and is not any more, it came back.
            at: when.
        """
        with self._turn:
            page = self._pages.get(group)
            if page is None or page.cloud != cloud:
                page = self._pages[group] = _Page(cloud)
            before, page.lost = page.lost, {name: page.lost.get(name, at) for name in lost}
            over = (name for name in before.keys() - page.lost.keys() if not in_service(name))
            page.taken.update({name: before[name] for name in over})
            page.taken = {name: since for name, since in page.taken.items() if at - since <= _REMEMBERED}
            page.seen_at = at
            if not page.lost:
                return None
            others = [other for name, other in self._pages.items() if other.cloud == cloud and name != group]
            elsewhere = [*page.taken.values()]
            for other in others:
                elsewhere += (*other.lost.values(), *other.taken.values())
            return Noted(
                since=dict(page.lost),
                elsewhere=tuple(sorted(elsewhere)),
                others_seen=min((other.seen_at for other in others), default=None),
            )
