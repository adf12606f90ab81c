from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from config.model import Balancer, HaproxyBalancer, OctaviaBalancer, ServerTemplate
from config.units import BalancerId, CloudId
from handler.app import clock
from handler.balancers.haproxy import HaproxyDriver
from handler.balancers.haproxy_several import HaproxySeveral
from handler.balancers.haproxy_slots import HaproxySlots
from handler.balancers.octavia import OctaviaDriver
from handler.balancers.shared_listener import SharedListenerBalancer
from handler.balancers.table import balancer_for
from tests.support.balancers import a_listener
from tests.support.openstack import an_access

HAPROXY = HaproxyBalancer(id=BalancerId("e"), socket="/s", backend="b")


@pytest.mark.parametrize(
    ("declaration", "driver"),
    [
        pytest.param(a_listener(port=8080), SharedListenerBalancer, id="shared-listener"),
        pytest.param(HAPROXY, HaproxyDriver, id="haproxy"),
        pytest.param(replace(HAPROXY, template=ServerTemplate(prefix="s", map="/m")), HaproxySlots, id="template"),
        pytest.param(replace(HAPROXY, further=("/t",)), HaproxySeveral, id="several"),
        pytest.param(
            OctaviaBalancer(id=BalancerId("o"), cloud=CloudId("c"), access=an_access("https://k/v3"), pool="web"),
            OctaviaDriver,
            id="octavia",
        ),
    ],
)
def test_each_kind_of_balancer_has_its_driver(tmp_path: Path, declaration: Balancer, driver: type) -> None:
    assert type(balancer_for(declaration, tmp_path, clock.wall, lambda _: "")) is driver
