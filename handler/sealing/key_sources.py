"""Where the seal's keys are kept: a file of the state directory, or what the file's section ``seal`` refers to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from config.errors import Refused
from config.model.access import SecretRef
from handler.runtime.ownership import read_private, write_private
from handler.sealing.boxes import SealKey, keys_in

_REMEDY = "put it back from where you keep a copy"


@dataclass(frozen=True, slots=True)
class OwnKeyFile:
    """``seal-key`` in the state directory, mode 0600: a key a line, the newest first. No backup holds it."""

    path: Path

    @property
    def where(self) -> str:
        """What messages call it."""
        return str(self.path)

    def read(self) -> tuple[SealKey, ...]:
        """Read the keys; none if there is no file yet.

        Raises:
            Refused: it cannot be read, or holds no key.
        """
        text = read_private(self.path, _REMEDY)
        return () if text is None else keys_in(text, self.where)

    def write(self, lines: Sequence[str]) -> None:
        """Replace the file, atomically and durably.

        Raises:
            Refused: it cannot be written.
        """
        try:
            write_private(self.path, "".join(f"{line}\n" for line in lines))
        except OSError as error:
            raise Refused(f"{self.path} cannot be written: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class ReferredKey:
    """A secret that the operator keeps and replaces, with a key a line, the newest first."""

    ref: SecretRef
    read_secret: Callable[[SecretRef], str]

    @property
    def where(self) -> str:
        """What messages call it."""
        return self.ref.place

    def read(self) -> tuple[SealKey, ...]:
        """Read the keys. Raises `Refused`: they cannot be read, or there is none."""
        return keys_in(self.read_secret(self.ref), self.where)


KeySource = OwnKeyFile | ReferredKey
