"""What is declared over the API outlives the daemon, together with the groups that it leads to, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from config.document.entities import Entity
from config.errors import StoreError
from config.model.sections import Section
from config.model.where import Where
from config.units import GroupId
from handler.ports.declarations import (
    DeclaredOverApi,
    EntityChange,
    EntityRevision,
    changes_between,
    rewound,
)
from handler.store.sqlite import SqliteStore
from tests.support.store import WEB, a_definition, at, opened


def entity(id: str, revision: int = 1, **body: int) -> Entity:
    text = "{" + ",".join(f'"{key}":{value}' for key, value in body.items()) + "}"
    return Entity(section=Section.POLICIES, id=id, name=id, text=text, revision=revision)


def revision(number: int, *changes: EntityChange) -> EntityRevision:
    return EntityRevision(number=number, at=at(number), by="ada", origin="socket", changes=changes)


ONE, TWO, ONE_AGAIN = entity("one", add=1), entity("two", add=2), entity("one", 2, add=3)
FIRST = revision(1, *changes_between({}, {ONE.key: ONE, TWO.key: TWO}))
SECOND = revision(2, *changes_between({ONE.key: ONE, TWO.key: TWO}, {ONE.key: ONE_AGAIN}))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = opened(tmp_path / "trimtab.sqlite")
    yield store
    store.close()


def keyed(entities: tuple[Entity, ...]) -> dict[Where, Entity]:
    return {entity.key: entity for entity in entities}


def test_a_revision_leaves_the_entities_that_it_says(store: SqliteStore) -> None:
    store.declare((), at(1), over=DeclaredOverApi(revision=FIRST))
    assert store.entities() == (ONE, TWO)
    store.declare((), at(2), over=DeclaredOverApi(revision=SECOND))
    assert store.entities() == (ONE_AGAIN,)
    assert store.entity_revisions() == (SECOND, FIRST)
    assert store.entity_revisions(1) == (SECOND,)


def test_what_revisions_did_can_be_undone_to_any_of_them(store: SqliteStore) -> None:
    now = keyed((ONE_AGAIN,))
    assert rewound(now, (SECOND,)) == keyed((ONE, TWO))
    assert rewound(now, (SECOND, FIRST)) == {}


def test_a_change_that_changes_nothing_is_none() -> None:
    assert changes_between(keyed((ONE,)), keyed((entity("one", 7, add=1),))) == ()


def test_a_revision_that_cannot_be_written_leaves_the_groups_as_they_were(store: SqliteStore) -> None:
    store.declare((), at(1), over=DeclaredOverApi(revision=FIRST))
    with pytest.raises(StoreError):
        store.declare((a_definition(),), at(2), over=DeclaredOverApi(revision=FIRST))  # its number is taken
    assert store.groups() == ()


def test_a_deleted_group_is_emptied_and_the_history_names_the_person(store: SqliteStore) -> None:
    store.declare((a_definition(),), at(0))
    over = DeclaredOverApi(revision=FIRST, deleted=frozenset({WEB}))
    store.declare((), at(1), over=over)
    (group,) = store.groups()
    assert group.deleting
    assert group.state.orphaned
    newest = store.history(WEB, before=None, limit=1)[0]
    assert (newest.name, newest.by) == ("delete", "ada")


def test_a_quarantined_group_is_held_and_comes_back(store: SqliteStore) -> None:
    store.declare((a_definition(),), at(0))
    over = DeclaredOverApi(quarantined={GroupId("web"): "no such policy"})
    store.declare((), at(1), over=over)
    (held,) = store.groups()
    assert held.state.orphaned
    assert not held.deleting
    store.declare((), at(2), over=over)
    store.declare((a_definition(),), at(3))
    acts = [event.name for event in reversed(store.history(WEB, before=None, limit=10))]
    assert acts == ["declared", "quarantined", "declared_again"]
    assert not store.groups()[0].state.orphaned


def test_a_quarantined_group_can_be_deleted(store: SqliteStore) -> None:
    store.declare((a_definition(),), at(0))
    store.declare((), at(1), over=DeclaredOverApi(quarantined={WEB: "no such policy"}))
    store.declare((), at(2), over=DeclaredOverApi(revision=FIRST, deleted=frozenset({WEB})))
    assert store.groups()[0].deleting
