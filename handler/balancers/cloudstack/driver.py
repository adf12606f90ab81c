"""Members are virtual machines behind one load-balancer rule of a CloudStack account.

The API only knows assigned or not, and reports no connections. Tags of the rule hold the rest: members that wait to get
work (`trimtab-parked-MEMBER`), and members that get no new work but may still finish (`trimtab-draining-MEMBER`). So
the driver keeps no state, and a drained member is waited for.

To drain a member is to remove it from the rule: it gets no new connections. Whether existing ones continue depends on
the balancing program (the virtual router's HAProxy keeps them), and their number is unknown: a drain waits for its full
time.

Source: CloudStack API 4.22, assignToLoadBalancerRule, removeFromLoadBalancerRule, listLoadBalancerRuleInstances,
createTags (resource type LoadBalancer), listCapabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from collector.clients.circuits import Circuits
from collector.clients.cloudstack.client import CloudstackClient
from collector.clients.cloudstack.jobs import JobPoller
from collector.clients.cloudstack.parsing import ListedEntries, text
from collector.clients.http.pool import date_at
from config.causes import FailureCause
from config.errors import DriverError, NotFound, Permanent, Transient
from config.model.access import SecretRef
from config.model.balancers import CloudstackRuleBalancer
from config.model.catalogue import CloudstackCloud
from config.units import Instant, MemberName, Seconds
from handler.balancers.registrations import ours
from handler.orchestrators.cloudstack.machines import CloudstackMachine, machine_of
from handler.orchestrators.cloudstack.names import mark_of, member_of
from handler.planning.launches import LaunchId
from handler.planning.world import Registration, RegistrationState
from handler.ports.balancer import Registered
from handler.ports.examination import About, Check, Look, fine, look_at_clock, unknown


def checks_of(
    name: str, cloud: CloudstackCloud, client: CloudstackClient, clock: Callable[[], Instant]
) -> Sequence[Check]:
    """Checks of one account; ``name``: the balancer's id in the file."""
    named = partial(Check, about=About.BALANCER, name=name)
    date = partial(date_at, cloud.id, cloud.endpoint, cloud.trust, cloud.timeout)
    return (
        named(what="version", look=partial(_version, client)),
        named(what="clock", look=lambda: look_at_clock(date, clock)),
    )


def _version(client: CloudstackClient) -> Look:
    version = text(client.ask("listCapabilities").get("capability"), "cloudstackversion")
    return fine(f"CloudStack {version}") if version else unknown("CloudStack does not report its version")


_PREFIXES: Mapping[RegistrationState, str] = MappingProxyType(
    {RegistrationState.PARKED: "trimtab-parked-", RegistrationState.DRAINING: "trimtab-draining-"}
)
_VALUE = "true"
_RULES = "name a load-balancer rule of the account, or detach the group from it"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    """The rule as it is now."""

    id: str
    port: str
    """The port of its members."""
    tagged: frozenset[tuple[MemberName, RegistrationState]]
    """Members' states in tags. A member that starts to drain may have both tags: draining is the later one."""

    def state_of(self, member: MemberName) -> RegistrationState | None:
        """Return a member's state in tags; ``None``: it has none."""
        found = [
            state for state in (RegistrationState.DRAINING, RegistrationState.PARKED) if (member, state) in self.tagged
        ]
        return found[0] if found else None


class CloudstackRuleDriver:
    """The `Balancer` of a `CloudstackRuleBalancer`."""

    def __init__(
        self,
        declaration: CloudstackRuleBalancer,
        clock: Callable[[], Instant],
        read_secret: Callable[[SecretRef], str],
        wait: Callable[[Seconds], None],
        circuits: Circuits | None = None,
    ) -> None:
        self._there = declaration
        self._client = CloudstackClient(declaration.cloud, read_secret, circuits)
        self._clock = clock
        self._jobs = JobPoller(self._client, clock, wait, declaration.cloud.job_timeout)
        self._known = ""
        """The rule's id when it was last read; empty: not read yet."""

    def checks(self, name: str) -> Sequence[Check]:
        """As `handler.ports.examination.Inspected`."""
        return checks_of(name, self._there.cloud, self._client, self._clock)

    def registrations(self) -> Mapping[MemberName, Registration]:
        """Return members that are assigned, or tagged as waiting. Their connections and health are unknown."""
        return self.registered().registrations

    def registered(self) -> Registered:
        """Return members, and the names of assigned machines that are not members of any installation."""
        rule = self._rule()
        machines = [(_name(machine), machine) for machine in self._machines(rule)]
        states = dict.fromkeys((name for name, _ in rule.tagged), RegistrationState.PARKED)
        states |= {name: state for name, state in rule.tagged if state is RegistrationState.DRAINING}
        states |= {name: RegistrationState.SERVING for name, _ in machines if name is not None}
        return Registered(
            registrations={
                name: Registration(member=name, state=state, connections=None) for name, state in states.items()
            },
            foreign=tuple(sorted(machine.display or machine.host for name, machine in machines if name is None)),
        )

    def join(self, member: MemberName, address: str, port: int) -> None:
        """Tag the member as waiting. Another machine under its name is removed from the rule first.

        Raises:
            Permanent: no machine of this account is the member and has the address, or its port is not the rule's.
        """
        own, rule = self._machine(ours(member), address), self._rule()
        assigned = [machine for machine in self._machines(rule) if _name(machine) == member]
        for other in assigned:
            if other.id != own.id:
                self._remove(rule, other)
        if rule.state_of(member) is not None or own.id in {machine.id for machine in assigned}:
            return
        if rule.port != str(port):
            raise Permanent(
                f"{self._about}: members serve on port {port}, and the rule sends to {rule.port or 'none'}: "
                "write the rule's private port in the group"
            )
        self._tag(rule, member, RegistrationState.PARKED)

    def enable(self, member: MemberName) -> None:
        """Assign the member to the rule."""
        rule = self._rule()
        if ours(member) not in self._assigned(rule):
            if rule.state_of(member) is None:
                raise Transient(f"{self._about}: {member} is not registered: it must join first")
            self._assign(rule, self._machine(member, None))
        self._untag(rule, member)

    def drain(self, member: MemberName) -> None:
        """Tag the member as draining, then remove it from the rule: it never looks gone."""
        rule = self._rule()
        assigned = self._assigned(rule).get(ours(member))
        if assigned is None and rule.state_of(member) is None:
            return
        self._tag(rule, member, RegistrationState.DRAINING)
        if assigned is not None:
            self._remove(rule, assigned)

    def leave(self, member: MemberName) -> None:
        """Remove the member and its tag from the rule."""
        rule = self._rule()
        assigned = self._assigned(rule).get(ours(member))
        if assigned is not None:
            self._remove(rule, assigned)
        self._untag(rule, member)

    def incarnation(self) -> str:
        """Return the rule's id: CloudStack keeps rules over restarts of the balancer, and a new rule is empty."""
        return self._rule().id

    # Looking.

    def _rule(self) -> _Rule:
        """Return the only rule with this id or name."""
        entries = self._whole("listLoadBalancerRules", "loadbalancerrule", keyword=self._there.rule)
        wanted = [entry for entry in entries if self._there.rule in {text(entry, "id"), text(entry, "name")}]
        if not wanted:
            entries = self._whole("listLoadBalancerRules", "loadbalancerrule")
            wanted = [entry for entry in entries if text(entry, "id") == self._there.rule]
        if not wanted:
            raise self._missing(entries)
        if len(wanted) > 1:
            among = ", ".join(text(entry, "id") for entry in wanted)
            message = f"means {len(wanted)} rules: write the id, one of {among}"
            raise Permanent(f"{self._about}: {self._there.rule} {message}")
        found = wanted[0]
        self._known = text(found, "id")
        tags = found.get("tags") if isinstance(found, Mapping) else None
        return _Rule(id=text(found, "id"), port=text(found, "privateport"), tagged=_tagged(tags))

    def _missing(self, listed: Sequence[object]) -> Permanent:
        """Return the error for a missing rule: `NotFound` if the account lists others, and none with its former id."""
        message = f"{self._about}: {self._there.rule} is no rule of this account"
        renamed = [text(entry, "name") for entry in listed if self._known and text(entry, "id") == self._known]
        if renamed:
            remedy = f"write its id, {self._known}, as rule"
            return Permanent(f"{message}: it is called {renamed[0]} now", cause=FailureCause.BALANCER, remedy=remedy)
        if not listed:
            return Permanent(
                f"{message}, and the account has no other rule either", cause=FailureCause.BALANCER, remedy=_RULES
            )
        others = f"{len(listed)} other{'' if len(listed) == 1 else 's'}"
        return NotFound(f"{message}, and the account has {others}", cause=FailureCause.BALANCER, remedy=_RULES)

    def _assigned(self, rule: _Rule) -> Mapping[MemberName, CloudstackMachine]:
        """Return the members that get work; foreign machines are left out."""
        named = [(_name(machine), machine) for machine in self._machines(rule)]
        return {name: machine for name, machine in named if name is not None}

    def _machines(self, rule: _Rule) -> tuple[CloudstackMachine, ...]:
        entries = self._whole("listLoadBalancerRuleInstances", "loadbalancerruleinstance", id=rule.id)
        machines = [machine_of(entry) for entry in entries]
        if None in machines:
            raise Transient(f"{self._about}: the rule lists machines that cannot be read")
        return tuple(machine for machine in machines if machine is not None)

    def _machine(self, member: MemberName, address: str | None) -> CloudstackMachine:
        """Return the account's machine of the member, with its address, if that is known; of several the oldest."""
        found = [machine_of(entry) for entry in self._whole("listVirtualMachines", "virtualmachine", keyword=member)]
        bearing = [each for each in found if each is not None and _name(each) == member and not each.is_gone]
        for machine in sorted(bearing, key=lambda machine: (machine.created_at, machine.id)):
            if address is None or machine.address is None or machine.address == address:
                return machine
        if bearing:
            has = " and ".join(str(machine.address) for machine in bearing)
            raise Permanent(
                f"{self._about}: {member} is to be registered at {address}, and its machine in this account has {has}: "
                "a rule sends to the machine's own address"
            )
        raise Permanent(
            f"{self._about}: {member} is no virtual machine of this CloudStack account: its rules serve only those"
        )

    def _whole(self, command: str, kind: str, **parameters: str) -> tuple[object, ...]:
        entries: ListedEntries = self._client.every(command, kind, **parameters)
        if entries.because:
            raise Transient(f"{self._about}: {entries.because}")
        return entries.read

    # Changing.

    def _assign(self, rule: _Rule, machine: CloudstackMachine) -> None:
        given = {"id": rule.id, "virtualmachineids": machine.id}
        self._change("assignToLoadBalancerRule", given, lambda: self._has(rule, machine))

    def _remove(self, rule: _Rule, machine: CloudstackMachine) -> None:
        given = {"id": rule.id, "virtualmachineids": machine.id}
        self._change("removeFromLoadBalancerRule", given, lambda: not self._has(rule, machine))

    def _has(self, rule: _Rule, machine: CloudstackMachine) -> bool:
        return machine.id in {each.id for each in self._machines(rule)}

    def _tag(self, rule: _Rule, member: MemberName, state: RegistrationState) -> None:
        if (member, state) not in rule.tagged:
            given = _tagging(rule, member, state)
            self._change("createTags", given, lambda: (member, state) in self._rule().tagged)

    def _untag(self, rule: _Rule, member: MemberName) -> None:
        for state in _PREFIXES:
            if (member, state) in rule.tagged:
                self._delete_tag(_tagging(rule, member, state), member, state)

    def _delete_tag(self, given: Mapping[str, str], member: MemberName, state: RegistrationState) -> None:
        self._change("deleteTags", given, lambda: (member, state) not in self._rule().tagged)

    def _change(self, command: str, given: Mapping[str, str], is_so: Callable[[], bool]) -> None:
        """Make a change. A failure counts as success if the change is in place: an earlier job was slow."""
        try:
            self._jobs.done(self._about, command, **given)
        except DriverError:
            if not is_so():
                raise

    @property
    def _about(self) -> str:
        return f"{self._there.id}: CloudStack"


def _name(machine: CloudstackMachine) -> MemberName | None:
    """Return which member a machine is, of any installation; ``None``: none."""
    borne = LaunchId.parse(mark_of(host=machine.host, mark=machine.mark, tag=machine.last_word) or machine.display)
    if borne is None:
        return None
    return member_of(
        borne.installation, host=machine.host, display=machine.display, mark=machine.mark, tag=machine.last_word
    )


def _tagged(tags: object) -> frozenset[tuple[MemberName, RegistrationState]]:
    found: set[tuple[MemberName, RegistrationState]] = set()
    for tag in tags if isinstance(tags, list) else []:
        for state, prefix in _PREFIXES.items():
            key = text(tag, "key")
            launch = LaunchId.parse(key.removeprefix(prefix)) if key.startswith(prefix) else None
            if launch is not None:
                found.add((launch.name, state))
    return frozenset(found)


def _tagging(rule: _Rule, member: MemberName, state: RegistrationState) -> dict[str, str]:
    key = f"{_PREFIXES[state]}{member}"
    return {"resourceids": rule.id, "resourcetype": "LoadBalancer", "tags[0].key": key, "tags[0].value": _VALUE}
