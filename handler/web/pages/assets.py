"""The files that pages load: style, scripts and the icon, and a version that changes with any of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOLDER = Path(__file__).with_name("static")


@dataclass(frozen=True, slots=True)
class Assets:
    """Files by name."""

    files: Mapping[str, bytes]
    version: str
    """A digest of all of them."""

    def kind_of(self, name: str) -> str:
        """Return the media type of a file."""
        return _KINDS[Path(name).suffix]


def read_assets() -> Assets:
    """Read the files."""
    files = {path.name: path.read_bytes() for path in sorted(_FOLDER.iterdir()) if path.suffix in _KINDS}
    return Assets(files, hashlib.sha256(b"".join(files.values())).hexdigest()[:12])
