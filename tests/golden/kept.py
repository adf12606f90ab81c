"""Every golden file, and what makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.golden.answers import answers
from tests.golden.messages import messages_text, metrics_text
from tests.golden.pages import declared_pages, first_pages, group_pages, installation_pages, member_pages
from tests.golden.saved import busy_world, full_world, plan_of, recording_text, replayed_text
from tests.golden.store import events_text, store_text
from tests.golden.stored import digests, stored_values, words
from tests.golden.tables import tables_text

FILES: Final = Path(__file__).with_name("files")


def kept(name: str) -> str:
    """What a golden file holds."""
    return (FILES / name).read_text(encoding="utf-8")


KEPT: Final[Mapping[str, Callable[[], str]]] = {
    "stored.jsonl": stored_values,
    "words.jsonl": words,
    "digests.txt": digests,
    "store.sql": store_text,
    "events.csv": events_text,
    "world-full.json": full_world,
    "world-busy.json": busy_world,
    "plan-busy.json": lambda: plan_of(kept("world-busy.json")),
    "recording.csv": recording_text,
    "replayed.jsonl": replayed_text,
    "answers.json": answers,
    "pages/overview.txt": first_pages,
    "pages/groups.txt": group_pages,
    "pages/declared.txt": declared_pages,
    "pages/installation.txt": installation_pages,
    "pages/members.txt": member_pages,
    "tables.txt": tables_text,
    "metrics.txt": metrics_text,
    "told.jsonl": messages_text,
}
"""By name; what is made of another file comes after it."""
