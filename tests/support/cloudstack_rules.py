"""Load-balancer rules of the CloudStack on loopback, and such a rule as a balancer.

Source: the wire protocol of CloudStack 4.22; the library `cs` gives every command.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from collector.clients.circuits import Circuits
from config.model.balancers import CloudstackRuleBalancer
from config.units import BalancerId, Instant, MemberName
from handler.balancers.cloudstack.driver import CloudstackRuleDriver
from handler.balancers.exchange import Address
from handler.planning.launches import LaunchId
from tests.support.cloudstack import a_cloudstack
from tests.support.cloudstack_wire import KEY, SECRET, Answer, ApiError, CloudstackWire, Vm
from tests.support.waiting import scaled

RULE = "wéb 网"


@dataclass
class Rule:
    id: str
    name: str = RULE
    privateport: str = "9"
    vms: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    state: str = "Active"
    given: dict[str, str] = field(default_factory=dict)
    """The whole call that made it, if one did."""
    project: str | None = None


@dataclass
class RulesWire(CloudstackWire):
    """One account with rules. ``conjures``: a machine that is looked for by a member's name is there."""

    rules: list[Rule] = field(default_factory=list)
    conjures: bool = True
    autoscaled: bool = False
    """The rule belongs to a group of CloudStack's own autoscale."""

    def make(self, name: str = RULE, **fields: Any) -> Rule:
        self._numbers += 1
        rule = Rule(id=self.mint(f"rule {self._numbers}"), name=name, **fields)
        self.rules.append(rule)
        return rule

    def _obey(self, command: str, given: dict[str, str]) -> dict[str, Any]:
        own = {
            "listLoadBalancerRules": self._list_rules,
            "listLoadBalancerRuleInstances": self._list_instances,
            "assignToLoadBalancerRule": partial(self._assign, command),
            "removeFromLoadBalancerRule": partial(self._assign, command),
        }
        if command in own:
            return own[command](given)
        if given.get("resourcetype") == "LoadBalancer":
            return self._tag_rule(command, given)
        if command == "listVirtualMachines" and self.conjures:
            wanted = given.get("keyword", "")
            if LaunchId.parse(wanted) is not None and not self.bearing(wanted):
                self.add(wanted, project=given.get("projectid")).address = None
        return super()._obey(command, given)

    def _rule(self, id: str) -> Rule:
        for rule in self.rules:
            if rule.id == id:
                return rule
        text = f"Invalid parameter id value={id} due to incorrect long value format, or entity does not exist"
        raise ApiError(431, text)

    def _list_rules(self, given: dict[str, str]) -> dict[str, Any]:
        if "id" in given:
            self._rule(given["id"])
        keyword = given.get("keyword", "").lower()
        shown: list[dict[str, Any]] = [
            {
                "id": rule.id,
                "name": rule.name,
                "privateport": rule.privateport,
                "state": "Add" if rule.state == "Active" and not rule.vms else rule.state,
                "tags": [{"key": key, "value": value} for key, value in rule.tags.items()],
            }
            for rule in self.rules
            if keyword in rule.name.lower()
            and rule.project == given.get("projectid")
            and given.get("id") in {None, rule.id}
            and given.get("publicipid") in {None, rule.given.get("publicipid")}
        ]
        return self._page("loadbalancerrule", shown, given)

    def _list_instances(self, given: dict[str, str]) -> dict[str, Any]:
        there = [self._shown(self.vms[vm]) for vm in self._rule(given["id"]).vms if vm in self.vms]
        return self._page("loadbalancerruleinstance", there, given)

    def _assign(self, command: str, given: dict[str, str]) -> dict[str, Any]:
        rule = self._rule(given["id"])
        if self.autoscaled:
            text = f"Failed to assign to load balancer {rule.id} because it is being used by an Autoscale VM group."
            raise ApiError(431, text)
        vms = [self._named(each).id for each in given["virtualmachineids"].split(",")]

        def end() -> Answer:
            if command == "removeFromLoadBalancerRule":
                rule.vms = [vm for vm in rule.vms if vm not in vms]
            elif not all(self._is_reached(rule, self.vms[vm]) for vm in vms):
                text = "VM with id specified cannot be added because it doesn't belong in the same network."
                return 2, {"errorcode": 431, "errortext": text}
            elif set(vms) & set(rule.vms):
                return 2, {"errorcode": 431, "errortext": "VM is already mapped to load balancer"}
            else:
                rule.vms += vms
            return 1, {"success": True}

        return {"jobid": self._begin(end, vms[0])}

    def _is_reached(self, rule: Rule, vm: Vm) -> bool:
        """Whether a machine has an interface in the rule's network."""
        network = rule.given.get("networkid")
        return network is None or network in vm.networks or vm.networks == ("tier",)

    def _tag_rule(self, command: str, given: dict[str, str]) -> dict[str, Any]:
        rule, key, value = self._rule(given["resourceids"]), given["tags[0].key"], given["tags[0].value"]

        def end() -> Answer:
            if command == "deleteTags":
                if rule.tags.pop(key, None) is None:
                    return 2, {"errorcode": 530, "errortext": "Failed to delete tags"}
            elif key in rule.tags:
                return 2, {"errorcode": 530, "errortext": f"tag {key} already on LoadBalancer with id {rule.id}"}
            else:
                rule.tags[key] = value
            return 1, {"success": True}

        return {"jobid": self._begin(end, "")}


class RuleStage:
    """One rule, and no machine behind it that runs: traffic is not played."""

    port = 0

    def __init__(self, wire: RulesWire, endpoint: str) -> None:
        self.wire, self.rule = wire, wire.make()
        self.waited: list[float] = []
        self.declared = CloudstackRuleBalancer(id=BalancerId("front"), rule=RULE, cloud=a_cloudstack(endpoint))
        self.balancer = self.driver()
        there = urlsplit(endpoint)
        self.address: Address = (there.hostname or "", there.port or 0)

    def driver(self, circuits: Circuits | None = None, **fields: Any) -> CloudstackRuleDriver:
        secrets = {"KEY": KEY, "SECRET": SECRET}
        declared = replace(self.declared, **fields)
        return CloudstackRuleDriver(
            declared, lambda: Instant(1000.0), lambda ref: secrets[ref.env or ""], self.waited.append, circuits
        )

    def driver_at(self, address: Address, circuits: Circuits | None = None) -> CloudstackRuleDriver:
        assert not isinstance(address, Path)
        endpoint = f"http://{address[0]}:{address[1]}/client/api"
        return self.driver(circuits, cloud=a_cloudstack(endpoint, timeout=scaled(1.0)))

    def member(self, name: MemberName) -> tuple[str, int]:
        return "127.0.0.1", int(self.rule.privateport)

    def kill(self, name: MemberName) -> None:
        """Do nothing: no member program runs."""

    def release(self) -> None:
        """Do nothing: no answer is held back."""

    def register_foreign(self) -> str:
        self.rule.vms.append(self.wire.add("payments").id)
        return "payments"

    def foreign_member(self, name: str) -> str | None:
        return next((vm for vm in self.rule.vms if self.wire.vms[vm].name == name), None)

    def restart(self) -> None:
        """Delete the rule and make it anew, as another client would."""
        self.wire.rules.remove(self.rule)
        self.rule = self.wire.make()

    def clear(self) -> None:
        self.rule.vms.clear()
        self.rule.tags.clear()
        self.wire.vms.clear()


@contextlib.contextmanager
def rule_stage(_: Path) -> Iterator[RuleStage]:
    wire = RulesWire()
    with wire.serving() as endpoint:
        yield RuleStage(wire, endpoint)
