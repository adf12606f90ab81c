"""Every golden file, and what makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.golden.answers import answers
from tests.golden.stored import digests, stored_values, words

FILES: Final = Path(__file__).with_name("files")

KEPT: Final[Mapping[str, Callable[[], str]]] = {
    "stored.jsonl": stored_values,
    "words.jsonl": words,
    "digests.txt": digests,
    "answers.json": answers,
}
