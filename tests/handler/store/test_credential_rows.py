"""Key pairs: the store on disk, and the one in memory that stands in for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.errors import StoreError
from config.units import ROOT_ACCOUNT
from handler.identity.rights import UserRole
from handler.ports.credentials import StoredKeyPair
from handler.ports.identity import StoredUser
from handler.ports.store import Store
from handler.store.sqlite import SqliteStore
from tests.support.memory_store import MemoryStore
from tests.support.store import at

ADA, BOB = (
    StoredUser(
        name=name, display_name=name, uuid=f"u-{name}", account=ROOT_ACCOUNT, role=UserRole.ADMIN, created_at=at(0)
    )
    for name in ("ada", "bob")
)
OF_ADA = StoredKeyPair(user="ada", name="ci", api_key="k1", secret="1.s", created_at=at(1))
OF_BOB = StoredKeyPair(
    user="bob",
    name="ci",
    api_key="k2",
    secret="2.s",
    old_api_key="k3",
    old_secret="3.s",
    old_expires_at=at(50),
    created_at=at(1),
    expires_at=at(90),
    last_used_at=at(3),
)

REAL = pytest.mark.real("postgres")


@pytest.fixture(params=["memory", "file_store", pytest.param("server_store", id="on_server@", marks=REAL)])
def any_store(request: pytest.FixtureRequest) -> Store:
    found: Store = MemoryStore() if request.param == "memory" else request.getfixturevalue(request.param)
    for user in (ADA, BOB):
        found.save_user(user)
    found.save_key_pairs((OF_BOB, OF_ADA))
    return found


def test_pairs_are_kept_whole_and_sorted(any_store: Store) -> None:
    assert any_store.key_pairs() == (OF_ADA, OF_BOB)


def test_pairs_are_replaced_and_deleted_by_user_and_name(any_store: Store) -> None:
    any_store.save_key_pairs((replace(OF_ADA, api_key="k9"),))
    assert [pair.api_key for pair in any_store.key_pairs()] == ["k9", "k2"]
    any_store.delete_key_pair(("ada", "ci"))
    assert any_store.key_pairs() == (OF_BOB,)


def test_pairs_go_with_their_user(any_store: Store) -> None:
    any_store.delete_user("bob")
    assert any_store.key_pairs() == (OF_ADA,)


def test_uses_are_written_and_those_of_unknown_pairs_left_out(any_store: Store) -> None:
    any_store.use_key_pairs({("ada", "ci"): at(7), ("ada", "gone"): at(8)})
    assert [pair.last_used_at for pair in any_store.key_pairs()] == [at(7), at(3)]


def test_two_pairs_with_one_api_key_are_refused_and_neither_is_written(store: SqliteStore) -> None:
    store.save_user(ADA)
    with pytest.raises(StoreError):
        store.save_key_pairs((OF_ADA, replace(OF_ADA, name="more")))
    assert store.key_pairs() == ()
