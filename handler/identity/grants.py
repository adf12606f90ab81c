"""What one caller may do: verbs, and the groups that they hold for."""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass
from typing import assert_never

from config.units import AccountId, GroupId
from handler.identity.rights import (
    VERBS,
    OnAccount,
    OnCredentials,
    OnEntity,
    OnGroups,
    OnInstallation,
    OnOwn,
    OnUser,
    OnWebhook,
    Right,
    UserRole,
    Verb,
)


class Ruling(enum.Enum):
    """Whether a caller may do something."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    """The caller lacks the verb, or rights for the whole installation."""
    HIDDEN = "hidden"
    """It is another's: for this caller it does not exist."""


@dataclass(frozen=True, slots=True)
class Grants:
    """Verbs, and the groups that they hold for."""

    verbs: frozenset[Verb]
    groups: frozenset[GroupId] | None = None
    """``None``: every group, also those that are declared later, every account, and the daemon itself."""
    accounts: frozenset[AccountId] = frozenset()
    """The accounts that are the caller's as a whole: not those of which it has some groups only."""

    def sees(self, group: GroupId) -> bool:
        """Tell whether the group exists for this caller."""
        return self.groups is None or group in self.groups

    def within(self, verbs: Collection[Verb] | None, groups: Collection[GroupId] | None) -> Grants:
        """Return the part of these grants that a scope leaves; ``None`` leaves all."""
        kept = self.verbs if verbs is None else self.verbs & frozenset(verbs)
        if groups is None:
            return Grants(kept, self.groups, self.accounts)
        return Grants(kept, frozenset(groups) if self.groups is None else self.groups & frozenset(groups))

    def holds(self, account: AccountId | None) -> bool:
        """Tell whether an account is the caller's as a whole; ``None``: there is no such account."""
        return self.groups is None or account in self.accounts

    def ruling(
        self, right: Right, of_webhook: Collection[GroupId] | None = None, of_account: AccountId | None = None
    ) -> Ruling:
        """Rule on one right. Pure, and blind to whether a group, a webhook, an account or a user exists.

        Args:
            right: what is asked for.
            of_webhook: the groups of the webhook that it acts on; ``None``: every group, or there is no such webhook.
            of_account: the account that it acts on, or that has what it acts on; ``None``: there is none.
        """
        match right.on:
            case OnGroups(groups):
                is_whole, hidden = True, any(not self.sees(group) for group in groups)
            case OnWebhook():
                is_whole, hidden = True, not self.covers(of_webhook)
            case OnAccount() | OnUser() | OnCredentials() | OnEntity():
                is_whole = self.groups is None or bool(self.accounts)
                hidden = is_whole and not self.holds(of_account)
            case OnInstallation():
                is_whole, hidden = self.groups is None, False
            case OnOwn():
                is_whole, hidden = True, False
            case _:
                assert_never(right.on)
        if hidden:
            return Ruling.HIDDEN
        return Ruling.ALLOWED if is_whole and right.verb in self.verbs else Ruling.FORBIDDEN

    def covers(self, groups: Collection[GroupId] | None) -> bool:
        """Tell whether all these groups are the caller's; ``None``: every group."""
        return self.groups is None or (groups is not None and self.groups.issuperset(groups))


NOTHING = Grants(frozenset())
EVERYTHING = Grants(frozenset(Verb))
READING = Grants(VERBS[UserRole.VIEWER])
"""Every group, without a credential, as on the loopback until users exist."""


class Anonymous(enum.Enum):
    """What requests without a credential may do once users exist."""

    NONE = "none"
    METRICS = "metrics"
    """Read the metrics of all groups, and discover members for Prometheus."""
    VIEWER = "viewer"
    """Read everything."""


def grants_of_anonymous(allowed: Anonymous | None) -> Grants:
    """Return the grants of requests without a credential; ``None``: there are no users yet."""
    match allowed:
        case None | Anonymous.VIEWER:
            return READING
        case Anonymous.METRICS:
            return Grants(frozenset({Verb.METRICS}))
        case Anonymous.NONE:
            return NOTHING
        case _:
            assert_never(allowed)
