"""Load-balancer rules of CloudStack that Trimtab creates: found by name, created and deleted part by part.

The rule's driver then registers members. Every change of a rule is a job, and jobs of one network run one after the
other. The call that creates a rule also names it, so a lost answer never leads to a second one; two rules cannot share
an address and a port.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from collector.clients.circuits import Circuits
from collector.clients.cloudstack.client import CloudstackClient
from collector.clients.cloudstack.jobs import JobPoller
from collector.clients.cloudstack.parsing import text
from config.errors import DriverError, Permanent, Refused, Transient
from config.model.access import SecretRef
from config.model.balancers import CloudstackRuleBalancer
from config.model.clouds import CloudstackCloud
from config.model.managed import ManagedBalancer, ManagedPart
from config.units import CloudId, Instant, MemberName, Seconds
from handler.balancers.cloudstack.address import Addresses
from handler.balancers.cloudstack.driver import CloudstackRuleDriver
from handler.balancers.cloudstack.parts import (
    NO_ENTITY,
    address_of,
    check_given,
    policies_of,
    rule_given,
    rule_of,
    stickiness_given,
)
from handler.balancers.registrations import mark_of
from handler.planning.provisioning import PartStatus, Provision
from handler.planning.world import Registration
from handler.ports.balancer import Registered

_DELETING = {
    ManagedPart.RULE: "deleteLoadBalancerRule",
    ManagedPart.STICKINESS: "deleteLBStickinessPolicy",
    ManagedPart.HEALTHCHECK: "deleteLBHealthCheckPolicy",
}


class RuleProvisioner:
    """The `Provisioner` of a `ManagedBalancer` on a cloud of CloudStack. Sends nothing before the first call."""

    def __init__(  # noqa: PLR0913, PLR0917  # what drivers are given, and the cloud
        self,
        declared: ManagedBalancer,
        cloud: CloudstackCloud,
        installation: str,
        clock: Callable[[], Instant],
        read_secret: Callable[[SecretRef], str],
        wait: Callable[[Seconds], None],
        circuits: Circuits | None = None,
    ) -> None:
        if declared.rule is None:
            raise Refused(f"balancer {declared.id}: the cloud {cloud.id} makes rules: write rule")
        self._declared, self._rule = declared, declared.rule
        self._cloud = replace(cloud, id=CloudId(declared.id))
        self._mark = mark_of(installation, declared.id)
        self._client = CloudstackClient(self._cloud, read_secret, circuits)
        self._jobs = JobPoller(self._client, clock, wait, cloud.job_timeout)
        self._addresses = Addresses(self._about, self._mark, self._rule, self._client, self._jobs)
        there = CloudstackRuleBalancer(id=declared.id, rule=self._mark, cloud=self._cloud)
        self._registrations = CloudstackRuleDriver(there, clock, read_secret, wait, circuits)

    @property
    def declared(self) -> ManagedBalancer:
        """Return the declaration."""
        return self._declared

    # Parts

    def parts(self) -> Mapping[ManagedPart, PartStatus]:
        """Return the existing parts: the rule by its name, its policies in it, its address by tag or as declared."""
        return dict(self._parts())

    def create(self, part: ManagedPart, found: Mapping[ManagedPart, PartStatus]) -> None:
        """Create a part, and wait for its job.

        Raises:
            Transient: also if the job has not ended in time: it goes on, and its part is found later.
        """
        rule = found[ManagedPart.RULE].id if ManagedPart.RULE in found else ""
        stickiness, check = self._rule.stickiness, self._rule.health_check
        if part in found and found[part].state is not Provision.BEGUN:
            return
        if part is ManagedPart.ADDRESS:
            self._addresses.acquire()
        elif part is ManagedPart.RULE:
            given = rule_given(self._rule, self._mark, found[ManagedPart.ADDRESS].id, self._addresses.network)
            self._jobs.done(self._about, "createLoadBalancerRule", **given)
        elif part is ManagedPart.STICKINESS and stickiness is not None:
            self._jobs.done(self._about, "createLBStickinessPolicy", **stickiness_given(stickiness, self._mark, rule))
        elif part is ManagedPart.HEALTHCHECK and check is not None:
            self._jobs.done(self._about, "createLBHealthCheckPolicy", **check_given(check, self._mark, rule))

    def delete(self, part: ManagedPart, id: str) -> None:
        """Delete a part, and wait for its job. If the part is missing, that is success."""
        try:
            if part is ManagedPart.ADDRESS:
                self._addresses.release()
            else:
                self._jobs.done(self._about, _DELETING[part], id=id)
        except DriverError:
            if part in self.parts():
                raise

    def is_gone(self, part: ManagedPart, id: str) -> bool:
        """Return whether CloudStack has no entity with this id; policies are part of their rule's listing.

        A released address is no longer listed. One that has become its network's source-NAT address belongs to the
        network.
        """
        match part:
            case ManagedPart.RULE:
                listed = self._listed_by_id("listLoadBalancerRules", "loadbalancerrule", id)
                if listed == ():
                    raise Transient(f"{self._about}: the rule {id} exists, but this account may not list it")
                return listed is None
            case ManagedPart.ADDRESS:
                listed = self._listed_by_id("listPublicIpAddresses", "publicipaddress", id)
                addresses = [address_of(entry) for entry in listed or ()]
                return all(address is None or address.source_nat for address in addresses)
            case _:
                return True

    def _listed_by_id(self, command: str, kind: str, id: str) -> tuple[object, ...] | None:
        """Return the listing of one id; ``None``: CloudStack reports that there is no such entity."""
        try:
            return self._every(command, kind, id=id)
        except Permanent as error:
            if NO_ENTITY in str(error):
                return None
            raise

    def foreign(self) -> tuple[str, ...]:
        """Return machines behind the rule that are not members, and other users of its acquired address."""
        return (*self.registered().foreign, *self._addresses.users())

    def _parts(self) -> Iterator[tuple[ManagedPart, PartStatus]]:
        if (address := self._addresses.found()) is not None:
            yield ManagedPart.ADDRESS, address
        if (rule := self._found_rule()) is None:
            return
        yield ManagedPart.RULE, rule
        if self._rule.stickiness is not None:
            yield from self._policy(ManagedPart.STICKINESS, rule.id)
        if self._rule.health_check is not None:
            yield from self._policy(ManagedPart.HEALTHCHECK, rule.id)

    def _found_rule(self) -> PartStatus | None:
        entries = self._every("listLoadBalancerRules", "loadbalancerrule", keyword=self._mark)
        named = [rule_of(entry) for entry in entries if text(entry, "name") == self._mark]
        rules = [rule for rule in named if rule is not None]
        if len(rules) < len(named):
            raise Transient(f"{self._about}: the rule {self._mark} cannot be read")
        if len(rules) > 1:
            ids = ", ".join(sorted(rule.id for rule in rules))
            raise Permanent(f"{self._about}: {len(rules)} rules are called {self._mark}: delete all but one of {ids}")
        return rules[0] if rules else None

    def _policy(self, part: ManagedPart, rule: str) -> Iterator[tuple[ManagedPart, PartStatus]]:
        if part is ManagedPart.STICKINESS:
            entries = self._every("listLBStickinessPolicies", "stickinesspolicies", lbruleid=rule)
            found = policies_of(entries, "stickinesspolicy", "name", self._mark)
        else:
            entries = self._every("listLBHealthCheckPolicies", "healthcheckpolicies", lbruleid=rule)
            found = policies_of(entries, "healthcheckpolicy", "description", self._mark)
        yield from ((part, policy) for policy in found[:1])

    def _every(self, command: str, kind: str, **by: str) -> tuple[object, ...]:
        entries = self._client.every(command, kind, **by)
        if entries.because:
            raise Transient(f"{self._about}: {entries.because}")
        return entries.read

    # Registrations

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return members that are assigned or wait; empty: there is no rule."""
        return self.registered().registrations

    def registered(self) -> Registered:
        """Return members and foreign machines; empty: there is no rule."""
        driver = self._driver()
        return Registered(registrations={}) if driver is None else driver.registered()

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Tag the member as waiting."""
        self._needed().join(member, address, port)

    def enable(self, member: MemberName) -> None:
        """Assign it."""
        self._needed().enable(member)

    def drain(self, member: MemberName) -> None:
        """Remove it from the rule."""
        if (driver := self._driver()) is not None:
            driver.drain(member)

    def leave(self, member: MemberName) -> None:
        """Forget it."""
        if (driver := self._driver()) is not None:
            driver.leave(member)

    def incarnation(self) -> str:
        """Return the rule's id; empty: there is none."""
        rule = self._found_rule()
        return "" if rule is None else rule.id

    def _needed(self) -> CloudstackRuleDriver:
        if (driver := self._driver()) is None:
            raise Transient(f"{self._about}: there is no rule yet")
        return driver

    def _driver(self) -> CloudstackRuleDriver | None:
        """Return the driver of the rule; ``None``: there is no rule now."""
        return None if self._found_rule() is None else self._registrations

    @property
    def _about(self) -> str:
        return f"{self._declared.id}: CloudStack"
