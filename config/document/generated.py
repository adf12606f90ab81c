"""Files that are made from the document model and kept beside it: write them, or say that they are stale."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path


def keep(text: str, path: Path, arguments: Sequence[str], *, module: str, remedy: str) -> int:
    """Write a file, or with ``--check`` compare it. Returns the exit code: 0 done, 1 stale, 2 usage."""
    if list(arguments) not in ([], ["--check"]):
        sys.stderr.write(f"usage: python -m {module} [--check]\n")
        return 2
    if not arguments:
        path.write_text(text, encoding="utf-8")
        return 0
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{path.name} does not match config/document/file.py: run `{remedy}` and commit the result\n")
    return 1
