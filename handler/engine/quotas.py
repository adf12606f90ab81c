"""Which groups an account has, how much of its quota they use, and refusals of more.

The max of a group is what it may grow to without being asked again, so their sum is bounded when something is declared:
no group's growth then depends on what another one has done. A size that a person forces above max is bounded by what
the others leave.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from config.errors import Refused
from config.units import AccountId, GroupId
from handler import logs
from handler.engine.declared import Declaration
from handler.identity.accounts import AccountQuota
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What counts against an account's quota."""

    groups: int
    members: int
    """The sum of the max of these groups."""


class AccountQuotas:
    """Groups that are deleted count until their last member has left."""

    def __init__(self, runtimes: Mapping[GroupId, GroupRuntime], quota_of: Callable[[AccountId], AccountQuota]) -> None:
        self._runtimes = runtimes
        self._quota_of = quota_of

    def usage(self, account: AccountId) -> Usage:
        """Return what an account uses now."""
        return _usage(self._largest(account))

    def refuse_more(self, account: AccountId, after: Declaration) -> None:
        """Refuse a declaration that takes an account further above its quota; one that does not is always accepted.

        Raises:
            Refused: with what it may have, and would have.
        """
        quota, largest = self._quota_of(account), self._largest(account)
        owned = {group for group, owner in after.accounts.items() if owner == account}
        wanted = {group: after.catalogue.groups[group].maximum for group in owned & after.catalogue.groups.keys()}
        now, then = _usage(largest), _usage({**largest, **wanted})
        for what, most, has, would in (
            ("groups", quota.groups, now.groups, then.groups),
            ("members (the sum of max)", quota.members, now.members, then.members),
        ):
            if most is not None and would > max(most, has):
                logs.warn("quota_refused", account=account, what=what, most=most, wanted=would)
                raise Refused(
                    f"account {account} may have {most} {what}, has {has} and would have {would}: lower the max of a "
                    "group or delete one, or ask for a larger quota"
                )

    def refuse_forced(self, runtime: GroupRuntime, size: int) -> None:
        """Refuse a forced size above a group's max that the other groups of its account leave no room for.

        Raises:
            Refused: with the greatest size that can be forced.
        """
        most = self._quota_of(runtime.account).members
        if most is None or size <= runtime.definition.group.maximum:
            return
        others = {group: each for group, each in self._largest(runtime.account).items() if group != runtime.id}
        room = max(most - _usage(others).members, runtime.definition.group.maximum)
        if size > room:
            raise Refused(
                f"account {runtime.account} may have {most} members, and its other groups may grow to "
                f"{_usage(others).members}: {runtime.id} can be forced to {room} at most"
            )

    def _largest(self, account: AccountId) -> dict[GroupId, int]:
        """Return the groups that an account has, and what each may grow to or was forced to."""
        return {
            runtime.id: max(runtime.definition.group.maximum, runtime.state.desired or 0)
            for runtime in self._runtimes.values()
            if runtime.account == account
        }


def _usage(largest: Mapping[GroupId, int]) -> Usage:
    return Usage(groups=len(largest), members=sum(largest.values()))
