"""What only the file may say: programs, addresses and secrets of the machine that the daemon runs on. Pure.

A person who may declare over the API need not be one who may start programs as the daemon's user or have it read any
file. Secrets are named by references; an entity of the API may name those that the file names in the same place of
another entry, unless they would be sent to a URL of its own choice. Where such URLs may lead is judged when they are
asked (`config.model.outbound`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from config.document.fields import mapping_at
from config.document.places import Plain, walked
from config.document.sources import is_reference
from config.model.where import Where

_PROGRAM: Final = "only the file may name programs and folders of the daemon's machine: declare the profile there"
_CERTIFICATE: Final = "only the file may name a certificate's file: declare the counter there"
_SENT: Final = "a URL of the API is sent no secret: leave it out, or declare the counter in the file"
_NOTIFY: Final = "only the file may say where notifications go: leave it out, and the file's receiver is used"
_CALENDAR: Final = "only the file may name a calendar's file: write dates, or declare the policy there"
_PLUGIN: Final = "only the file may use a plugin: declare the counter there"
_UNKNOWN: Final = (
    "an entity of the API may name only secrets that the file names in the same place: name one of those, or declare "
    "this in the file"
)

_OF_THE_FILE: Final[Mapping[Where, str]] = {
    ("profiles", "*", "command"): _PROGRAM,
    ("profiles", "*", "directory"): _PROGRAM,
    ("profiles", "*", "new_privileges"): _PROGRAM,
    ("counters", "*", "http", "ca"): _CERTIFICATE,
    ("counters", "*", "plugin"): _PLUGIN,
    ("groups", "*", "notify"): _NOTIFY,
    ("policies", "*", "forecast", "holidays", "calendar"): _CALENDAR,
}

_HTTP: Final = ("counters", "*", "http")


@dataclass(frozen=True, slots=True)
class Confinement:
    """What one file allows entities of the API to name."""

    secrets: frozenset[tuple[Where, tuple[tuple[str, str], ...]]]
    """Places without the name of the entry, and the references that stand there, whole: keys and values, sorted."""

    @classmethod
    def of(cls, data: Mapping[str, Plain]) -> Confinement:
        """Read what a file allows."""
        found = set[tuple[Where, tuple[tuple[str, str], ...]]]()
        for section, entries in data.items():
            if isinstance(entries, dict):
                for name, entry in entries.items():
                    found.update((place, each) for _, place, each in _secrets(entry, (section, name)))
        return cls(frozenset(found))

    def trespasses(self, key: Where, body: Mapping[str, Plain]) -> Iterator[tuple[Where, str]]:
        """Yield each place in an entity that says what only the file may say, and what to do."""
        for where, _ in walked(dict(body), key):
            message = _OF_THE_FILE.get(_kind(where))
            if message is not None:
                yield where, message
        for where, place, reference in _secrets(dict(body), key):
            if (place, reference) not in self.secrets:
                yield where, _UNKNOWN
            elif place[:3] == _HTTP and "url" in _mapping(body.get("http")):
                yield where, _SENT


def _secrets(value: Plain, key: Where) -> Iterator[tuple[Where, Where, tuple[tuple[str, str], ...]]]:
    """Yield each reference to a secret: its place, the place in any entry, and its keys and values, sorted."""
    for where, each in walked(value, key):
        kind = _kind(where)
        if isinstance(each, dict) and is_reference(mapping_at(kind)):
            yield where, kind, tuple(sorted((how, str(kept)) for how, kept in each.items()))


def _mapping(value: Plain) -> Mapping[str, Plain]:
    return value if isinstance(value, dict) else {}


def _kind(where: Where) -> Where:
    """The place without the name of the entry and without numbers."""
    return (where[0], "*", *("0" if part.isdigit() else part for part in where[2:]))
