"""Counters by group: their lines are kept as text until they change, since most series never count anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from config.units import GroupId
from handler.observability.exposition import figure, header, series


class _Counts:
    """One group's series. The event loop counts; any thread writes the text."""

    __slots__ = ("edition", "kept", "prefixes", "values")

    def __init__(self) -> None:
        self.values: dict[tuple[str, ...], float] = {}
        self.prefixes: dict[tuple[str, ...], str] = {}
        self.edition = 0
        """Rises with every change, so that a text that was written meanwhile is not taken for the new one."""
        self.kept: tuple[int, str] = (-1, "")

    def add(self, key: tuple[str, ...], by: float) -> None:
        self.values[key] = self.values.get(key, 0.0) + by
        self.edition += 1


class GroupCounter:
    """A counter whose first label is the group.

    Args:
        name: without ``_total``.
        documentation: one sentence.
        labels: the others.
    """

    def __init__(self, name: str, documentation: str, labels: Sequence[str]) -> None:
        self._name = f"{name}_total"
        self._header = header(self._name, "counter", documentation)
        self._labels = ("group", *labels)
        self._groups: dict[GroupId, _Counts] = {}

    def begin(self, group: GroupId, *values: str) -> None:
        """Have a series from zero on, so that the first count shows in a rate."""
        self._of(group).add(values, 0.0)

    def inc(self, group: GroupId, *values: str) -> None:
        """Count one."""
        self._of(group).add(values, 1.0)

    def forget(self, group: GroupId) -> None:
        """Remove a group's series."""
        self._groups.pop(group, None)

    def texts(self) -> Iterator[str]:
        """Yield the text of the family."""
        yield self._header
        for group, counts in list(self._groups.items()):
            yield self._text(group, counts)

    def _of(self, group: GroupId) -> _Counts:
        counts = self._groups.get(group)
        if counts is None:
            counts = self._groups[group] = _Counts()
        return counts

    def _text(self, group: GroupId, counts: _Counts) -> str:
        edition, text = counts.kept
        if edition == counts.edition:
            return text
        edition = counts.edition
        text = "".join([self._line(group, counts, key, value) for key, value in list(counts.values.items())])
        counts.kept = edition, text
        return text

    def _line(self, group: GroupId, counts: _Counts, key: tuple[str, ...], value: float) -> str:
        prefix = counts.prefixes.get(key)
        if prefix is None:
            prefix = counts.prefixes[key] = series(self._name, self._labels, (group, *key))
        return f"{prefix}{figure(value)}\n"
