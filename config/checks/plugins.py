"""Plugins that counters name must be installed where the file is read."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from importlib.metadata import entry_points

from config.checks.findings import Finding
from config.model.catalogue import Catalogue
from config.model.counters import PluginValue
from config.model.nearest import hint

ENTRY_POINTS = "trimtab.sources"
"""The group of entry points that plugins are found by. Source: packaging.python.org, "Entry points specification"."""


def installed(catalogue: Catalogue) -> AbstractSet[str]:
    """The plugins that are installed here, by name; none of them is imported. Empty where nobody asks for one."""
    if not any(isinstance(counter.source, PluginValue) for counter in catalogue.counters.values()):
        return frozenset()
    return {found.name for found in entry_points(group=ENTRY_POINTS)}


def missing(catalogue: Catalogue, known: AbstractSet[str]) -> Iterator[Finding]:
    """A counter that names a plugin which is not installed."""
    for counter in catalogue.counters.values():
        if isinstance(counter.source, PluginValue) and counter.source.plugin not in known:
            others = hint(counter.source.plugin, known) if known else ""
            message = (
                f"no plugin {counter.source.plugin!a} is installed{others}: install, beside trimtab, the package that "
                f"has it as an entry point of {ENTRY_POINTS}"
            )
            yield Finding(("counters", counter.id, "plugin", "name"), message)
