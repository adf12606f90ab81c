"""The text of the daemon's own file, and how another one takes its place."""

from __future__ import annotations

import codecs
import os
from dataclasses import dataclass
from pathlib import Path

from config.errors import Refused
from handler.recording.folder import written_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class FileText:
    """The file as it is on the disk at one moment."""

    path: Path
    content: bytes

    @classmethod
    def of(cls, path: Path) -> FileText:
        """Read a file.

        Raises:
            Refused: it cannot be read, or is no UTF-8.
        """
        try:
            content = path.read_bytes()
            content.decode()
        except (OSError, UnicodeDecodeError) as error:
            raise Refused(f"{path} cannot be read: {error}") from error
        return cls(path=path, content=content)

    @property
    def text(self) -> str:
        """Return what it says, without a byte-order mark."""
        return self.content.decode("utf-8-sig")

    def replaced(self, text: str) -> FileText:
        """Put another text in its place, whole or not at all; owner, mode and a byte-order mark stay. It blocks.

        Raises:
            Refused: it has changed since it was read, or it cannot be written; it is as it was.
        """
        mark = codecs.BOM_UTF8 if self.content.startswith(codecs.BOM_UTF8) else b""
        after = FileText(path=self.path, content=mark + text.encode())
        try:
            if self.path.read_bytes() != self.content:
                raise Refused(f"{self.path} was edited at this very moment: look at it, and try again")
            after._write()
        except OSError as error:
            raise Refused(
                f"{self.path} cannot be written: {error.strerror}; Trimtab's user needs to own it, and to write in its "
                "folder"
            ) from error
        return after

    def _write(self) -> None:
        place = self.path.resolve()  # a link to the file stays a link
        was = place.stat()
        with written_whole(place) as file:
            os.fchown(file.fileno(), was.st_uid, was.st_gid)
            os.fchmod(file.fileno(), was.st_mode & 0o7777)
            file.write(self.content)
