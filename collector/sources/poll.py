"""Run all sources side by side, until all have answered or the time is up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from collector.clients.http.client import HttpClient
from collector.samples import Layout, Scrape, Sheet
from collector.targets import Roster, Round, Source, Target, layout_for, targets_of
from config.model.access import SecretRef
from config.model.catalogue import Catalogue
from config.units import CounterId, GroupId, Moment, Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Questions:
    """The layout and targets of a catalogue and rosters, kept while these are equal."""

    catalogue: Catalogue
    rosters: Mapping[GroupId, Roster]
    layout: Layout
    targets: tuple[Target, ...]


class Poller:
    """Polls groups. Different groups may be polled side by side.

    Args:
        clock: read when a poll begins and when an answer arrives.
        read_secret: turns a reference into the secret, on demand.
        sources: closed together with the poller.
        http: the sources' HTTP client; closed after them.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], Moment],
        read_secret: Callable[[SecretRef], str],
        sources: Sequence[Source],
        http: HttpClient | None = None,
    ) -> None:
        self._clock = clock
        self._read_secret = read_secret
        self._sources = tuple(sources)
        self._http = http
        self._known: dict[frozenset[GroupId], _Questions] = {}

    async def poll(
        self,
        catalogue: Catalogue,
        rosters: Mapping[GroupId, Roster],
        *,
        timeout: Seconds,  # noqa: ASYNC109  it does not fail the poll, it ends it
    ) -> Scrape:
        """Read from every member of these groups all counters that their policies need.

        The scrape's layout stays the same object while the catalogue and these groups' rosters are equal.

        Args:
            catalogue: declares every group of ``rosters``.
            rosters: the members to ask, by group.
            timeout: ends the poll; rows without an answer are then TIMEOUT, or the source's own failure.

        Returns:
            One entry per series, whatever failed. Failures of members and sources are never exceptions.
        """
        return await self._ask(self._questions(catalogue, rosters), timeout)

    async def once(
        self,
        catalogue: Catalogue,
        rosters: Mapping[GroupId, Roster],
        wanted: Mapping[GroupId, Sequence[CounterId]],
        *,
        timeout: Seconds,  # noqa: ASYNC109  as `poll`
    ) -> Scrape:
        """Poll outside the schedule, and for any counters; otherwise as `poll`.

        Args:
            catalogue: declares every group of ``rosters`` and every counter that is wanted.
            rosters: the members to ask, by group.
            wanted: each group's counters, sorted.
            timeout: as in `poll`.
        """
        layout = layout_for(catalogue, rosters.values(), wanted)
        targets = targets_of(layout, rosters)
        return await self._ask(
            _Questions(catalogue=catalogue, rosters=rosters, layout=layout, targets=targets), timeout
        )

    async def _ask(self, questions: _Questions, timeout: Seconds) -> Scrape:  # noqa: ASYNC109  as `poll`
        at = self._clock()
        sheet = Sheet(questions.layout)
        current = Round(
            catalogue=questions.catalogue,
            targets=questions.targets,
            sheet=sheet,
            clock=self._clock,
            read_secret=self._read_secret,
        )
        with contextlib.suppress(TimeoutError):  # our own: a source's would be in an ExceptionGroup
            async with asyncio.timeout(timeout), asyncio.TaskGroup() as tasks:
                for source in self._sources:
                    tasks.create_task(source.fetch(current))
        return sheet.close(at)

    async def close(self) -> None:
        """Close every socket, after the last poll."""
        for source in self._sources:
            await source.close()
        if self._http is not None:
            await self._http.close()

    def _questions(self, catalogue: Catalogue, rosters: Mapping[GroupId, Roster]) -> _Questions:
        groups = frozenset(rosters)
        known = self._known.get(groups)
        # Tuples compare their elements by identity first: the usual case costs nothing.
        if known is not None and (known.catalogue, known.rosters) == (catalogue, rosters):
            return known
        layout = layout_for(catalogue, rosters.values())
        fresh = _Questions(
            catalogue=catalogue, rosters=dict(rosters), layout=layout, targets=targets_of(layout, rosters)
        )
        # Questions of an older catalogue are never used again.
        self._known = {key: kept for key, kept in self._known.items() if kept.catalogue is catalogue} | {groups: fresh}
        return fresh
