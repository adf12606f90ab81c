"""The public address of a rule: an existing one of the account, or one that is acquired for the rule.

Note [Requested, then acquired]: the call that acquires an address can give it neither a name nor a tag. If CloudStack
chose the address, a lost answer would leave an address that cannot be found. So the driver chooses a free address,
records it in a tag of the members' network, and then acquires it by that address. Only then does it tag the address
itself and remove the record. After a crash, the next pass finds the record and goes on, or undoes it.

Source: CloudStack 4.22, associateIpAddress (``ipaddress``, from 4.14 on: apache/cloudstack#3775),
listPublicIpAddresses (``state=Free``), disassociateIpAddress, which takes an address's rules with it, and its tags.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b

from collector.clients.cloudstack.client import CloudstackClient
from collector.clients.cloudstack.jobs import JobPoller
from collector.clients.cloudstack.parsing import text
from config.errors import Permanent, Transient
from config.model.made_rule import MadeRule
from handler.balancers.cloudstack.parts import Network, PublicAddress, address_of, network_of, version_of
from handler.orchestrators.cloudstack.names import TAG
from handler.planning.provisioning import PartStatus, Provision

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_BY_NAME = (4, 14)
"""Older versions ignore ``ipaddress`` silently and choose by themselves."""


class Addresses:
    """The address of one rule.

    Args:
        about: begins messages.
        mark: the tag of objects that Trimtab creates.
        rule: declares the source of the address.
        client: the account.
        jobs: waits for the jobs that change it.
    """

    def __init__(self, about: str, mark: str, rule: MadeRule, client: CloudstackClient, jobs: JobPoller) -> None:
        self._about, self._mark, self._rule = about, mark, rule
        self._client, self._jobs = client, jobs

    def found(self) -> PartStatus | None:
        """Return the declared address, or the one with the mark or on record; ``None``: there is none."""
        own = self._all()
        if self._rule.address is not None:
            named = [address for address in own if self._rule.address in {address.id, address.ip}]
            return named[0].status if named else None
        if (marked := self._marked(own)) is not None:
            return marked.status
        recorded = self._recorded(self._network())
        return None if recorded is None else PartStatus(id=recorded, state=Provision.BEGUN, word="recorded")

    def acquire(self) -> None:
        """Acquire the address, from any intermediate state.

        Raises:
            Permanent: there is no such network, CloudStack chooses addresses by itself, or it refuses for good.
            Transient: any other failure. If another client took the address first, the next call chooses another.
        """
        network = self._needed()
        self._must_heed_names()
        free = self._free(network)  # before the account's: an address that is taken in between is then in one of both
        recorded, own = self._recorded(network), {address.ip: address for address in self._all()}
        if recorded is not None and recorded not in free and not self._may_be_ours(own.get(recorded), network):
            self._erase(network, recorded)
            recorded = None
        if recorded is None:
            recorded = self._chosen(free)
            self._tag("createTags", "Network", network.id, self._mark, recorded)
        there = own.get(recorded)
        known = self._associated(network, recorded) if there is None else there.id
        self._tag("createTags", "PublicIpAddress", known, TAG, self._mark)
        self._erase(network, recorded)

    def release(self) -> None:
        """Release our address, and remove the record. A network's source-NAT address stays, without the mark."""
        network, own = self._network(), self._all()
        recorded = self._recorded(network)
        if (marked := self._marked(own)) is not None:
            self._erase(network, recorded)
            self._let_go(marked)
            return
        for begun in (each for each in own if each.ip == recorded and self._may_be_ours(each, network)):
            self._let_go(begun)
        self._erase(network, recorded)

    def users(self) -> tuple[str, ...]:
        """Return other users of an acquired address, which would lose it."""
        address = None if self._rule.address is not None else self._marked(self._all())
        if address is None:
            return ()
        rules = self._every("listLoadBalancerRules", "loadbalancerrule", publicipid=address.id)
        forwarded = self._every("listPortForwardingRules", "portforwardingrule", ipaddressid=address.id)
        others = [text(rule, "name") for rule in rules if text(rule, "name") != self._mark]
        return (*(f"rule {name}" for name in others), *(f"port forwarding {text(rule, 'id')}" for rule in forwarded))

    @property
    def network(self) -> str | None:
        """Return the id of the declared network, if there is one."""
        return None if self._rule.network is None else self._needed().id

    # Looking

    def _all(self) -> tuple[PublicAddress, ...]:
        entries = self._every("listPublicIpAddresses", "publicipaddress")
        read = [address_of(entry) for entry in entries]
        if None in read:
            raise Transient(f"{self._about}: listPublicIpAddresses lists entries that cannot be read")
        return tuple(address for address in read if address is not None)

    def _marked(self, own: tuple[PublicAddress, ...]) -> PublicAddress | None:
        marked = [address for address in own if address.tags.get(TAG) == self._mark]
        if len(marked) > 1:
            ips = ", ".join(sorted(address.ip for address in marked))
            raise Permanent(f"{self._about}: {len(marked)} addresses are tagged {self._mark}: release one of {ips}")
        return marked[0] if marked else None

    def _free(self, network: Network) -> tuple[str, ...]:
        place = {"vpcid": network.vpc} if network.vpc else {"associatednetworkid": network.id}
        entries = self._every("listPublicIpAddresses", "publicipaddress", state="Free", zoneid=network.zone, **place)
        return tuple(sorted({text(entry, "ipaddress") for entry in entries if text(entry, "state") == "Free"} - {""}))

    def _network(self) -> Network | None:
        """Return the declared network; ``None``: there is none of that name or id."""
        written = self._rule.network or ""
        by = {} if _UUID.fullmatch(written) else {"keyword": written}
        entries = self._every("listNetworks", "network", **by)
        meant = [entry for entry in entries if written in {text(entry, "id"), text(entry, "name")}]
        if len(meant) > 1:
            ids = ", ".join(text(entry, "id") for entry in meant)
            raise Permanent(f"{self._about}: {len(meant)} networks are called {written!a}: write the id, one of {ids}")
        return network_of(meant[0]) if meant else None

    def _needed(self) -> Network:
        if (network := self._network()) is None:
            raise Permanent(f"{self._about}: no network that the account can see is called {self._rule.network!a}")
        return network

    def _recorded(self, network: Network | None) -> str | None:
        return None if network is None else network.tags.get(self._mark)

    def _may_be_ours(self, address: PublicAddress | None, network: Network | None) -> bool:
        """Return whether the recorded address shows no sign of another client's use."""
        if address is None or network is None or address.static_nat or TAG in address.tags:
            return False
        return bool(address.homes & {network.id, network.vpc})

    def _every(self, command: str, kind: str, **by: str) -> tuple[object, ...]:
        entries = self._client.every(command, kind, **by)
        if entries.because:
            raise Transient(f"{self._about}: {entries.because}")
        return entries.read

    def _must_heed_names(self) -> None:
        version = version_of(self._client.ask("listCapabilities"))
        if version is not None and version < _BY_NAME:
            of = ".".join(map(str, version))
            message = f"CloudStack {of} chooses public addresses itself, so one could be left behind without a record"
            raise Permanent(f"{self._about}: {message}", remedy="acquire one, and write it as the rule's address")

    # Changing

    def _chosen(self, free: tuple[str, ...]) -> str:
        """Choose a free address, not the one that another installation would choose."""
        if not free:
            raise Transient(f"{self._about}: no public address is free")
        return free[int.from_bytes(blake2b(self._mark.encode(), digest_size=4).digest()) % len(free)]

    def _associated(self, network: Network, recorded: str) -> str:
        given: Mapping[str, str] = {"ipaddress": recorded, **network.place}
        known = self._jobs.done(self._about, "associateIpAddress", **given)
        if not known:
            raise Transient(f"{self._about}: associateIpAddress: the response has no address; looking it up")
        return known

    def _let_go(self, address: PublicAddress) -> None:
        if not address.source_nat:
            self._jobs.done(self._about, "disassociateIpAddress", id=address.id)
        elif TAG in address.tags:
            self._tag("deleteTags", "PublicIpAddress", address.id, TAG, self._mark)

    def _erase(self, network: Network | None, recorded: str | None) -> None:
        if network is not None and recorded is not None:
            self._tag("deleteTags", "Network", network.id, self._mark, recorded)

    def _tag(self, command: str, kind: str, id: str, key: str, value: str) -> None:
        given = {"resourceids": id, "resourcetype": kind, "tags[0].key": key, "tags[0].value": value}
        self._jobs.done(self._about, command, **given)
