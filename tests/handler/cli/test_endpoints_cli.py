"""A cloud that does not answer, as people are told of it by a real daemon."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.daemon import Daemon, a_daemon
from tests.support.ports import free_tcp_port
from tests.support.waiting import until

NAMES = [f"web{number}" for number in range(6)]
_MODEL = """\
clouds: {{prod: {{opennebula: {{endpoint: "http://127.0.0.1:{port}/RPC2", user: fleet, password: {{env: ONE}}}}}}}}
profiles: {{web: {{cloud: prod, template: web, networks: [tier]}}}}
groups:
"""


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    model = _MODEL.format(port=free_tcp_port()) + "".join(
        f"  {name}: {{profile: web, min: 1, max: 2}}\n" for name in NAMES
    )
    with a_daemon(model, {"ONE": "secret"}) as daemon:
        yield daemon.start()


def test_status_why_and_metrics_name_an_endpoint_that_does_not_answer(daemon: Daemon) -> None:
    def says(*command: str) -> bool:
        return re.search(r"are held back: \d+ calls in a row failed since", daemon.trimtab(*command).out) is not None

    until(lambda: says("status"))

    assert daemon.trimtab("status").out.startswith("calls to http://127.0.0.1:")
    (endpoint,) = daemon.get("/api/v1/endpoints").json
    assert endpoint["position"] in {"open", "half_open"}
    assert f'trimtab_endpoint_circuit{{endpoint="{endpoint["endpoint"]}",position="closed"}} 0.0' in metrics(daemon)
    for command in ("status", "why"):
        until(lambda command=command: any(says(command, group) for group in NAMES))  # type: ignore[misc]


def metrics(daemon: Daemon) -> str:
    return daemon.get("/metrics").text
