from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from gufo.snmp.aio import SnmpSession

from config.model.balancers import SharedListener
from config.units import BalancerId, GroupId
from handler.balancers.shared_listener.driver import SharedListenerBalancer
from handler.demo.load import LoadTally, drive
from handler.orchestrators.process import procfs
from handler.planning.world import Server
from tests.support.demo import ROOT, get, listening, member_recipe
from tests.support.orchestrators import ProcessStage, pid_of, process_stage
from tests.support.waiting import PATIENT, until

BUSY, REQUESTS, CPU = (f"1.3.6.1.4.1.8072.9999.9999.1.{number}.0" for number in (1, 2, 3))
UP_TIME, DESCRIPTION = "1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.1.1.0"
HTTP, SNMP, HEALTH = 8080, 1161, 8081


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessStage]:
    with process_stage(tmp_path_factory.mktemp("m")) as stage:  # short: unix sockets have short paths
        yield stage


def snmp_values(server: Server, community: str = "public") -> dict[str, object]:
    async def ask() -> dict[str, object]:
        async with SnmpSession(str(server.address), port=SNMP, community=community, timeout=PATIENT) as agent:
            return dict(await agent.get_many([BUSY, REQUESTS, CPU, UP_TIME, DESCRIPTION]))

    return asyncio.run(ask())


def ready(server: Server) -> bool:
    return get(server.address, HEALTH, "/healthz") == (200, "ok\n")


def gone(server: Server) -> bool:
    return procfs.look(pid_of(server)) is None


def test_members_serve_answer_snmp_and_go(stage: ProcessStage) -> None:
    box = stage.driver()
    recipe = member_recipe("--slots", "2", "--service-time", "20ms", "--listen", str(HTTP), SNMP_COMMUNITY="hush")
    servers = [box.create(stage.launch(sequence, recipe=recipe)) for sequence in (1, 2)]
    until(lambda: all(ready(server) for server in servers))

    assert [get(server.address, HTTP) for server in servers for _ in range(3)] == [(200, "done\n")] * 6
    assert get(servers[0].address, HTTP, "/healthz") == (200, "ok\n")
    assert get(servers[0].address, HTTP, "/nowhere")[0] == 404
    for server in servers:
        values = snmp_values(server, community="hush")
        assert values[REQUESTS] == 3
        assert 0 <= int(str(values[BUSY])) <= 100
        assert 0 <= int(str(values[CPU])) <= 200
        assert int(str(values[UP_TIME])) > 0
        assert server.name in str(values[DESCRIPTION])

    for server in servers:
        box.destroy(server.name, grace=10.0)
    until(lambda: not box.list(GroupId("web")).servers)
    assert [stage.log(stage.launch(sequence)).read_text() for sequence in (1, 2)] == ["", ""]


def test_a_member_that_stops_finishes_its_requests(stage: ProcessStage) -> None:
    box = stage.driver()
    recipe = member_recipe("--slots", "1", "--service-time", "300ms", "--listen", str(HTTP))
    server = box.create(stage.launch(recipe=recipe))
    until(lambda: ready(server))

    with ThreadPoolExecutor(max_workers=3) as pool:
        answers = [pool.submit(get, server.address, HTTP) for _ in range(3)]
        until(lambda: snmp_values(server)[BUSY] != 0)
        os.kill(pid_of(server), signal.SIGTERM)

    assert [answer.result() for answer in answers] == [(200, "done\n")] * 3
    until(lambda: box.find(server.name) is None)
    assert get(server.address, HTTP) == (0, "")


def test_busy_slots_show(stage: ProcessStage) -> None:
    box = stage.driver()
    recipe = member_recipe("--slots", "1", "--service-time", "30s", "--listen", str(HTTP))
    server = box.create(stage.launch(recipe=recipe))
    until(lambda: ready(server))
    assert snmp_values(server)[BUSY] == 0

    with ThreadPoolExecutor(max_workers=1) as pool:
        pool.submit(get, server.address, HTTP)
        until(lambda: int(str(snmp_values(server)[BUSY])) >= 50)
        stage.kill(server)


def test_a_port_that_is_taken_ends_a_member_with_one_line() -> None:
    number = os.getpid()  # an address of our own: the member's other ports are not free to choose
    taken, (address, port) = listening(f"127.63.{number // 250 % 250}.{number % 250 + 1}")
    with taken:
        ended = subprocess.run(
            [*member_recipe("--listen", str(port)).command],
            env={"TRIMTAB_ADDRESS": address, "PATH": os.environ["PATH"]},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=PATIENT,
            check=False,
        )

    assert ended.returncode == 1
    assert ended.stderr.startswith("member: ")
    assert "in use" in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_shared_listener_loses_no_request_while_members_come_and_go(stage: ProcessStage) -> None:
    box, directory = stage.driver(), stage.directory / stage.here / "listeners"
    directory.mkdir(parents=True)
    free, (address, port) = listening()
    free.close()
    edge = SharedListenerBalancer(SharedListener(id=BalancerId("edge"), address=address, port=port), directory)
    recipe = member_recipe("--slots", "4", "--service-time", "10ms", "--listener", "edge")
    try:
        edge.registrations()
        servers = [box.create(stage.launch(sequence, recipe=recipe)) for sequence in (1, 2)]
        until(lambda: all(ready(server) for server in servers))
        for server in servers:
            edge.join(server.name, str(server.address), port)
            edge.enable(server.name)

        tally = asyncio.run(_with_one_leaving((address, port), edge, servers))

        assert tally.failures == {}
        assert tally.ok == tally.sent > 100
        stays, left = (int(str(snmp_values(server)[REQUESTS])) for server in servers)
        assert stays + left == tally.ok
        assert 0 < left < stays
    finally:
        _stop_holder(directory)


async def _with_one_leaving(target: tuple[str, int], edge: SharedListenerBalancer, servers: list[Server]) -> LoadTally:
    tally = LoadTally()
    driving = asyncio.create_task(drive(target, lambda _: 150.0, 2.0, tally))
    await asyncio.sleep(0.7)
    await asyncio.to_thread(edge.drain, servers[1].name)
    await driving
    return tally


def _stop_holder(directory: Path) -> None:
    """The holder outlives all members, as it should: end the one that keeps its control socket here."""
    for pid in procfs.pids():
        process = procfs.look(pid)
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if process is not None and os.fsencode(directory / "edge.sock") in words:
            procfs.send(process, signal.SIGTERM)
