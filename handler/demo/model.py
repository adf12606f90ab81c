"""The demo's declaration: YAML as an operator writes it, with shorter times."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from handler.demo.place import HOST, DemoPlace

GROUP = "web"

_MEMBER_PORT = 8082
_MODEL = """\
# The demo's declaration, written by `trimtab demo`: as you would write it, with shorter times.
counters:
  busy: {{snmp: "TRIMTAB-DEMO::busyPercent.0", unit: percent, range: [0, 100], shared: true}}
  cpu:  {{snmp: "TRIMTAB-DEMO::cpuPercent.0", unit: percent, range: [0, 100]}}

conditions:
  busy:  {{counter: busy, across: avg, window: 4s, aggregate: avg, above: 65}}
  idle:  {{counter: busy, across: avg, window: 4s, aggregate: max, below: 40}}

policies:
  out: {{when: [busy], duration: 2s, add: 2, quiet_time: 4s}}
  in:  {{when: [idle], duration: 4s, remove: 25%, at_least: 1, quiet_time: 4s}}

clouds:
  local: {{process: {{}}, budget: {{outstanding: 10, per_hour: 500}}}}

balancers:
  edge: {balancer}

profiles:
  web:
    cloud: local
    command: {command}
    snmp: {{port: 1161}}
    ready: {{http: /healthz, port: 8081, within: 30s}}

groups:
  web:
    profile: web
    balancers: [{{use: edge, port: {port}}}]
    min: 2
    max: 10
    interval: 2s
    warm_up: 2s
    drain: 10s
    grace: 15s
    build_timeout: 60s
    budget: {{outstanding: 10, per_hour: 500}}
    policies: [out, in]
"""
_HAPROXY = """\
global
    stats socket {socket} mode 600 level admin
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    option redispatch
    retries 3
frontend service
    bind {host}:{port}
    default_backend web
backend web
    balance leastconn
    option httpclose
"""


def haproxy_socket(state: Path) -> Path:
    """Return the path of the admin socket of the demo's HAProxy."""
    return state / "haproxy.sock"


def haproxy_configuration(place: DemoPlace) -> str:
    """Return the configuration of an HAProxy with one empty backend, to which Trimtab adds servers."""
    return _HAPROXY.format(socket=haproxy_socket(place.state), host=HOST, port=place.load)


def declaration(balancer: str, place: DemoPlace) -> str:
    """Return the demo's YAML."""
    port = place.load
    command = [sys.executable, "-m", "handler.demo.member", "--slots", "3", "--service-time", "100ms"]
    if balancer == "haproxy":
        declared = f"{{haproxy: {{socket: {json.dumps(str(haproxy_socket(place.state)))}, backend: web}}}}"
        command += ["--listen", str(_MEMBER_PORT)]
        port = _MEMBER_PORT
    else:
        declared = f'{{shared_listener: {{listen: "{HOST}:{port}"}}}}'
        command += ["--listener", "edge"]
    command += ["--snmp-port", "1161", "--health-port", "8081"]
    return _MODEL.format(balancer=declared, command=json.dumps(command), port=port)
