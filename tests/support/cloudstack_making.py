"""Rules and public addresses that are made and deleted on the CloudStack on loopback.

Source: CloudStack 4.22, LoadBalancingRulesManagerImpl and NetworkServiceImpl: what is refused, what goes with what, and
that a rule without machines is in the state Add.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.support.cloudstack_rules import Rule, RulesWire
from tests.support.cloudstack_wire import Answer, ApiError

_POLICIES = {
    "StickinessPolicy": ("stickinesspolicies", "stickinesspolicy"),
    "HealthCheckPolicy": ("healthcheckpolicies", "healthcheckpolicy"),
}


@dataclass
class PublicIp:
    id: str
    ip: str
    state: str = "Free"
    home: str = ""
    """The id of its network or VPC."""
    source_nat: bool = False
    static_nat: bool = False
    project: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    forwarded: list[str] = field(default_factory=list)
    """Port forwardings."""


@dataclass
class MakingWire(RulesWire):
    """``checks``: the provider has health checks, as the virtual router has not."""

    checks: bool = True
    addresses: dict[str, PublicIp] = field(default_factory=dict)
    policies: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        for network in self.things["network"]:
            network |= {"zoneid": self.things["zone"][0]["id"], "tags": []}
        for last in range(10, 14):
            self.put(f"203.0.113.{last}")

    def put(self, ip: str, **fields: Any) -> PublicIp:
        known = self.mint(f"address {ip}")
        self.addresses[known] = PublicIp(id=known, ip=ip, **fields)
        return self.addresses[known]

    @property
    def taken(self) -> list[str]:
        return sorted(address.ip for address in self.addresses.values() if address.state != "Free")

    @property
    def recorded(self) -> list[str]:
        return [tag["value"] for network in self.things["network"] for tag in network.get("tags", [])]

    def network(self, name: str = "tier") -> dict[str, Any]:
        return next(network for network in self.things["network"] if network["name"] == name)

    def _obey(self, command: str, given: dict[str, str]) -> dict[str, Any]:
        own = {
            "listPublicIpAddresses": self._list_addresses,
            "listPortForwardingRules": self._list_forwardings,
            "associateIpAddress": self._associate,
            "disassociateIpAddress": self._disassociate,
            "createLoadBalancerRule": self._create_rule,
            "deleteLoadBalancerRule": self._delete_rule,
        }
        for word in _POLICIES:
            plural = f"{word.removesuffix('y')}ies"
            own |= {
                f"createLB{word}": partial(self._create_policy, word),
                f"deleteLB{word}": partial(self._delete_policy, word),
                f"listLB{plural}": partial(self._list_policies, word),
            }
        for job in self.jobs.values() if command.startswith("list") else ():
            self._go_on(job)  # whether or not a client asks for them
        if command in own:
            return own[command](given)
        if given.get("resourcetype") in {"Network", "PublicIpAddress"}:
            return self._tag_thing(command, given)
        return super()._obey(command, given)

    # Addresses

    def _list_addresses(self, given: dict[str, str]) -> dict[str, Any]:
        wanted = "Free" if given.get("state") == "Free" else ""
        shown = [self._shown_address(address) for address in self.addresses.values()
                 if (address.state == "Free") == bool(wanted)
                 and given.get("id") in {None, address.id}
                 and (wanted or address.project == given.get("projectid"))]  # fmt: skip
        return self._page("publicipaddress", sorted(shown, key=lambda entry: str(entry["ipaddress"])), given)

    def _shown_address(self, address: PublicIp) -> dict[str, Any]:
        shown: dict[str, Any] = {"id": address.id, "ipaddress": address.ip, "state": address.state}
        shown |= {"issourcenat": address.source_nat, "isstaticnat": address.static_nat}
        shown |= {"tags": [{"key": key, "value": value} for key, value in address.tags.items()]}
        vpcs = {network.get("vpcid") for network in self.things["network"]}
        home = "vpcid" if address.home in vpcs else "associatednetworkid"
        return shown | ({home: address.home} if address.home else {})

    def _list_forwardings(self, given: dict[str, str]) -> dict[str, Any]:
        there = self._address(given["ipaddressid"]).forwarded
        return self._page("portforwardingrule", [{"id": each} for each in there], given)

    def _address(self, id: str) -> PublicIp:
        if id not in self.addresses or self.addresses[id].state == "Free":
            raise ApiError(431, f"Invalid parameter id value={id} due to incorrect long value format")
        return self.addresses[id]

    def _associate(self, given: dict[str, str]) -> dict[str, Any]:
        free = [address for address in self.addresses.values() if address.state == "Free"]
        if "ipaddress" in given and not self.version.startswith("4.13."):
            free = [address for address in free if address.ip == given["ipaddress"]]
        if not free:
            raise ApiError(533, "Unable to allocate IP from Zone: Insufficient address capacity")
        address = free[-1]
        address.state, address.home = "Allocating", given.get("vpcid") or given["networkid"]
        address.project = given.get("projectid")

        def end() -> Answer:
            address.state = "Allocated"
            return 1, {"ipaddress": self._shown_address(address)}

        return {"id": address.id, "jobid": self._begin(end, "")}

    def _disassociate(self, given: dict[str, str]) -> dict[str, Any]:
        address = self._address(given["id"])
        if address.source_nat:
            raise ApiError(431, "ip address is used for source nat purposes and can not be disassociated.")

        def end() -> Answer:
            address.state, address.home, address.project = "Free", "", None
            address.tags.clear()
            self.rules = [rule for rule in self.rules if rule.given.get("publicipid") != address.id]
            return 1, {"success": True}

        return {"jobid": self._begin(end, "")}

    # Rules

    def _create_rule(self, given: dict[str, str]) -> dict[str, Any]:
        address = self._address(given["publicipid"])
        if given["algorithm"] not in {"roundrobin", "leastconn", "source"}:
            raise ApiError(431, f"Invalid algorithm: {given['algorithm']}")
        if "vpcid" in given and given.get("openfirewall") == "true":
            raise ApiError(431, "Can't have openFirewall=true when IP address belongs to VPC")
        for rule in self.rules:
            if (rule.given.get("publicipid"), rule.given.get("publicport")) == (address.id, given["publicport"]):
                text = f"The range specified, {given['publicport']}, conflicts with rule {rule.id} which has it"
                raise ApiError(537, text)
        rule = self.make(given["name"], privateport=given["privateport"], given=given, project=address.project)
        return {"id": rule.id, "jobid": self._begin(lambda: (1, {"loadbalancer": {"id": rule.id}}), "")}

    def _delete_rule(self, given: dict[str, str]) -> dict[str, Any]:
        rule = self._rule(given["id"])
        if self.autoscaled:
            used = {"errorcode": 530, "errortext": "Cannot delete load balancer rule 7 because it is being used"}
            return {"jobid": self._begin(lambda: (2, used), "")}
        rule.state = "Revoke"

        def end() -> Answer:
            self.rules = [each for each in self.rules if each is not rule]
            return 1, {"success": True}

        return {"jobid": self._begin(end, "")}

    # Policies

    def _create_policy(self, word: str, given: dict[str, str]) -> dict[str, Any]:
        rule: Rule = self._rule(given["lbruleid"])
        if word == "HealthCheckPolicy" and not self.checks:
            raise ApiError(430, "Failed to create HealthCheck policy: it is not supported by LB Provider")
        attached = any(each["word"] == word and each["rule"] == rule.id for each in self.policies.values())
        if word == "HealthCheckPolicy" and attached:
            raise ApiError(430, "Failed to create HealthCheck policy: Already policy attached  for the LB Rule")
        self._numbers += 1
        known = self.mint(f"policy {self._numbers}")
        self.policies[known] = {"word": word, "rule": rule.id, "given": given}
        return {"id": known, "jobid": self._begin(lambda: (1, {"stickinesspolicies": {}}), "")}

    def _delete_policy(self, word: str, given: dict[str, str]) -> dict[str, Any]:
        if given["id"] not in self.policies:
            raise ApiError(431, f"Invalid parameter id value={given['id']} due to incorrect long value format")

        def end() -> Answer:
            self.policies.pop(given["id"], None)
            return 1, {"success": True}

        return {"jobid": self._begin(end, "")}

    def _list_policies(self, word: str, given: dict[str, str]) -> dict[str, Any]:
        """One entry for the rule, with its policies inside, even when there are none."""
        kind, inner = _POLICIES[word]
        rule = self._rule(given["lbruleid"])
        named = ("name", "methodname") if word == "StickinessPolicy" else ("description", "pingpath")
        policies = [{"id": known} | {key: policy["given"].get(key) for key in named}
                    for known, policy in self.policies.items()
                    if policy["word"] == word and policy["rule"] == rule.id]  # fmt: skip
        return self._page(kind, [{"lbruleid": rule.id, inner: policies}], given)

    # Tags

    def _tag_thing(self, command: str, given: dict[str, str]) -> dict[str, Any]:
        thing, key, value = given["resourceids"], given["tags[0].key"], given["tags[0].value"]
        if given["resourcetype"] == "PublicIpAddress":
            return {"jobid": self._begin(partial(self._tagged, command, self._address(thing).tags, key, value), "")}
        network = next(each for each in self.things["network"] if each["id"] == thing)

        def end() -> Answer:
            tags = {tag["key"]: tag["value"] for tag in network["tags"]}
            answer = self._tagged(command, tags, key, value)
            network["tags"] = [{"key": each, "value": tags[each]} for each in tags]
            return answer

        return {"jobid": self._begin(end, "")}

    def _tagged(self, command: str, tags: dict[str, str], key: str, value: str) -> Answer:
        if command == "deleteTags":
            tags.pop(key, None)
        elif key in tags:
            return 2, {"errorcode": 530, "errortext": f"tag {key} already on it"}
        else:
            tags[key] = value
        return 1, {"success": True}


@contextlib.contextmanager
def making_wire(**fields: Any) -> Iterator[tuple[MakingWire, str]]:
    """The wire, and the address of its API."""
    wire = MakingWire(**fields)
    with wire.serving() as endpoint:
        yield wire, endpoint
