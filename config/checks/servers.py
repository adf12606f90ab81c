"""What counters may say about the servers that answer for them; run by `config.checks.catalogue`."""

from __future__ import annotations

from collections.abc import Iterator

from config.build.counters import UNNAMED
from config.checks.findings import Finding
from config.model.access import HaproxyStats, NetscalerStats, PrometheusServer, ServerSource
from config.model.catalogue import Catalogue
from config.model.counters import (
    SOURCE_WORDS,
    Counter,
    HaproxyField,
    NetscalerField,
    Per,
    PrometheusQuery,
)
from config.model.where import Where
from config.units import SourceId


def named(catalogue: Catalogue) -> Iterator[tuple[Where, str, str]]:
    """Every counter that names a server: where, of which section, which name."""
    for counter in catalogue.counters.values():
        if (server := _server_of(counter)) is not None and server != UNNAMED:
            yield ("counters", counter.id, "server"), "sources", server


def needs_balancer(counter: Counter) -> bool:
    """Whether a counter is read from the runtime sockets of the group's own balancers."""
    return isinstance(counter.source, HaproxyField) and counter.source.server is None


def unclear(catalogue: Catalogue) -> Iterator[Finding]:
    """A counter that names no server, where not exactly one can be meant."""
    for counter in catalogue.counters.values():
        if _server_of(counter) != UNNAMED:
            continue
        kind, word = _kind_of(counter), SOURCE_WORDS[type(counter.source)]
        fitting = sorted(name for name, source in catalogue.sources.items() if isinstance(source, kind))
        if fitting:
            message = f"which server is asked is not clear: write server: {' or '.join(fitting)}"
        else:
            message = f"there is no server to ask: declare one, as sources: {{NAME: {{{word}: ...}}}}"
        yield Finding(("counters", counter.id, word), message, (("sources",),))


def kinds(catalogue: Catalogue) -> Iterator[Finding]:
    """A server of another kind than the counter's."""
    for counter, source in _served(catalogue):
        if not isinstance(source, _kind_of(counter)):
            word = SOURCE_WORDS[type(counter.source)]
            yield Finding(
                ("counters", counter.id, "server"), f"{source.id} is not a {word} source", (("sources", source.id),)
            )


def objects(catalogue: Catalogue) -> Iterator[Finding]:
    """A statistic of a virtual server, where none is named."""
    for counter, source in _served(catalogue):
        if not isinstance(source, NetscalerStats) or not isinstance(counter.source, NetscalerField):
            continue
        if counter.per is Per.GROUP and source.virtual_server is None:
            message = f"the virtual server answers for the group, but the source {source.id} names none"
            leans = (("sources", source.id), ("counters", counter.id, "server"))
            yield Finding(("counters", counter.id, "per"), message, leans)


def _served(catalogue: Catalogue) -> Iterator[tuple[Counter, ServerSource]]:
    for counter in catalogue.counters.values():
        source = catalogue.sources.get(_server_of(counter) or UNNAMED)
        if source is not None:
            yield counter, source


def _server_of(counter: Counter) -> SourceId | None:
    match counter.source:
        case HaproxyField(server=server) | NetscalerField(server=server) | PrometheusQuery(server=server):
            return server
        case _:
            return None


def _kind_of(counter: Counter) -> type[ServerSource]:
    match counter.source:
        case NetscalerField():
            return NetscalerStats
        case HaproxyField():
            return HaproxyStats
        case _:
            return PrometheusServer
