"""What goes to a worker on another machine, and what the worker does with it.

Two machines replay alike only with the same release of Trimtab, and of what adds numbers up. So each parcel has the
releases of the machine that sent it, and a worker with others refuses it.
"""

from __future__ import annotations

import functools
import pickle
import platform
import zlib
from dataclasses import dataclass
from importlib.metadata import version

from config.errors import Refused
from config.model.catalogue import Catalogue
from handler.tuning.outcomes import Outcome
from handler.tuning.trials import TrialRecording, outcomes_of

LIBRARIES = ("trimtab", "numpy")
_LEVEL = 1
"""Of compression: it is quick, and a recording becomes a fifth or less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """What must be the same for the same results."""

    python: str
    """As ``3.11``: sums of floats differ between these."""
    libraries: tuple[str, ...]
    """In the order of `LIBRARIES`."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """A recording or a declaration on its way."""

    releases: Releases
    content: bytes


@functools.cache
def releases_here() -> Releases:
    """Return the releases of this process."""
    return Releases(python=minor(platform.python_version()), libraries=tuple(map(version, LIBRARIES)))


def minor(python: str) -> str:
    """Return a release of Python without its last number.

    >>> minor("3.11.7")
    '3.11'
    """
    return ".".join(python.split(".")[:2])


def packed(content: TrialRecording | Catalogue) -> Parcel:
    """Put a value into a parcel."""
    return Parcel(releases_here(), zlib.compress(pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL), _LEVEL))


def unpacked(parcel: Parcel) -> TrialRecording:
    """Unpack a recording, on a worker, which keeps it for all trials of the group.

    Raises:
        Refused: it was sent by another release.
    """
    value = _content(parcel)
    if not isinstance(value, TrialRecording):
        raise TypeError(type(value).__name__)
    return value


def tried_there(recording: TrialRecording, declared: Parcel) -> tuple[Outcome, ...]:
    """Replay copies of a group, on a worker; return their outcomes in the order of their numbers.

    Raises:
        Refused: it was sent by another release.
    """
    value = _content(declared)
    if not isinstance(value, Catalogue):
        raise TypeError(type(value).__name__)
    return outcomes_of(recording, value)


def _content(parcel: Parcel) -> object:
    if parcel.releases != releases_here():
        raise Refused(
            f"a worker on {platform.node()} has other releases than the command ({_words(releases_here())} instead of "
            f"{_words(parcel.releases)}): install the same ones"
        )
    return pickle.loads(zlib.decompress(parcel.content))  # noqa: S301  # the scheduler's clients may run anything anyway


def _words(releases: Releases) -> str:
    named = zip(LIBRARIES, releases.libraries, strict=True)
    return ", ".join([f"Python {releases.python}", *(f"{name} {release}" for name, release in named)])
