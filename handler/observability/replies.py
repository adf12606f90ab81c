"""Counts what became of the questions of polls, by counter and source: as many series as the catalogue has counters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from prometheus_client import CollectorRegistry, Counter, Histogram

from collector.samples import Layout, Reply, Scrape
from config.model.catalogue import Catalogue
from config.model.counters import source_word
from config.units import CounterId, GroupId, Seconds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Columns:
    """Which counter each series of a layout belongs to."""

    layout: Layout
    counters: tuple[CounterId, ...]
    index: npt.NDArray[np.int64]


class Replies:
    """Answers by counter, and how long each source took to give its last one."""

    def __init__(self, registry: CollectorRegistry, buckets: tuple[Seconds, ...]) -> None:
        self._replies = Counter(
            "trimtab_poll_replies", "Answers to polls.", ["source", "counter", "reply"], registry=registry
        )
        self._answers = Histogram(
            "trimtab_poll_answer_seconds",
            "From the beginning of a poll to a source's last answer.",
            ["source"],
            buckets=buckets,
            registry=registry,
        )
        self._sources: dict[CounterId, str] = {}
        self._columns: dict[tuple[GroupId, ...], _Columns] = {}

    def declare(self, catalogue: Catalogue) -> None:
        """Begin every series of the catalogue at zero, so that rates of the first failure are right."""
        declared = {counter.id: source_word(counter) for counter in catalogue.counters.values()}
        for counter, source in self._sources.items() - declared.items():
            self._replies.remove_by_labels({"source": source, "counter": counter})
        for counter, source in declared.items():
            self._answers.labels(source)
            for reply in Reply:
                self._replies.labels(source, counter, reply.word)
        self._sources = declared
        self._columns = {}

    def count(self, groups: tuple[GroupId, ...], scrape: Scrape) -> None:
        """Count one poll of ``groups``; a counter that is no longer declared is left out."""
        if not scrape.layout.series:
            return
        columns = self._columns.get(groups)
        if columns is None or columns.layout is not scrape.layout:
            columns = self._columns[groups] = _columns(scrape.layout)
        cells = columns.index * len(Reply) + scrape.reply
        table = np.bincount(cells, minlength=len(columns.counters) * len(Reply)).reshape(-1, len(Reply))
        last: dict[str, Seconds] = {}
        for place, counter in enumerate(columns.counters):
            source = self._sources.get(counter)
            if source is None:
                continue
            for code in np.flatnonzero(table[place]):
                self._replies.labels(source, counter, Reply(int(code)).word).inc(float(table[place, code]))
            if table[place, Reply.OK]:
                heard = scrape.replied_at[(columns.index == place) & (scrape.reply == Reply.OK)]
                last[source] = max(last.get(source, 0.0), float(heard.max()) - scrape.at.steady)
        for source, took in last.items():
            self._answers.labels(source).observe(max(took, 0.0))


def _columns(layout: Layout) -> _Columns:
    counters = tuple(sorted({series.counter for series in layout.series}))
    places = {counter: place for place, counter in enumerate(counters)}
    index = np.array([places[series.counter] for series in layout.series], dtype=np.int64)
    return _Columns(layout=layout, counters=counters, index=index)
