"""Users and tokens: the store on disk, and the one in memory that stands in for it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from config.units import ROOT_ACCOUNT, ROOT_DOMAIN, AccountId, DomainId, GroupId
from handler.identity.accounts import Account, AccountQuota, Domain
from handler.identity.grants import Anonymous
from handler.identity.rights import UserRole, Verb
from handler.ports.identity import IdentityStore, StoredToken, StoredUser
from tests.support.memory_store import MemoryStore
from tests.support.store import at, opened

ADA = StoredUser(name="ada", display_name="ada", uuid="u1", account=ROOT_ACCOUNT, role=UserRole.ADMIN, created_at=at(0))
BOB = StoredUser(
    name="bob-k4xw2",
    display_name="bob",
    uuid="u2",
    account=AccountId("books"),
    role=UserRole.OPERATOR,
    groups=(GroupId("web"),),
    created_at=at(1),
    disabled_at=at(2),
)
SHOPS = Domain(id=DomainId("shops"), uuid="u3", parent=ROOT_DOMAIN, created_at=at(3))
BOOKS = Account(
    id=AccountId("books"),
    uuid="u4",
    domain=SHOPS.id,
    quota=AccountQuota(groups=3, members=40),
    created_at=at(4),
    after_revision=7,
)
LAPTOP = StoredToken(user="ada", name="laptop", digest="d1", created_at=at(1))
SCRAPER = StoredToken(
    user="bob-k4xw2",
    name="scraper",
    digest="d2",
    old_digest="d3",
    old_expires_at=at(50),
    groups=(GroupId("web"),),
    verbs=(Verb.METRICS, Verb.READ),
    created_at=at(1),
    expires_at=at(90),
    last_used_at=at(3),
)

REAL = pytest.mark.real("postgres")


@pytest.fixture(params=["memory", "file_store", pytest.param("server_store", id="on_server@", marks=REAL)])
def any_store(request: pytest.FixtureRequest) -> IdentityStore:
    found: IdentityStore = MemoryStore() if request.param == "memory" else request.getfixturevalue(request.param)
    return found


def test_users_and_tokens_are_kept_whole_and_sorted(any_store: IdentityStore) -> None:
    for user in (BOB, ADA):
        any_store.save_user(user)
    for token in (SCRAPER, LAPTOP):
        any_store.save_token(token)
    assert any_store.users() == (ADA, BOB)
    assert any_store.tokens() == (LAPTOP, SCRAPER)


def test_the_roots_of_accounts_and_domains_are_there_from_the_start(any_store: IdentityStore) -> None:
    assert [(domain.id, domain.parent) for domain in any_store.domains()] == [(ROOT_DOMAIN, None)]
    assert [(account.id, account.domain, account.quota) for account in any_store.accounts()] == [
        (ROOT_ACCOUNT, ROOT_DOMAIN, AccountQuota())
    ]


def test_domains_and_accounts_are_kept_whole_replaced_and_deleted(any_store: IdentityStore) -> None:
    any_store.save_domain(SHOPS)
    any_store.save_account(BOOKS)
    assert (any_store.domains()[-1], any_store.accounts()[0]) == (SHOPS, BOOKS)
    fewer = replace(BOOKS, quota=AccountQuota(groups=1))
    any_store.save_account(fewer)
    assert any_store.accounts()[0] == fewer
    any_store.delete_account(BOOKS.id)
    any_store.delete_domain(SHOPS.id)
    assert ([each.id for each in any_store.domains()], [each.id for each in any_store.accounts()]) == (
        [ROOT_DOMAIN],
        [ROOT_ACCOUNT],
    )


def test_the_first_user_comes_with_what_requests_without_a_credential_may_do(any_store: IdentityStore) -> None:
    assert any_store.anonymous() is None
    any_store.begin_users(ADA, Anonymous.METRICS)
    assert (any_store.users(), any_store.anonymous()) == ((ADA,), Anonymous.METRICS)
    any_store.save_anonymous(Anonymous.VIEWER)
    assert any_store.anonymous() is Anonymous.VIEWER


def test_a_user_goes_with_its_tokens(any_store: IdentityStore) -> None:
    any_store.save_user(ADA)
    any_store.save_user(BOB)
    any_store.save_token(LAPTOP)
    any_store.save_token(SCRAPER)
    any_store.delete_user("bob-k4xw2")
    assert (any_store.users(), any_store.tokens()) == ((ADA,), (LAPTOP,))


def test_a_token_is_replaced_and_deleted_by_user_and_name(any_store: IdentityStore) -> None:
    any_store.save_user(ADA)
    any_store.save_token(LAPTOP)
    any_store.save_token(replace(LAPTOP, digest="d9", old_digest="d1"))
    assert [token.digest for token in any_store.tokens()] == ["d9"]
    any_store.delete_token(("ada", "laptop"))
    assert any_store.tokens() == ()


def test_uses_are_noted_and_those_of_unknown_tokens_left_out(any_store: IdentityStore) -> None:
    any_store.save_user(ADA)
    any_store.save_token(LAPTOP)
    any_store.use_tokens({("ada", "laptop"): at(7), ("ada", "gone"): at(8)})
    assert [token.last_used_at for token in any_store.tokens()] == [at(7)]


def test_the_last_use_on_disk_never_moves_back(store) -> None:  # type: ignore[no-untyped-def]  # a fixture
    store.save_user(BOB)
    store.save_token(SCRAPER)
    store.use_tokens({("bob-k4xw2", "scraper"): at(1)})
    store.save_token(replace(SCRAPER, last_used_at=None))
    assert [token.last_used_at for token in store.tokens()] == [at(3)]


def test_users_and_tokens_survive_a_restart(file) -> None:  # type: ignore[no-untyped-def]  # a fixture
    store = opened(file)
    store.begin_users(ADA, Anonymous.NONE)
    store.save_token(LAPTOP)
    store.close()
    again = opened(file)
    assert (again.users(), again.tokens(), again.anonymous()) == ((ADA,), (LAPTOP,), Anonymous.NONE)
    again.close()
