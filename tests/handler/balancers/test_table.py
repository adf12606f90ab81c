from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from config.errors import Refused
from config.model.balancers import Balancer, HaproxyBalancer, ServerTemplate
from config.model.catalogue import OctaviaBalancer
from config.model.clouds import ProcessCloud
from config.model.made_rule import MadeRule
from config.units import BalancerId, CloudId
from handler.balancers.cloudstack.making import RuleProvisioner
from handler.balancers.haproxy.driver import HaproxyDriver
from handler.balancers.haproxy.several_endpoints import HaproxySeveral
from handler.balancers.haproxy.slots import HaproxySlots
from handler.balancers.octavia.driver import OctaviaDriver
from handler.balancers.octavia.provisioning import OctaviaProvisioner
from handler.balancers.shared_listener.driver import SharedListenerBalancer
from handler.balancers.simulated import SimulatedBalancer
from handler.balancers.table import balancer_for
from handler.runtime import clock
from tests.support.balancers import a_listener
from tests.support.cloudstack import a_cloudstack
from tests.support.openstack import an_access, an_openstack
from tests.support.provisioning import a_managed
from tests.support.worlds import INSTALLATION

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
        pytest.param(a_managed(), SimulatedBalancer, id="made on a simulated cloud"),
        pytest.param(a_managed(cloud=an_openstack("https://k/v3")), OctaviaProvisioner, id="made on OpenStack"),
        pytest.param(
            a_managed(cloud=a_cloudstack("https://c"), vip=None, rule=MadeRule(private_port=80, network="tier")),
            RuleProvisioner,
            id="made on CloudStack",
        ),
    ],
)
def test_each_kind_of_balancer_has_its_driver(tmp_path: Path, declaration: Balancer, driver: type) -> None:
    assert type(balancer_for(declaration, tmp_path, clock.wall, lambda _: "", INSTALLATION)) is driver


def test_a_cloud_that_makes_no_balancers_has_no_driver_for_one(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="the cloud lab makes no balancers"):
        balancer_for(a_managed(cloud=ProcessCloud(id=CloudId("lab"))), tmp_path, clock.wall, lambda _: "", INSTALLATION)
