"""The commands against a real daemon with real processes behind a real listener."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.daemon import Daemon, a_daemon
from tests.support.ports import free_tcp_port
from tests.support.waiting import until

_MODEL = """\
clouds: {{local: {{process: {{}}}}}}
balancers: {{edge: {{shared_listener: {{listen: "127.0.0.1:{port}"}}}}}}
profiles: {{web: {{cloud: local, command: [sleep, "3600"]}}}}
groups: {{web: {{profile: web, min: 2, max: 3, interval: 0.5s, drain: 0s, grace: 1s}}}}
"""


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with a_daemon(_MODEL.format(port=free_tcp_port())) as daemon:
        daemon.start().settled(2, "web")
        yield daemon


def test_a_group_is_attached_and_detached_by_a_person_or_a_program(daemon: Daemon) -> None:
    assert daemon.trimtab("balancers", "web").out == "web has no balancer\n"
    result = daemon.trimtab("attach", "web", "edge", "--port", "80")
    assert result.out == "web: attached to edge; 2 members are to join it as soon as they are ready\n"
    until(lambda: daemon.json("converge", "web", "--dry-run")["steps"] == [])
    (behind,) = daemon.json("balancers", "web")
    assert (behind["balancer"], behind["port"], behind["members"], behind["leaving"]) == ("edge", 80, 2, 0)
    assert behind["by"] in daemon.trimtab("balancers", "web").out
    assert daemon.json("attach", "web", "edge", "--port", "80")["members"] == 0

    answer = daemon.ask("PUT", "/api/v1/groups/web/balancers/edge", {"port": 81}, bearer=daemon.token)
    assert (answer.status, "at port 80" in answer.json["error"]) == (409, True)
    assert daemon.ask("DELETE", "/api/v1/groups/web/balancers/edge").status == 401
    assert daemon.ask("PUT", "/api/v1/groups/web/balancers/edge", {"port": 0}, bearer=daemon.token).status == 422
    assert daemon.trimtab("attach", "web", "egde", "--port", "80").code == 1

    assert daemon.json("detach", "web", "edge") == {"group": "web", "balancer": "edge", "members": 2}
    until(lambda: daemon.json("balancers", "web") == [])
    assert daemon.trimtab("detach", "web", "edge").code == 1
    assert len(daemon.json("member", "list", "web")) == 2


_AWAY = """\
clouds: {local: {process: {}}}
balancers: {edge: {haproxy: {socket: /nowhere/haproxy.sock, backend: web}}}
profiles: {web: {cloud: local, command: [sleep, "3600"]}}
groups: {web: {profile: web, BEHINDmin: 1, max: 2, interval: 0.5s, drain: 0s, grace: 1s}}
"""


def test_a_balancer_that_does_not_answer_is_dropped_by_force_with_a_warning() -> None:
    with a_daemon(_AWAY.replace("BEHIND", "balancers: [{use: edge, port: 80}], ")) as daemon:
        daemon.start()
        until(lambda: len(daemon.json("member", "list", "web")) == 1)
        daemon.declare(_AWAY.replace("BEHIND", ""))
        assert daemon.trimtab("reload").code == 0
        refused = daemon.trimtab("detach", "web", "edge")
        assert (refused.code, "trimtab detach web edge --force" in refused.err) == (1, True)

        done = daemon.trimtab("detach", "web", "edge", "--force")
        assert (done.code, done.out) == (0, "web: dropped edge; its entries stay as they are (members: 1)\n")
        assert "warning: edge could not be asked" in done.err
        daemon.settled(1, "web")
