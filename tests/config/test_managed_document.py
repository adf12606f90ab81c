from __future__ import annotations

import pytest

from config.build import build
from config.document import Document
from config.managed import (
    HealthMonitor,
    Listener,
    ManagedBalancer,
    Method,
    Part,
    Persistence,
    Pool,
    Probe,
    Protocol,
    SessionPersistence,
    Verb,
    Vip,
    made_parts,
)
from config.units import BalancerId

ID = BalancerId("lb")


def managed(**written: object) -> ManagedBalancer:
    document = {"clouds": {"lab": {"simulated": {}}}, "balancers": {"lb": {"managed": {"cloud": "lab", **written}}}}
    balancer = build(Document.model_validate(document), {}).balancers[ID]
    assert isinstance(balancer, ManagedBalancer)
    return balancer


def test_only_the_place_has_to_be_said() -> None:
    made = managed(vip={"network": "public"})
    assert (made.vip, made.listener, made.pool) == (Vip(network="public"), Listener(), Pool())
    assert (made.on, made.cloud and made.cloud.id, made.lb_status_timeout) == ("lab", "lab", 300.0)
    assert (made.health_monitor, made_parts(made)) == (None, (Part.LOADBALANCER, Part.LISTENER, Part.POOL))


def test_every_property_is_taken() -> None:
    assert managed(
        vip={"subnet": "s", "network": "n", "address": "2001:DB8::1", "admin_state_up": False},
        listener={"protocol": "TCP", "port": 25, "connection_limit": 100, "admin_state_up": False},
        pool={
            "protocol": "HTTP",
            "lb_method": "SOURCE_IP",
            "session_persistence": {"type": "APP_COOKIE", "cookie_name": "JSESSIONID"},
            "subnet": "tier",
            "admin_state_up": False,
        },
        health_monitor={
            "type": "HTTPS",
            "delay": "1m",
            "timeout": "20s",
            "max_retries": 5,
            "http_method": "HEAD",
            "url_path": "/healthz",
            "expected_codes": "200, 204",
            "admin_state_up": False,
        },
        lb_status_timeout="10m",
    ) == ManagedBalancer(
        id=ID,
        on=managed(vip={"subnet": "s"}).on,
        cloud=managed(vip={"subnet": "s"}).cloud,
        vip=Vip(subnet="s", network="n", address="2001:db8::1", admin_state_up=False),
        listener=Listener(protocol=Protocol.TCP, port=25, connection_limit=100, admin_state_up=False),
        pool=Pool(
            protocol=Protocol.HTTP,
            lb_method=Method.SOURCE_IP,
            session_persistence=SessionPersistence(kind=Persistence.APP_COOKIE, cookie_name="JSESSIONID"),
            subnet="tier",
            admin_state_up=False,
        ),
        health_monitor=HealthMonitor(
            kind=Probe.HTTPS,
            delay=60.0,
            timeout=20.0,
            max_retries=5,
            http_method=Verb.HEAD,
            url_path="/healthz",
            expected_codes="200,204",
            admin_state_up=False,
        ),
        lb_status_timeout=600.0,
    )


@pytest.mark.parametrize(
    ("written", "own"),
    [
        pytest.param({"loadbalancer": "front"}, (Part.LISTENER, Part.POOL), id="load balancer"),
        pytest.param({"loadbalancer": "front", "pool": {"id": "p"}}, (), id="pool"),
        pytest.param(
            {"loadbalancer": "front", "pool": {"id": "p"}, "health_monitor": {}},
            (Part.HEALTHMONITOR,),
            id="new monitor",
        ),
        pytest.param(
            {"loadbalancer": "front", "pool": {"id": "p"}, "health_monitor": {"id": "m"}}, (), id="monitor, too"
        ),
    ],
)
def test_what_exists_is_not_made(written: dict[str, object], own: tuple[Part, ...]) -> None:
    assert made_parts(managed(**written)) == own
