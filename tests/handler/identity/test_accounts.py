"""To which accounts a role in an account extends, and what CloudStack calls it."""

from __future__ import annotations

import pytest

from config.units import ROOT_ACCOUNT, ROOT_DOMAIN, AccountId, DomainId, Instant
from handler.identity.accounts import (
    Account,
    AccountQuota,
    CloudStackRole,
    Domain,
    cloudstack_role,
    line_of,
    path_of,
    reach_of,
)
from handler.identity.rights import UserRole

TREE = {"ROOT": None, "shops": "ROOT", "books": "shops", "labs": "ROOT"}
IN = {"root": "ROOT", "guests": "ROOT", "till": "shops", "paper": "books", "web": "books", "mice": "labs"}
BEGUN = Instant(0.0)

DOMAINS = {
    DomainId(name): Domain(
        id=DomainId(name), uuid=name, parent=None if parent is None else DomainId(parent), created_at=BEGUN
    )
    for name, parent in TREE.items()
}
ACCOUNTS = {
    name: Account(id=AccountId(name), uuid=name, domain=DomainId(domain), quota=AccountQuota(), created_at=BEGUN)
    for name, domain in IN.items()
}


@pytest.mark.parametrize(
    ("role", "account", "reached"),
    [
        (UserRole.ADMIN, "root", None),
        (UserRole.VIEWER, "root", None),
        (UserRole.ADMIN, "till", {"till", "paper", "web"}),
        (UserRole.ADMIN, "paper", {"paper", "web"}),
        (UserRole.ADMIN, "mice", {"mice"}),
        (UserRole.TUNER, "till", {"till"}),
        (UserRole.VIEWER, "paper", {"paper"}),
    ],
)
def test_an_admin_has_the_domain_and_those_below_it_and_others_their_account(
    role: UserRole, account: str, reached: set[str] | None
) -> None:
    assert reach_of(role, ACCOUNTS[account], ACCOUNTS.values(), DOMAINS) == reached


@pytest.mark.parametrize(
    ("role", "account", "called"),
    [
        (UserRole.ADMIN, ROOT_ACCOUNT, CloudStackRole.ROOT_ADMIN),
        (UserRole.ADMIN, AccountId("paper"), CloudStackRole.DOMAIN_ADMIN),
        (UserRole.TUNER, ROOT_ACCOUNT, CloudStackRole.USER),
        (UserRole.VIEWER, AccountId("paper"), CloudStackRole.USER),
    ],
)
def test_a_role_has_a_word_of_cloudstack(role: UserRole, account: AccountId, called: CloudStackRole) -> None:
    assert cloudstack_role(role, account) is called


def test_a_domain_s_path_begins_at_the_root() -> None:
    assert path_of(DomainId("books"), DOMAINS) == "ROOT/shops/books"
    assert line_of(ROOT_DOMAIN, DOMAINS) == (ROOT_DOMAIN,)
