from __future__ import annotations

from pathlib import Path

import pytest

from config.load import parse
from config.model.balancers import HaproxyBalancer, SharedListener
from config.units import BalancerId, GroupId
from handler.demo.model import GROUP, declaration, haproxy_configuration, haproxy_socket
from handler.demo.place import HOST, DemoPlace


def a_place(state: str = "/srv") -> DemoPlace:
    return DemoPlace(state=Path(state), console=9000, load=9999)


@pytest.mark.parametrize("balancer", ["shared_listener", "haproxy"])
@pytest.mark.parametrize("state", ["/srv/state", '/srv/a "quoted" place/é'], ids=["plain", "with quotes"])
def test_the_declaration_of_the_demo_has_no_problem(balancer: str, state: str) -> None:
    catalogue = parse(declaration(balancer, a_place(state)), "demo.yaml")
    group = catalogue.groups[GroupId(GROUP)]
    assert group.minimum == 2
    assert group.maximum >= 6
    assert group.policies


def test_the_load_goes_where_the_balancer_listens() -> None:
    edge = BalancerId("edge")
    shared = parse(declaration("shared_listener", a_place()), "demo.yaml").balancers[edge]
    assert isinstance(shared, SharedListener)
    assert (shared.address, shared.port) == (HOST, 9999)
    haproxy = parse(declaration("haproxy", a_place()), "demo.yaml").balancers[edge]
    assert isinstance(haproxy, HaproxyBalancer)
    assert haproxy.socket == str(haproxy_socket(a_place().state))
    text = haproxy_configuration(a_place())
    assert f"bind {HOST}:9999" in text
    assert f"backend {haproxy.backend}\n" in text
    assert f"stats socket {haproxy.socket} " in text
