"""Which account has which groups, for those who ask with each request."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from config.units import AccountId, GroupId
from handler.runtime.group_runtime import GroupRuntime

_NONE = frozenset[GroupId]()


class Ownership:
    """The groups of each account, also those that are no longer declared; kept until groups come or go."""

    def __init__(self) -> None:
        self._groups: Mapping[AccountId, frozenset[GroupId]] = MappingProxyType({})

    def arrange(self, runtimes: Iterable[GroupRuntime]) -> None:
        """Take in the groups that there are."""
        found = defaultdict[AccountId, set[GroupId]](set)
        for runtime in runtimes:
            found[runtime.account].add(runtime.id)
        self._groups = {account: frozenset(groups) for account, groups in found.items()}

    def groups_of(self, accounts: frozenset[AccountId]) -> frozenset[GroupId]:
        """Return the groups of some accounts; of one, without copying them."""
        first, *others = [self._groups[account] for account in accounts if account in self._groups] or [_NONE]
        return first.union(*others) if others else first
