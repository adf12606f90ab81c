"""What CloudStack's query API of this daemon stands for: which cloud a zone is, and which balancer a rule is."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from config.units import BalancerId, CloudId


class StateCase(enum.Enum):
    """How states of groups are written."""

    UPPER = "upper"
    """As CloudStack does since 4.18, and as its console reads them."""
    LOWER = "lower"
    """As before, and as Terraform's provider reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiZone:
    """A zone of CloudStack that profiles may name."""

    cloud: CloudId
    networks: tuple[str, ...] = ()
    """Those of members whose profile names none; empty: those of the cloud's account."""
    acts_as: Mapping[str, CloudId] = field(default_factory=lambda: MappingProxyType({}))
    """User → the cloud that is declared with this user's own keys; for every other user it is ``cloud``."""

    name: str = ""
    """For clients to look it up by; empty: its id."""
    templates: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Id → name, of templates that clients may look up."""
    offerings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Likewise of service offerings."""

    def cloud_of(self, user: str) -> CloudId:
        """Return the cloud where members are made for a user."""
        return self.acts_as.get(user, self.cloud)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRule:
    """A load-balancer rule that groups may name. It may be any kind of balancer."""

    name: str
    """The id of the rule's group, and so the names of members, begin with it."""
    balancer: BalancerId
    port: int
    """At which members serve."""
    public_ip: str | None = None
    public_port: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudstackApi:
    """The section ``cloudstack_api``; zones and rules by the ids that clients know them by."""

    zones: Mapping[str, ApiZone] = field(default_factory=lambda: MappingProxyType({}))
    rules: Mapping[str, ApiRule] = field(default_factory=lambda: MappingProxyType({}))
    require_expiry: bool = False
    """Requests that do not say when they expire are refused."""
    states: StateCase = StateCase.UPPER
