"""Every group's line of the first page: made once for all who look, and again only when there is news of the group."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from markupsafe import Markup

from config.units import GroupId
from handler.operations.facade import Operations
from handler.operations.lookup import NoSuch
from handler.planning.status import GroupOutline
from handler.web.pages.facts import Glance, PageGatherer
from handler.web.pages.overview import row

_AT_ONCE = 25
"""Groups that are looked at before other work of the event loop has its turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRow:
    """One group's line, and what it was made of."""

    beat: int
    """The number of the group's last news before it was made."""
    outline: GroupOutline
    markup: Markup


class FleetRows:
    """Lives on the event loop; lines are laid out in a thread."""

    def __init__(self, operations: Operations, gatherer: PageGatherer) -> None:
        self._operations = operations
        self._gatherer = gatherer
        self._made: dict[GroupId, MadeRow] = {}
        self._life = secrets.token_hex(4)
        """Tells this daemon's numbers from those of one before a restart."""

    def mark(self) -> str:
        """Return a word for this moment: `since` returns the groups with news after it."""
        return f"{self._life}.{self._operations.pulse.serial}"

    def since(self, mark: str) -> frozenset[GroupId]:
        """Return the groups with news since then, also groups that are gone; all, if the mark is of another life."""
        life, _, serial = mark.partition(".")
        if life != self._life or not serial.isascii() or not serial.isdigit():
            return frozenset(self._operations.groups())
        return self._operations.pulse.since(int(serial))

    async def of(self, groups: Iterable[GroupId]) -> dict[GroupId, MadeRow]:
        """Return the lines of these groups, without those that are gone meanwhile."""
        wanted = tuple(groups)
        old = [group for group in wanted if self._beat(group) != self._operations.pulse.beats(group)]
        await self._make(old)
        return {group: self._made[group] for group in wanted if group in self._made}

    def forget(self, groups: Collection[GroupId]) -> None:
        """Forget groups that are gone."""
        for group in groups:
            self._made.pop(group, None)

    async def _make(self, groups: Collection[GroupId]) -> None:
        glances: list[tuple[int, Glance]] = []
        for count, group in enumerate(groups):
            if count % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)  # a thousand groups must not hold the loop
            with contextlib.suppress(NoSuch):  # deleted meanwhile
                glances.append((self._operations.pulse.beats(group), self._gatherer.glance(group)))
        laid_out = await asyncio.to_thread(lambda: [row(glance) for _, glance in glances])
        for (beat, glance), markup in zip(glances, laid_out, strict=True):
            self._made[glance.outline.group] = MadeRow(beat=beat, outline=glance.outline, markup=markup)

    def _beat(self, group: GroupId) -> int | None:
        made = self._made.get(group)
        return None if made is None else made.beat
