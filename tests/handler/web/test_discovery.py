from __future__ import annotations

import contextlib
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config.model.balancers import HaproxyBalancer, SharedListener
from config.model.catalogue import BalancerUse
from config.units import BalancerId
from handler.planning.desired import Definition
from handler.planning.status import MemberState, MemberStatus
from handler.web.discovery import doubt, port_of, target_groups
from tests.support.daemon import Daemon, a_daemon
from tests.support.pages import a_member, a_status
from tests.support.ports import free_tcp_port
from tests.support.store import a_definition
from tests.support.waiting import PATIENT, stopped, until

_GROUP = (
    "{profile: web, min: 1, max: 5, interval: 0.5s, warm_up: 1h, drain: 0s, grace: 1s, quiet_time: 0s, policies: []}"
)
_MODEL = f"""\
clouds: {{local: {{process: {{}}}}}}
profiles: {{web: {{cloud: local, command: [sleep, "3600"]}}}}
groups: {{web: {_GROUP}, fleet: {_GROUP}}}
"""


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    with a_daemon(_MODEL) as daemon:
        yield daemon.start()


def targets(*members: MemberStatus, port: int = 9100) -> dict[str, dict[str, str]]:
    """Target → labels."""
    listed: Any = target_groups(a_status(*members), a_definition(), port)
    assert all(len(entry["targets"]) == 1 for entry in listed)
    return {entry["targets"][0]: entry["labels"] for entry in listed}


def uses(**ports: int) -> Definition:
    """A group whose members serve these ports behind these balancers; ``listener`` is a shared listener."""
    plain = a_definition()
    named = {name: BalancerId(name) for name in ports}
    return replace(
        plain,
        group=replace(plain.group, balancers=tuple(BalancerUse(balancer=named[n], port=p) for n, p in ports.items())),
        balancers={
            named[name]: SharedListener(id=named[name], address="127.0.0.1", port=80)
            if name == "listener"
            else HaproxyBalancer(id=named[name], socket="/run/haproxy.sock", backend="web")
            for name in ports
        },
    )


@pytest.mark.parametrize("state", list(MemberState), ids=lambda state: state.value)
def test_targets_are_the_members_that_serve_and_are_not_proved_gone(state: MemberState) -> None:
    assert bool(targets(a_member(state=state))) is (state in {MemberState.IN_SERVICE, MemberState.UNKNOWN})


def test_a_member_that_has_never_served_is_no_target() -> None:
    assert not targets(a_member(state=MemberState.UNKNOWN, in_service_at=None))


def test_a_target_has_its_member_in_text_labels() -> None:
    found = targets(a_member(warming=True, protected=True))
    assert found == {
        "127.1.0.1:9100": {
            "__meta_trimtab_group": "web",
            "__meta_trimtab_member": "web-k3f9ab-1",
            "__meta_trimtab_address": "127.1.0.1",
            "__meta_trimtab_profile": "small",
            "__meta_trimtab_cloud": "local",
            "__meta_trimtab_state": "in_service",
            "__meta_trimtab_warming": "true",
            "__meta_trimtab_protected": "true",
        }
    }


def test_an_ipv6_address_is_bracketed() -> None:
    assert list(targets(a_member(address="2001:db8::7"), port=80)) == ["[2001:db8::7]:80"]


def test_targets_keep_the_order_of_the_members() -> None:
    members = [a_member(f"web-k3f9ab-{number}", address=f"127.1.0.{number}") for number in (2, 10, 11)]
    assert list(targets(*members)) == ["127.1.0.2:9100", "127.1.0.10:9100", "127.1.0.11:9100"]


@pytest.mark.parametrize(
    ("definition", "port"),
    [
        (uses(), None),
        (uses(edge=8080), 8080),
        (uses(edge=8080, side=8080), 8080),
        (uses(edge=8080, side=8081), None),
        (uses(listener=80), None),
        (uses(listener=80, edge=8080), 8080),
    ],
    ids=["no balancer", "one", "two that agree", "two that differ", "no port of its own", "one of its own"],
)
def test_the_port_is_the_one_at_which_balancers_reach_members(definition: Definition, port: int | None) -> None:
    assert port_of(definition) == port


def test_before_the_first_listing_the_targets_are_in_doubt() -> None:
    assert "have not been listed yet" in str(doubt(a_status(listed=None)))


def test_after_a_complete_listing_an_empty_list_is_the_truth() -> None:
    assert doubt(a_status(listed=True)) is None
    assert targets() == {}


def test_a_member_of_unknown_address_is_doubtful_only_while_the_listing_is_partial() -> None:
    lost = a_member(state=MemberState.UNKNOWN, address=None)
    assert "web-k3f9ab-1" in str(doubt(a_status(lost, listed=False)))
    assert doubt(a_status(lost, listed=True)) is None
    assert doubt(a_status(a_member(), listed=False)) is None


# Over HTTP


def test_a_request_without_a_port_is_answered_with_how_to_give_one(daemon: Daemon) -> None:
    answer = daemon.get("/sd/prometheus/web")
    assert answer.status == 400
    assert "?port=9100" in answer.json["error"]


@pytest.mark.parametrize("port", ["0", "65536", "x", ""])
def test_a_port_that_is_none_is_refused(daemon: Daemon, port: str) -> None:
    assert daemon.get(f"/sd/prometheus/web?port={port}").status == 422


def test_an_unknown_group_is_not_found(daemon: Daemon) -> None:
    answer = daemon.get("/sd/prometheus/wep?port=1")
    assert answer.status == 404
    assert "did you mean web?" in answer.json["error"]


def test_the_answer_is_json_and_in_the_api_description(daemon: Daemon) -> None:
    daemon.settled(1)
    answer = daemon.get("/sd/prometheus/web?port=9100")
    assert answer.headers["content-type"] == "application/json"
    assert [entry["labels"]["__meta_trimtab_member"] for entry in answer.json] == daemon.serving()
    assert "/sd/prometheus/{group}" in daemon.get("/api/v1/openapi.json").json["paths"]


# A real Prometheus


@contextlib.contextmanager
def running_prometheus(folder: Path, url: str) -> Iterator[str]:
    """A Prometheus that discovers from ``url`` every second; its own address."""
    port, config, log = free_tcp_port(), folder / "prometheus.yml", folder / "prometheus.log"
    config.write_text(
        "scrape_configs:\n- job_name: fleet\n  scrape_interval: 1s\n"
        f"  http_sd_configs: [{{url: '{url}', refresh_interval: 1s}}]\n"
        "  relabel_configs: [{source_labels: [__meta_trimtab_member], target_label: member}]\n"
    )
    options = [
        f"--config.file={config}",
        f"--storage.tsdb.path={folder}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen(["prometheus", *options], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    with stopped(process):
        base = f"http://127.0.0.1:{port}"
        until(lambda: _followed(base) is not None, process=process, log=log)
        yield base


def _followed(base: str) -> set[str] | None:
    """Members that Prometheus scrapes; ``None`` while it does not answer."""
    try:
        with urllib.request.urlopen(f"{base}/api/v1/targets?state=active", timeout=PATIENT) as answer:
            found = json.load(answer)["data"]["activeTargets"]
    except (urllib.error.URLError, ConnectionError):
        return None
    return {target["labels"]["member"] for target in found}


@pytest.mark.real("prometheus")
def test_prometheus_follows_a_group_out_and_in_and_keeps_its_targets_while_trimtab_is_away(
    daemon: Daemon, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{daemon.port}/sd/prometheus/fleet?port=9100"
    with running_prometheus(tmp_path, url) as base:
        log = tmp_path / "prometheus.log"
        for size in (4, 2):
            daemon.ask("PUT", "/api/v1/groups/fleet/size", {"size": size}, unix=True)
            daemon.settled(size, "fleet")
            until(lambda: _followed(base) == set(daemon.serving("fleet")), log=log)
        before = set(daemon.serving("fleet"))
        daemon.stop()
        try:
            until(lambda: "Unable to refresh target groups" in log.read_text(), log=log)
            assert _followed(base) == before
        finally:
            daemon.start()
