"""Builders of snapshots, and what planning reads of them."""

from __future__ import annotations

import json
from typing import Any

from handler.planning.plan import Snapshot
from handler.planning.world import World
from handler.snapshots.reading import read_snapshot
from handler.snapshots.writing import laid_out, written
from handler.web.render import plain
from tests.support.worlds import NOW, a_definition, desired, limits


def a_snapshot(world: World, size: int | None = 1, *, deleting: bool = False, **group: Any) -> Snapshot:
    return Snapshot(
        desired=desired(size, deleting=deleting), world=world, definition=a_definition(**group), limits=limits(), at=NOW
    )


def text_of(snapshot: Snapshot) -> str:
    """What `trimtab snapshot` prints."""
    return laid_out(plain(written(snapshot)))


def read(document: object) -> Snapshot:
    """Read a world that a test wrote, as JSON text or as what becomes JSON."""
    text = document if isinstance(document, str) else json.dumps(document)
    return read_snapshot(text.encode(), "world.json")
