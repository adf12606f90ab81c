"""Which driver serves which kind of balancer."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from config.model import Balancer as Declaration
from config.model import HaproxyBalancer, SharedListener
from handler.balancers.haproxy_several import haproxy
from handler.balancers.interface import Balancer
from handler.balancers.shared_listener import SharedListenerBalancer


def balancer_for(declaration: Declaration, directory: Path) -> Balancer:
    """The driver of a declared balancer; ``directory`` is where a holder keeps its socket, lock and log."""
    match declaration:
        case SharedListener():
            return SharedListenerBalancer(declaration, directory)
        case HaproxyBalancer():
            return haproxy(declaration)
        case _:
            assert_never(declaration)
