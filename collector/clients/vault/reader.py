"""Reads secrets wherever they are kept: on this machine when they are used, in a vault from what was read before.

Secrets are read on the event loop, many times a second, so a vault must not be asked there. `SecretReader.use` and
`SecretReader.refresh`, which block, read what the catalogue refers to; a call gives what they read last. A vault that
does not answer takes nothing away: the last value stays.
"""

from __future__ import annotations

import enum
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from config.errors import Permanent, Refused, Transient
from config.model.access import SecretRef, VaultAccess
from config.model.catalogue import Catalogue
from config.settings import read_secret, secret_owners
from config.units import Seconds

if TYPE_CHECKING:
    from collector.clients.vault.client import VaultAnswer, VaultClient


_JUST_NOW: Seconds = 0.001
_AGAIN: Seconds = 10.0
"""After it a path that could not be read is tried again."""

ReportPath = Callable[[str, str | None], None]
"""Takes a path and what is wrong with it; or that it is right again (``None``)."""


def report_nothing(_path: str, _wrong: str | None) -> None:
    """Report nothing: the caller shows errors where a secret is asked for."""


class SecretState(enum.Enum):
    """How a secret is."""

    FRESH = "fresh"
    STALE = "stale"
    """It could not be read again, and its last value is in use."""
    MISSING = "missing"
    """It has never been read, so what needs it waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultStatus:
    """The secrets that the file refers to."""

    url: str
    """Of the vault."""
    counts: Mapping[tuple[str, SecretState], int]
    """Section of the file whose entries use them, and state → so many; one that two sections use is in both."""
    failing: Seconds
    """For how long at least one of them could not be read; 0: all can."""
    because: str
    """Why that one cannot be read, in our words; empty: all can."""

    def sections(self, state: SecretState) -> tuple[str, ...]:
        """Return the sections that have a secret in this state."""
        return tuple(sorted(section for (section, one), count in self.counts.items() if one is state and count))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    answer: VaultAnswer
    read_at: Seconds

    def is_due(self, now: Seconds, refresh: Seconds) -> bool:
        lease = self.answer.lease
        return now - self.read_at >= (min(refresh, lease / 2) if lease else refresh)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wrong:
    words: str
    since: Seconds
    """When it could not be read for the first time."""
    tried_at: Seconds


class SecretReader:
    """Gives the secret of a reference. Calls are safe in any thread and never block on a network.

    Args:
        environ: where environment variables and the place of credentials are read.
        elapsed: a clock that is never set.
        report: see `ReportPath`; called by the thread of `use` and `refresh`.
    """

    def __init__(
        self, environ: Mapping[str, str], elapsed: Callable[[], Seconds], report: ReportPath = report_nothing
    ) -> None:
        self._environ, self._elapsed, self._report = environ, elapsed, report
        self._turn = threading.Lock()
        self._access: VaultAccess | None = None
        self._client: VaultClient | None = None
        self._sections: Mapping[str, frozenset[str]] = {}
        """Path → sections of the file whose entries use it, in the order of paths."""
        self._kept: dict[str, _Kept] = {}
        self._wrong: dict[str, _Wrong] = {}

    def __call__(self, ref: SecretRef) -> str:
        """Return a secret.

        Raises:
            Refused: it cannot be read, or could not yet; names the place, never the value.
        """
        if ref.vault is None or ref.field is None:
            return read_secret(ref, self._environ)
        kept = self._kept.get(ref.vault)
        if kept is None:
            wrong = self._wrong.get(ref.vault)
            raise Refused(f"{ref.place} has not been read: {'it is not used yet' if wrong is None else wrong.words}")
        if not (value := kept.answer.fields.get(ref.field)):
            raise Refused(f"{ref.place} holds no secret: the field is not there, is empty, or is no text")
        return value

    def use(self, catalogue: Catalogue) -> None:
        """Read what a catalogue refers to and is not known yet, and forget what it does not."""
        with self._turn:
            if catalogue.vault != self._access:
                self._access, self._client = catalogue.vault, None
                self._kept, self._wrong = {}, {}
            self._sections = _sections(catalogue)
            self._kept = {path: kept for path, kept in self._kept.items() if path in self._sections}
            self._wrong = {path: wrong for path, wrong in self._wrong.items() if path in self._sections}
            self._read_due(lambda path: path not in self._kept)

    @property
    def has_paths(self) -> bool:
        """Whether the file refers to a vault, so that there is something to `refresh`."""
        return bool(self._sections)

    def refresh(self) -> bool:
        """Read again what is due; return whether a path was read that could not be read before."""
        with self._turn:
            now = self._elapsed()
            return self._read_due(lambda path: self._is_due(path, now))

    def status(self) -> VaultStatus | None:
        """Return how the secrets of the vault are; ``None``: the file refers to none. Waits for no reading."""
        access, sections, kept, wrong = self._access, self._sections, dict(self._kept), dict(self._wrong)
        if access is None or not sections:
            return None
        states = {path: _state(path in kept, path in wrong) for path in sections}
        counts = Counter((section, state) for path, state in states.items() for section in sections[path])
        first = min(wrong.values(), key=lambda each: each.since, default=None)
        failing = 0.0 if first is None else max(self._elapsed() - first.since, _JUST_NOW)
        return VaultStatus(url=access.url, counts=counts, failing=failing, because="" if first is None else first.words)

    def _read_due(self, is_due: Callable[[str], bool]) -> bool:
        recovered, now = False, self._elapsed()
        due = [path for path in self._sections if is_due(path)]
        for path in due:
            try:
                self._kept[path] = _Kept(answer=self._connected().read(path, now), read_at=now)
            except (Refused, Permanent) as error:
                self._is_wrong(path, str(error), now)
            except Transient as error:  # of the vault: so are all others
                for each in due[due.index(path) :]:
                    self._is_wrong(each, str(error), now)
                break
            else:
                if self._wrong.pop(path, None) is not None:
                    recovered = True
                    self._report(path, None)
        return recovered

    def _is_due(self, path: str, now: Seconds) -> bool:
        kept, wrong = self._kept.get(path), self._wrong.get(path)
        if wrong is not None:
            return now - wrong.tried_at >= _AGAIN
        return kept is None or self._access is None or kept.is_due(now, self._access.refresh)

    def _connected(self) -> VaultClient:
        if self._access is None:
            raise Refused("the file has no section vault")
        if self._client is None:
            from collector.clients.vault.client import VaultClient  # most files name no vault

            self._client = VaultClient(self._access, lambda ref: read_secret(ref, self._environ))
        return self._client

    def _is_wrong(self, path: str, words: str, now: Seconds) -> None:
        before = self._wrong.get(path)
        self._wrong[path] = _Wrong(words=words, since=now if before is None else before.since, tried_at=now)
        if before is None or before.words != words:
            self._report(path, words)


def _sections(catalogue: Catalogue) -> Mapping[str, frozenset[str]]:
    used: dict[str, set[str]] = {}
    for ref, where in secret_owners(catalogue):
        if ref.vault is not None:
            used.setdefault(ref.vault, set()).add(where[0])
    return {path: frozenset(used[path]) for path in sorted(used)}


def _state(is_kept: bool, is_wrong: bool) -> SecretState:
    if not is_kept:
        return SecretState.MISSING
    return SecretState.STALE if is_wrong else SecretState.FRESH
