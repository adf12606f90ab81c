"""A cloud that does not answer, as people are told of it by a real daemon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.daemon import Daemon, a_daemon
from tests.support.http_servers import free_tcp_port
from tests.support.waiting import until

GROUPS = 6
_MODEL = """\
clouds: {{prod: {{opennebula: {{endpoint: "http://127.0.0.1:{port}/RPC2", user: fleet, password: {{env: ONE}}}}}}}}
profiles: {{web: {{cloud: prod, template: web, networks: [tier]}}}}
groups:
"""


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    model = _MODEL.format(port=free_tcp_port()) + "".join(
        f"  web{number}: {{profile: web, min: 1, max: 2}}\n" for number in range(GROUPS)
    )
    with a_daemon(model, {"ONE": "secret"}) as daemon:
        yield daemon.start()


def test_status_why_and_metrics_name_an_endpoint_that_answers_nobody(daemon: Daemon) -> None:
    said = "is left alone: 5 calls in a row failed since"

    until(lambda: said in daemon.trimtab("status").out, within=30.0)

    assert daemon.trimtab("status").out.startswith("http://127.0.0.1:")
    (endpoint,) = daemon.get("/api/v1/endpoints").json
    assert endpoint["position"] in {"open", "half_open"}
    assert f'trimtab_endpoint_circuit{{endpoint="{endpoint["endpoint"]}",position="closed"}} 0.0' in metrics(daemon)
    until(lambda: any(said in daemon.trimtab("status", f"web{number}").out for number in range(GROUPS)), within=30.0)
    until(lambda: any(said in daemon.trimtab("why", f"web{number}").out for number in range(GROUPS)), within=30.0)


def metrics(daemon: Daemon) -> str:
    return daemon.get("/metrics").text
