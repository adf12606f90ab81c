"""A NetScaler of our own as a balancer, for tests of what all balancers promise."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from collector.clients.circuits import Circuits
from config.model.access import SecretRef
from config.model.balancers import NetscalerBalancer
from config.units import BalancerId, Instant, MemberName
from handler.balancers.exchange import Address
from handler.balancers.netscaler.driver import NetscalerDriver
from tests.support.netscaler import PASSWORD, USER, FakeNetscaler, in_the_background
from tests.support.netscaler_config import Configuration, Member
from tests.support.waiting import PATIENT, scaled

GROUP = "wéb 网/1"
"""A name that has to be escaped."""


def a_netscaler(**fields: object) -> NetscalerBalancer:
    declared = NetscalerBalancer(
        id=BalancerId("ns"), url="", user=USER, password=SecretRef(env="NS"), service_group=GROUP, timeout=PATIENT
    )
    return replace(declared, **fields)  # type: ignore[arg-type] # whichever fields a test cares about


class NetscalerStage:
    """One appliance, and no server behind it: traffic is not played."""

    port = 0

    def __init__(self, appliance: FakeNetscaler) -> None:
        assert appliance.configuration is not None
        self.appliance, self.there = appliance, appliance.configuration
        self.now = Instant(1000.0)
        self.password = PASSWORD
        self.declared = a_netscaler(url=appliance.url)
        self.balancer = self.driver()
        host, _, port = appliance.url.removeprefix("http://").partition(":")
        self.address: tuple[str, int] = (host, int(port))

    def driver(self, circuits: Circuits | None = None, **fields: object) -> NetscalerDriver:
        declared = a_netscaler(**{"url": self.declared.url, **fields})
        return NetscalerDriver(declared, lambda _: self.password, lambda: self.now, circuits)

    def driver_at(self, address: Address, circuits: Circuits | None = None) -> NetscalerDriver:
        assert not isinstance(address, Path)
        return self.driver(circuits, url=f"http://{address[0]}:{address[1]}", timeout=scaled(1.0))

    @property
    def members(self) -> dict[tuple[str, int], Member]:
        return self.there.groups[GROUP]

    def member(self, name: MemberName) -> tuple[str, int]:
        return "127.0.0.1", 80

    def kill(self, name: MemberName) -> None:
        """Do nothing: no member program runs."""

    def release(self) -> None:
        """Do nothing: no answer is held back."""

    def register_foreign(self) -> str:
        self.there.servers["payments"] = "10.9.9.9"
        self.members["payments", 443] = Member(connections=7)
        return "payments"

    def foreign_member(self, name: str) -> str | None:
        return next((repr(member) for (server, _), member in self.members.items() if server == name), None)

    def restart(self) -> None:
        self.there.started = "Tue May  9 10:00:00 2017"
        self.appliance.expire()

    def clear(self) -> None:
        self.there.servers.clear()
        self.members.clear()


@contextlib.contextmanager
def netscaler_stage(_: Path) -> Iterator[NetscalerStage]:
    with in_the_background(FakeNetscaler(configuration=Configuration(groups={GROUP: {}}))) as appliance:
        yield NetscalerStage(appliance)
