"""The store's port of users and tokens, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from config.errors import StoreError
from config.units import Instant
from handler.identity.audit import AuditEntry, AuditRow, chained
from handler.identity.grants import Anonymous
from handler.ports.identity import StoredToken, StoredUser, TokenKey


@dataclass
class MemoryUsers:
    """Users and tokens; ``full`` refuses every write."""

    allowed: Anonymous | None = None
    people: dict[str, StoredUser] = field(default_factory=dict)
    bearers: dict[TokenKey, StoredToken] = field(default_factory=dict)
    full: bool = False
    trail: list[AuditRow] = field(default_factory=list)

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
        del self.people[name]
        self.bearers = {key: token for key, token in self.bearers.items() if key[0] != name}

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
