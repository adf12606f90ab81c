from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from config.model.balancers import HaproxyBalancer, ServerTemplate
from config.units import BalancerId
from handler.balancers.haproxy.examining import examine
from tests.support.haproxy import Haproxy, running_haproxy

pytestmark = pytest.mark.real("haproxy")

_MORE = """
backend {name}
    balance {algorithm}
"""
_ADDRESSED = """
backend addressed
    server-template a 1-4 0.0.0.0:80 disabled
"""
REFUSING = {"by_source": "source", "by_uri": "uri", "static": "static-rr"}
TAKING = {"round": "roundrobin", "least": "leastconn", "hashed": "source\n    hash-type consistent"}


@pytest.fixture(scope="module")
def haproxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Haproxy]:
    with running_haproxy(tmp_path_factory.mktemp("h"), slots=4) as running:
        backends = "".join(
            _MORE.format(name=name, algorithm=algorithm) for name, algorithm in {**REFUSING, **TAKING}.items()
        )
        running.config.write_text(running.config.read_text() + backends + _ADDRESSED)
        running.restart()
        yield running


def a_balancer(haproxy: Haproxy, backend: str, *, template: str | None = None) -> HaproxyBalancer:
    slots = None if template is None else ServerTemplate(prefix=template, map=str(haproxy.map))
    return HaproxyBalancer(id=BalancerId("edge"), socket=str(haproxy.socket), backend=backend, template=slots)


@pytest.mark.parametrize(("backend", "algorithm"), REFUSING.items())
def test_an_algorithm_that_takes_no_servers_is_named(haproxy: Haproxy, backend: str, algorithm: str) -> None:
    (finding,) = examine(a_balancer(haproxy, backend), 4)
    assert finding.grave
    assert f"backend {backend} has `balance {algorithm}`" in finding.words


@pytest.mark.parametrize("backend", TAKING)
def test_dynamic_servers_do_and_a_template_would_do_better(haproxy: Haproxy, backend: str) -> None:
    (finding,) = examine(a_balancer(haproxy, backend), 4)
    assert not finding.grave
    assert "forgets the members" in finding.words
    assert "probe" not in haproxy.ask(f"show servers state {backend}")


@pytest.mark.parametrize(("most", "grave"), [(3, []), (4, [False]), (5, [True])])
def test_a_template_has_a_server_for_every_member_those_that_drain_included(
    haproxy: Haproxy, most: int, grave: list[bool]
) -> None:
    findings = examine(a_balancer(haproxy, "web", template="slot"), most)
    assert [finding.grave for finding in findings] == grave
    assert all("declare" in finding.words for finding in findings)


def test_a_template_of_addresses_is_a_finding_that_says_what_a_reload_does(haproxy: Haproxy) -> None:
    (finding,) = examine(a_balancer(haproxy, "addressed", template="a"), 2)
    assert not finding.grave
    assert "init-addr last,0.0.0.0" in finding.words


def test_a_process_that_does_not_answer_is_a_finding_and_does_not_hide_the_others(
    haproxy: Haproxy, tmp_path: Path
) -> None:
    balancer = replace(a_balancer(haproxy, "by_uri"), further=(str(tmp_path / "nobody"), str(haproxy.socket)))
    findings = examine(balancer, 4)
    assert [finding.grave for finding in findings] == [True, True, True]
    assert "does not answer" in findings[1].words
