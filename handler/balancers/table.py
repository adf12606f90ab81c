"""Which driver serves which kind of balancer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import assert_never

from config.access import SecretRef
from config.model import Balancer as Declaration
from config.model import CloudstackRuleBalancer, HaproxyBalancer, NetscalerBalancer, OctaviaBalancer, SharedListener
from config.units import Instant
from handler.balancers.cloudstack_rule import CloudstackRuleDriver
from handler.balancers.haproxy_several import haproxy
from handler.balancers.interface import Balancer
from handler.balancers.netscaler import NetscalerDriver
from handler.balancers.octavia import OctaviaDriver
from handler.balancers.shared_listener import SharedListenerBalancer
from handler.orchestrators.cloudstack_jobs import wait


def balancer_for(
    declaration: Declaration,
    directory: Path,
    clock: Callable[[], Instant],
    read_secret: Callable[[SecretRef], str],
) -> Balancer:
    """The driver of a declared balancer; ``directory`` is where a holder keeps its socket, lock and log."""
    match declaration:
        case SharedListener():
            return SharedListenerBalancer(declaration, directory)
        case HaproxyBalancer():
            return haproxy(declaration)
        case CloudstackRuleBalancer():
            return CloudstackRuleDriver(declaration, clock, read_secret, wait)
        case NetscalerBalancer():
            return NetscalerDriver(declaration, read_secret, clock)
        case OctaviaBalancer():
            return OctaviaDriver(declaration, read_secret, clock)
        case _:
            assert_never(declaration)
