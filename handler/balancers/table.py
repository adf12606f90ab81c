"""The driver of each kind of balancer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from collector.clients.circuits import Circuits
from collector.clients.cloudstack.jobs import wait
from config.errors import Refused
from config.model.access import SecretRef
from config.model.balancers import Balancer as Declaration
from config.model.balancers import HaproxyBalancer, SharedListener
from config.model.catalogue import CloudstackRuleBalancer, ManagedBalancer, NetscalerBalancer, OctaviaBalancer
from config.model.clouds import CloudstackCloud, OpenstackCloud, SimulatedCloud
from config.units import Instant
from handler.balancers.cloudstack.driver import CloudstackRuleDriver
from handler.balancers.cloudstack.making import RuleProvisioner
from handler.balancers.haproxy.several_endpoints import haproxy
from handler.balancers.netscaler.driver import NetscalerDriver
from handler.balancers.octavia.driver import OctaviaDriver
from handler.balancers.octavia.provisioning import OctaviaProvisioner
from handler.balancers.shared_listener.driver import SharedListenerBalancer
from handler.balancers.simulated import SimulatedBalancer
from handler.ports.balancer import Balancer


def balancer_for(
    declaration: Declaration,
    directory: Path,
    clock: Callable[[], Instant],
    read_secret: Callable[[SecretRef], str],
    installation: str,
    circuits: Circuits | None = None,
) -> Balancer:
    """Return the driver of a declared balancer.

    Args:
        declaration: the balancer in the file.
        directory: the holder's socket, lock and log are here.
        clock: tells the time.
        read_secret: reads the secrets that a declaration names.
        installation: its mark is on created objects.
        circuits: those of all endpoints; ``None``: everything is sent.

    Raises:
        Refused: its cloud makes no balancers; `config.checks.catalogue` says so before.
    """
    if isinstance(declaration, ManagedBalancer):
        return _made(declaration, directory, clock, read_secret, installation, circuits)
    match declaration:
        case SharedListener():
            return SharedListenerBalancer(declaration, directory)
        case HaproxyBalancer():
            return haproxy(declaration, circuits)
        case CloudstackRuleBalancer():
            return CloudstackRuleDriver(declaration, clock, read_secret, wait, circuits)
        case NetscalerBalancer():
            return NetscalerDriver(declaration, read_secret, clock, circuits)
        case OctaviaBalancer():
            return OctaviaDriver(declaration, read_secret, clock, circuits=circuits)
        case _:
            assert_never(declaration)


def _made(
    declaration: ManagedBalancer,
    directory: Path,
    clock: Callable[[], Instant],
    read_secret: Callable[[SecretRef], str],
    installation: str,
    circuits: Circuits | None,
) -> Balancer:
    match declaration.cloud:
        case SimulatedCloud():
            return SimulatedBalancer(declaration, clock, directory / f"{declaration.id}.json")
        case CloudstackCloud() as cloud:
            return RuleProvisioner(declaration, cloud, installation, clock, read_secret, wait, circuits)
        case OpenstackCloud(access=access):
            return OctaviaProvisioner(declaration, access, installation, read_secret, clock, circuits)
        case _:
            raise Refused(f"the cloud {declaration.on} makes no balancers")
