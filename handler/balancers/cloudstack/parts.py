"""Encode and decode the parts of a CloudStack rule that Trimtab creates. Pure.

Note [Add is ready]: a rule without machines is in the state ``Add``: when it is new, and again after its last machine
has left. It is ``Active`` only while it has some.

Source: CloudStack 4.22, ``LoadBalancingRulesManagerImpl``, ``LBStickinessPolicyResponse``, ``IPAddressResponse``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collector.clients.cloudstack.parsing import tags_of, text
from config.model.made_rule import HealthCheck, MadeRule, Stickiness
from handler.planning.provisioning import PartStatus, Provision

_RULES = {
    "Add": Provision.ACTIVE,
    "Active": Provision.ACTIVE,
    "Revoke": Provision.LEAVING,
    "Deleting": Provision.LEAVING,
}
NO_ENTITY = "or entity does not exist"
"""CloudStack's answer to a listing by an unknown id: error 431. Source: ``ParamProcessWorker``."""
_ADDRESSES = {"Allocated": Provision.ACTIVE, "Releasing": Provision.LEAVING}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicAddress:
    """A public address of the account."""

    id: str
    ip: str
    word: str
    """Its state."""
    homes: frozenset[str]
    """The network and the VPC that it is associated with, by their ids."""
    tags: Mapping[str, str]
    source_nat: bool
    """It is its network's outgoing address: it cannot be released."""
    static_nat: bool
    """It belongs to one machine."""

    @property
    def status(self) -> PartStatus:
        """Return its status as a part; an unknown state counts as pending."""
        return PartStatus(id=self.id, state=_ADDRESSES.get(self.word, Provision.PENDING), word=self.word)


def version_of(answer: Mapping[str, object]) -> tuple[int, int] | None:
    """Read the version in ``listCapabilities``; ``None``: it is missing.

    >>> version_of({"capability": {"cloudstackversion": "4.13.1.0"}})
    (4, 13)
    """
    read = re.match(r"([0-9]{1,4})\.([0-9]{1,4})(\D|$)", text(answer.get("capability"), "cloudstackversion"))
    return None if read is None else (int(read[1]), int(read[2]))


def address_of(entry: object) -> PublicAddress | None:
    """Read one address; ``None``: the entry is not an address.

    >>> entry = {"id": "5f3a", "ipaddress": "203.0.113.10", "state": "Allocated", "associatednetworkid": "91c0"}
    >>> address = address_of(entry)
    >>> address.ip, address.status.state, sorted(address.homes)
    ('203.0.113.10', <Provision.ACTIVE: 'active'>, ['91c0'])
    """
    own_id, ip, word = text(entry, "id"), text(entry, "ipaddress"), text(entry, "state")
    if not isinstance(entry, Mapping) or not (own_id and ip and word):
        return None
    return PublicAddress(
        id=own_id,
        ip=ip,
        word=word,
        homes=frozenset({text(entry, "associatednetworkid"), text(entry, "vpcid")}) - {""},
        tags=tags_of(entry.get("tags")),
        source_nat=entry.get("issourcenat") is True,
        static_nat=entry.get("isstaticnat") is True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The members' network."""

    id: str
    zone: str
    vpc: str
    """Its VPC; empty: it has none."""
    tags: Mapping[str, str]

    @property
    def place(self) -> Mapping[str, str]:
        """Return where to acquire its address: a tier's belongs to its VPC until a rule moves it to the tier."""
        return {"vpcid": self.vpc} if self.vpc else {"networkid": self.id}


def network_of(entry: object) -> Network | None:
    """Read one network; ``None``: the entry is not a network."""
    if not isinstance(entry, Mapping) or not text(entry, "id"):
        return None
    return Network(
        id=text(entry, "id"),
        zone=text(entry, "zoneid"),
        vpc=text(entry, "vpcid"),
        tags=tags_of(entry.get("tags")),
    )


def rule_of(entry: object) -> PartStatus | None:
    """Read one rule; ``None``: the entry is not a rule.

    >>> rule_of({"id": "4d10", "name": "trimtab-k3f9ab-front", "state": "Add"}).state
    <Provision.ACTIVE: 'active'>
    """
    known, word = text(entry, "id"), text(entry, "state")
    return PartStatus(id=known, state=_RULES.get(word, Provision.PENDING), word=word) if known and word else None


def policies_of(entries: tuple[object, ...], kind: str, key: str, mark: str) -> tuple[PartStatus, ...]:
    """Read the policies of one rule that bear a mark; they stand inside an entry for the rule, as ``kind``.

    >>> entry = {"lbruleid": "4d10", "stickinesspolicy": [{"id": "88aa", "name": "ours"}, {"id": "99bb"}]}
    >>> [policy.id for policy in policies_of((entry,), "stickinesspolicy", "name", "ours")]
    ['88aa']
    """
    lists = [entry.get(kind) for entry in entries if isinstance(entry, Mapping)]
    policies = [policy for each in lists if isinstance(each, list) for policy in each]
    return tuple(_policy(policy) for policy in policies if text(policy, key) == mark and text(policy, "id"))


def _policy(entry: object) -> PartStatus:
    word = text(entry, "state") or "Active"  # only a policy that is being deleted has a state
    state = Provision.LEAVING if word == "Revoked" else Provision.ACTIVE
    return PartStatus(id=text(entry, "id"), state=state, word=word)


# Requests.


def rule_given(rule: MadeRule, mark: str, address: str, network: str | None) -> dict[str, str]:
    """Parameters of createLoadBalancerRule; ``address`` and ``network`` are ids."""
    given = {
        "name": mark,
        "description": "Made by Trimtab and deleted by it: change what its file declares and not this",
        "publicipid": address,
        "networkid": network or "",
        "publicport": str(rule.public_port),
        "privateport": str(rule.private_port),
        "algorithm": rule.algorithm.value,
        "protocol": "" if rule.protocol is None else rule.protocol.value,
        "cidrlist": ",".join(rule.cidrs),
        "openfirewall": "" if rule.open_firewall is None else str(rule.open_firewall).lower(),
    }
    return {key: value for key, value in given.items() if value}


def stickiness_given(stickiness: Stickiness, mark: str, rule: str) -> dict[str, str]:
    """Parameters of createLBStickinessPolicy; ``rule`` is an id."""
    given = {"lbruleid": rule, "name": mark, "methodname": stickiness.method.value}
    for index, (name, value) in enumerate(stickiness.parameters):
        given |= {f"param[{index}].name": name, f"param[{index}].value": value}
    return given


def check_given(check: HealthCheck, mark: str, rule: str) -> dict[str, str]:
    """Parameters of createLBHealthCheckPolicy; it has no name, so the mark is its description."""
    return {
        "lbruleid": rule,
        "description": mark,
        "pingpath": check.path,
        "intervaltime": str(int(check.interval)),
        "responsetimeout": str(int(check.timeout)),
        "healthythreshold": str(check.healthy),
        "unhealthythreshold": str(check.unhealthy),
    }
