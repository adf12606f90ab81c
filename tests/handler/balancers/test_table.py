from __future__ import annotations

from pathlib import Path

import pytest

from config.model import Balancer, HaproxyBalancer
from config.units import BalancerId
from handler.balancers.haproxy import HaproxyDriver
from handler.balancers.shared_listener import SharedListenerBalancer
from handler.balancers.table import balancer_for
from tests.support.balancers import a_listener


@pytest.mark.parametrize(
    ("declaration", "driver"),
    [
        pytest.param(a_listener(port=8080), SharedListenerBalancer, id="shared-listener"),
        pytest.param(HaproxyBalancer(id=BalancerId("e"), socket="/s", backend="b"), HaproxyDriver, id="haproxy"),
    ],
)
def test_each_kind_of_balancer_has_its_driver(tmp_path: Path, declaration: Balancer, driver: type) -> None:
    assert type(balancer_for(declaration, tmp_path)) is driver
