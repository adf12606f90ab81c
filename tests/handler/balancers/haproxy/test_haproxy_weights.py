"""Weights that a person changed over the runtime API of a real HAProxy: `haproxy.driver`, Note [Weights]."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from config.errors import Permanent
from config.model.balancers import HaproxyBalancer
from handler.balancers.haproxy.examining import examine
from handler.planning.world import Health, RegistrationState
from tests.support.balancers import HaproxyStage, a_name, get, haproxy_stage, state_of, template_stage
from tests.support.beds import Bed
from tests.support.waiting import until
from tests.support.worlds import EDGE, name_of

pytestmark = pytest.mark.real("haproxy")

STAGES = [pytest.param(haproxy_stage, id="dynamic"), pytest.param(template_stage, id="template")]


@pytest.fixture(params=STAGES)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HaproxyStage]:
    made: Callable[[Path], AbstractContextManager[HaproxyStage]] = request.param
    with made(tmp_path) as stage:
        yield stage
        stage.clear()


@pytest.fixture
def dynamic(tmp_path: Path) -> Iterator[HaproxyStage]:
    with haproxy_stage(tmp_path) as stage:
        yield stage
        stage.clear()


def served(stage: HaproxyStage) -> str:
    name = a_name()
    stage.balancer.join(name, *stage.member(name))
    stage.balancer.enable(name)
    until(lambda: get(stage.port) == name)
    return name


def test_half_of_the_weight_1_is_0_and_such_a_member_gets_nothing_until_it_is_enabled(stage: HaproxyStage) -> None:
    name = served(stage)
    stage.reweigh(name, "50%")

    assert stage.weight(name) == "0 (initial 1)"
    with pytest.raises(ConnectionError, match="503"):
        get(stage.port)
    assert state_of(stage.balancer, name) is RegistrationState.DRAINING
    assert stage.balancer.registrations()[name].note == "weight 0, where the configuration gives 1"

    stage.balancer.enable(name)
    assert stage.weight(name) == "1 (initial 1)"
    assert get(stage.port) == name
    assert stage.balancer.registrations()[name].note == ""


def test_a_pass_gives_a_member_in_service_its_weight_back(dynamic: HaproxyStage) -> None:
    bed = Bed(size=2)
    bed.balancers[EDGE] = dynamic.balancer  # type: ignore[assignment] # a real one in place of the bed's own
    bed.settle()
    dynamic.reweigh(name_of(1), "0")

    bed.settle()
    assert {registration.state for registration in dynamic.balancer.registrations().values()} == {
        RegistrationState.SERVING
    }
    assert dynamic.weight(name_of(1)) == "1 (initial 1)"


def test_any_other_weight_stays_and_is_reported(stage: HaproxyStage) -> None:
    name = served(stage)
    stage.reweigh(name, "7")

    assert state_of(stage.balancer, name) is RegistrationState.SERVING
    assert stage.balancer.registrations()[name].note == "weight 7, where the configuration gives 1"
    stage.balancer.enable(name)
    assert stage.weight(name) == "7 (initial 1)"
    assert isinstance(stage.declared, HaproxyBalancer)
    (reweighted,) = [finding for finding in examine(stage.declared, 3) if "has weight" in finding.words]
    server = stage.server_of(stage.haproxy, name)
    assert not reweighted.grave
    assert f"`set server web/{server} weight 100%` over the runtime socket gives it back" in reweighted.words


def test_the_next_member_in_a_slot_begins_with_the_configured_weight(tmp_path: Path) -> None:
    with template_stage(tmp_path) as stage:
        name = served(stage)
        slot = stage.server_of(stage.haproxy, name)
        stage.reweigh(name, "0")
        stage.balancer.leave(name)
        other = a_name()
        stage.balancer.join(other, "127.0.0.9", 80)

        assert stage.server_of(stage.haproxy, other) == slot
        assert stage.weight(other) == "1 (initial 1)"
        stage.clear()


def test_a_configuration_that_gives_0_is_named(dynamic: HaproxyStage) -> None:
    text = dynamic.haproxy.config.read_text()
    name = a_name()
    dynamic.haproxy.config.write_text(f"{text}    server {name} 127.0.0.1:9 weight 0\n")
    dynamic.haproxy.restart()

    assert state_of(dynamic.balancer, name) is RegistrationState.DRAINING
    with pytest.raises(Permanent, match=f"gives web/{name} weight 0, so it never gets work"):
        dynamic.balancer.enable(name)
    dynamic.haproxy.config.write_text(text)
    dynamic.haproxy.restart()


class _Agent(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(b"0%\n")


@contextmanager
def agent() -> Iterator[int]:
    """A server's agent that asks for no new work."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Agent) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_an_agent_check_s_weight_0_is_the_server_s_own_word(dynamic: HaproxyStage) -> None:
    text, name = dynamic.haproxy.config.read_text(), a_name()
    with agent() as port:
        checked = f"agent-check agent-port {port} agent-inter 100ms"
        dynamic.haproxy.config.write_text(f"{text}    server {name} 127.0.0.1:9 weight 10 {checked}\n")
        dynamic.haproxy.restart()
        until(lambda: dynamic.weight(name) == "0 (initial 10)")

        registration = dynamic.balancer.registrations()[name]
        assert (registration.state, registration.health) == (RegistrationState.SERVING, Health.UNKNOWN)
        assert registration.note == "weight 0, set by its agent check, where the configuration gives 10"
        dynamic.balancer.enable(name)
        assert dynamic.weight(name) == "0 (initial 10)"
    dynamic.haproxy.config.write_text(text)
    dynamic.haproxy.restart()
