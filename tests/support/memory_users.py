"""The store's port of users and tokens, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from config.errors import StoreError
from config.units import ROOT_ACCOUNT, ROOT_DOMAIN, AccountId, DomainId, Instant, Seconds
from handler.identity.accounts import Account, AccountQuota, Domain
from handler.identity.audit import AuditEntry, AuditRow, chained
from handler.identity.grants import Anonymous
from handler.ports.credentials import PairKey, StoredKeyPair, StoredPassword
from handler.ports.identity import StoredCall, StoredToken, StoredUser, TokenKey, user_caller

ROOTS = (
    Domain(id=ROOT_DOMAIN, uuid="u-domain", parent=None, created_at=Instant(0.0)),
    Account(id=ROOT_ACCOUNT, uuid="u-account", domain=ROOT_DOMAIN, quota=AccountQuota(), created_at=Instant(0.0)),
)


@dataclass
class MemoryUsers:
    """Accounts, users and tokens; ``full`` refuses every write."""

    allowed: Anonymous | None = None
    people: dict[str, StoredUser] = field(default_factory=dict)
    bearers: dict[TokenKey, StoredToken] = field(default_factory=dict)
    hashes: dict[str, StoredPassword] = field(default_factory=dict)
    pairs: dict[PairKey, StoredKeyPair] = field(default_factory=dict)
    full: bool = False
    trail: list[AuditRow] = field(default_factory=list)
    keyed: dict[tuple[str, str], StoredCall] = field(default_factory=dict)
    tree: dict[DomainId, Domain] = field(default_factory=lambda: {ROOT_DOMAIN: ROOTS[0]})
    holders: dict[AccountId, Account] = field(default_factory=lambda: {ROOT_ACCOUNT: ROOTS[1]})

    def anonymous(self) -> Anonymous | None:
        return self.allowed

    def save_anonymous(self, allowed: Anonymous) -> None:
        self._refuse_if_full()
        self.allowed = allowed

    def users(self) -> tuple[StoredUser, ...]:
        return tuple(self.people[name] for name in sorted(self.people))

    def begin_users(self, first: StoredUser, allowed: Anonymous) -> None:
        self.save_user(first)
        self.allowed = allowed

    def save_user(self, user: StoredUser) -> None:
        self._refuse_if_full()
        self.people[user.name] = user

    def delete_user(self, name: str) -> None:
        self._refuse_if_full()
        self.people.pop(name, None)
        self.keyed = {mark: call for mark, call in self.keyed.items() if mark[0] != user_caller(name)}
        self.bearers = {key: token for key, token in self.bearers.items() if key[0] != name}
        self.hashes.pop(name, None)
        self.pairs = {key: pair for key, pair in self.pairs.items() if key[0] != name}

    def domains(self) -> tuple[Domain, ...]:
        return tuple(self.tree[name] for name in sorted(self.tree))

    def accounts(self) -> tuple[Account, ...]:
        return tuple(self.holders[name] for name in sorted(self.holders))

    def save_domain(self, domain: Domain) -> None:
        self._refuse_if_full()
        self.tree[domain.id] = domain

    def save_account(self, account: Account) -> None:
        self._refuse_if_full()
        self.holders[account.id] = account

    def delete_domain(self, id: DomainId) -> None:
        self._refuse_if_full()
        self.tree.pop(id, None)

    def delete_account(self, id: AccountId) -> None:
        self._refuse_if_full()
        self.holders.pop(id, None)

    def tokens(self) -> tuple[StoredToken, ...]:
        return tuple(self.bearers[key] for key in sorted(self.bearers))

    def save_token(self, token: StoredToken) -> None:
        self._refuse_if_full()
        self.bearers[token.user, token.name] = token

    def delete_token(self, key: TokenKey) -> None:
        self._refuse_if_full()
        del self.bearers[key]

    def use_tokens(self, used: Mapping[TokenKey, Instant]) -> None:
        self._refuse_if_full()
        for key in used.keys() & self.bearers.keys():
            self.bearers[key] = replace(self.bearers[key], last_used_at=used[key])

    def passwords(self) -> tuple[StoredPassword, ...]:
        return tuple(self.hashes[user] for user in sorted(self.hashes))

    def save_password(self, password: StoredPassword) -> None:
        self._refuse_if_full()
        self.hashes[password.user] = password

    def delete_password(self, user: str) -> None:
        self._refuse_if_full()
        self.hashes.pop(user, None)

    def key_pairs(self) -> tuple[StoredKeyPair, ...]:
        return tuple(self.pairs[key] for key in sorted(self.pairs))

    def save_key_pairs(self, pairs: tuple[StoredKeyPair, ...]) -> None:
        self._refuse_if_full()
        self.pairs |= {(pair.user, pair.name): pair for pair in pairs}

    def delete_key_pair(self, key: PairKey) -> None:
        self._refuse_if_full()
        del self.pairs[key]

    def use_key_pairs(self, used: Mapping[PairKey, Instant]) -> None:
        self._refuse_if_full()
        for key in used.keys() & self.pairs.keys():
            self.pairs[key] = replace(self.pairs[key], last_used_at=used[key])

    def append_audit(self, entries: Sequence[AuditEntry], copied: AuditRow | None) -> Sequence[AuditRow]:
        self._refuse_if_full()
        last = self.last_audit()
        if copied is not None and (last is None or copied.number > last.number):
            last = copied
        rows = list(chained(last, entries))
        self.trail.extend(rows)
        return rows

    def last_audit(self) -> AuditRow | None:
        return self.trail[-1] if self.trail else None

    def audit_after(self, number: int, limit: int) -> Sequence[AuditRow]:
        return [row for row in self.trail if row.number > number][:limit]

    def _refuse_if_full(self) -> None:
        if self.full:
            raise StoreError("disk full")

    def begin_call(self, call: StoredCall, lasts: Seconds, at_most: int) -> StoredCall | None:
        self._refuse_if_full()
        older = Instant(call.at - 0.001)
        moved = {
            mark: replace(each, at=min(each.at, older)) if each.at > call.at else each
            for mark, each in self.keyed.items()
        }
        self.keyed = {mark: each for mark, each in moved.items() if each.at >= call.at - lasts}
        found = self.keyed.get((call.caller, call.key))
        if found is not None:
            return found
        own = sorted((each for each in self.calls() if each.caller == call.caller), key=lambda each: -each.at)
        for each in own[at_most - 1 :]:
            del self.keyed[each.caller, each.key]
        self.keyed[call.caller, call.key] = call
        return None

    def end_call(self, caller: str, key: str, status: int, body: str | None) -> None:
        self._refuse_if_full()
        self.keyed[caller, key] = replace(self.keyed[caller, key], status=status, body=body)

    def forget_call(self, caller: str, key: str) -> None:
        self._refuse_if_full()
        self.keyed.pop((caller, key), None)

    def calls(self) -> tuple[StoredCall, ...]:
        return tuple(self.keyed[mark] for mark in sorted(self.keyed))
