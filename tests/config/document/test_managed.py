from __future__ import annotations

import pytest

from config.build.catalogue import build
from config.document.file import Document
from config.model.made_rule import Algorithm, HealthCheck, MadeRule, RuleProtocol, Stickiness, StickinessMethod
from config.model.managed import (
    HealthMonitor,
    ListenerSpec,
    ManagedBalancer,
    ManagedPart,
    Method,
    Persistence,
    PoolSpec,
    Probe,
    ProbeMethod,
    Protocol,
    SessionPersistence,
    Vip,
    made_parts,
)
from config.units import BalancerId

ID = BalancerId("lb")


def managed(**written: object) -> ManagedBalancer:
    document = {"clouds": {"lab": {"simulated": {}}}, "balancers": {"lb": {"managed": {"cloud": "lab", **written}}}}
    balancer = build(Document.model_validate(document), {}, {}).balancers[ID]
    assert isinstance(balancer, ManagedBalancer)
    return balancer


def rule(**written: object) -> ManagedBalancer:
    cloud = {"endpoint": "http://c", "api_key": {"env": "K"}, "secret": {"env": "S"}}
    document = {
        "clouds": {"prod": {"cloudstack": cloud}},
        "balancers": {"lb": {"managed": {"cloud": "prod", "rule": {"private_port": 8080, **written}}}},
    }
    balancer = build(Document.model_validate(document), {}, {}).balancers[ID]
    assert isinstance(balancer, ManagedBalancer)
    return balancer


def test_a_rule_needs_only_its_network_and_where_members_serve() -> None:
    made = rule(network="tier")
    assert made.rule == MadeRule(private_port=8080, network="tier")
    assert made_parts(made) == (ManagedPart.ADDRESS, ManagedPart.RULE)
    assert made_parts(rule(address="203.0.113.10")) == (ManagedPart.RULE,)


def test_every_property_of_a_rule_is_taken() -> None:
    made = rule(
        network="tier",
        address="203.0.113.10",
        public_port=443,
        protocol="tcp-proxy",
        algorithm="leastconn",
        cidrs=["198.51.100.0/24", "192.0.2.7"],
        open_firewall=False,
        stickiness={"method": "AppCookie", "parameters": {"length": 52, "holdtime": "3h", "request-learn": True}},
        health_check={"path": "/up", "interval": "10s", "timeout": "5s", "healthy": 3, "unhealthy": 4},
    )
    assert made.rule == MadeRule(
        private_port=8080,
        public_port=443,
        network="tier",
        address="203.0.113.10",
        protocol=RuleProtocol.TCP_PROXY,
        algorithm=Algorithm.LEASTCONN,
        cidrs=("198.51.100.0/24", "192.0.2.7/32"),
        open_firewall=False,
        stickiness=Stickiness(
            method=StickinessMethod.APP_COOKIE,
            parameters=(("holdtime", "3h"), ("length", "52"), ("request-learn", "true")),
        ),
        health_check=HealthCheck(path="/up", interval=10.0, timeout=5.0, healthy=3, unhealthy=4),
    )
    assert made_parts(made) == (ManagedPart.RULE, ManagedPart.STICKINESS, ManagedPart.HEALTHCHECK)


def test_only_the_place_is_required() -> None:
    made = managed(vip={"network": "public"})
    assert (made.vip, made.listener, made.pool) == (Vip(network="public"), ListenerSpec(), PoolSpec())
    assert (made.on, made.cloud and made.cloud.id, made.lb_status_timeout) == ("lab", "lab", 300.0)
    assert (made.health_monitor, made_parts(made)) == (
        None,
        (ManagedPart.LOADBALANCER, ManagedPart.LISTENER, ManagedPart.POOL),
    )


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
        listener=ListenerSpec(protocol=Protocol.TCP, port=25, connection_limit=100, admin_state_up=False),
        pool=PoolSpec(
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
            http_method=ProbeMethod.HEAD,
            url_path="/healthz",
            expected_codes="200,204",
            admin_state_up=False,
        ),
        lb_status_timeout=600.0,
    )


@pytest.mark.parametrize(
    ("written", "own"),
    [
        pytest.param({"loadbalancer": "front"}, (ManagedPart.LISTENER, ManagedPart.POOL), id="load balancer"),
        pytest.param({"loadbalancer": "front", "pool": {"id": "p"}}, (), id="pool"),
        pytest.param(
            {"loadbalancer": "front", "pool": {"id": "p"}, "health_monitor": {}},
            (ManagedPart.HEALTHMONITOR,),
            id="new monitor",
        ),
        pytest.param(
            {"loadbalancer": "front", "pool": {"id": "p"}, "health_monitor": {"id": "m"}}, (), id="monitor, too"
        ),
    ],
)
def test_a_part_that_exists_is_not_made(written: dict[str, object], own: tuple[ManagedPart, ...]) -> None:
    assert made_parts(managed(**written)) == own
