"""What several daemons, workers or all over one store, could not go by is refused, with its place."""

from __future__ import annotations

import pytest

from config.checks.workers import refuse_unfit, tied_to_machine
from config.errors import DeclarationError
from config.load import parse
from config.model.access import SecretRef

STORE = "store: {url: 'postgresql://trimtab@db/trimtab'}\n"
CLOUD = "clouds: {one: {opennebula: {endpoint: 'http://one/RPC2', user: fleet, password: {env: PASSWORD}}}}\n"
BALANCER = "balancers: {edge: {haproxy: {socket: '192.0.2.7:9999', backend: web}}}\n"
PROCESSES = "clouds: {box: {process: {}}}\n"
SEAL = "seal: {key: {env: SEAL_KEY}}\n"
KEY = SecretRef(env="SEAL_KEY")


def found(text: str) -> list[str]:
    return [f"{problem.line}: {problem.message}" for problem in tied_to_machine(parse(text, "model.yaml"))]


def test_what_every_machine_reaches_alike_is_accepted() -> None:
    assert found(STORE + CLOUD + BALANCER) == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (CLOUD, 1, "store: workers need a store that all of them reach"),
        (STORE + CLOUD + "writable: true\n", 3, "writable: each worker has its own copy of the file"),
        (STORE + PROCESSES, 2, "clouds.box: its members are processes of one machine"),
        (
            STORE + CLOUD + "balancers: {near: {shared_listener: {listen: '127.0.0.1:8080'}}}\n",
            3,
            "balancers.near: a shared listener belongs to one machine",
        ),
        (
            STORE + CLOUD + BALANCER.replace("socket: '192.0.2.7:9999'", "sockets: ['192.0.2.7:9999', /run/h.sock]"),
            3,
            "balancers.edge: /run/h.sock is a socket of each worker's own machine",
        ),
    ],
    ids=["store in a file", "a file that is written", "process cloud", "shared listener", "unix socket"],
)
def test_what_belongs_to_one_machine_is_refused(text: str, line: int, words: str) -> None:
    (problem,) = found(text)
    assert problem.startswith(f"{line}: {words}")


def problems(text: str, seal: SecretRef | None = None, *, of_workers: bool = True) -> list[str]:
    try:
        refuse_unfit(parse(text, "fleet.yaml"), seal, of_workers=of_workers)
    except DeclarationError as error:
        return [str(problem) for problem in error.problems]
    return []


def test_a_file_needs_no_store_and_may_have_the_seal_of_the_machines_own_file() -> None:
    assert problems(CLOUD) == []
    assert problems(CLOUD + SEAL, KEY) == []
    assert problems(PROCESSES, of_workers=False) == []


@pytest.mark.parametrize(
    ("text", "seal", "words"),
    [
        (CLOUD + "writable: true\n", None, "fleet.yaml:2: writable: an applied file is in the store"),
        (CLOUD + SEAL, None, "fleet.yaml:2: seal: each machine's own file says something else of the key"),
        (CLOUD, KEY, "-:1: seal: each machine's own file says something else of the key"),
        (PROCESSES, None, "fleet.yaml:1: clouds.box: its members are processes of one machine"),
    ],
    ids=["a file that is written", "another key", "no key", "members of one machine"],
)
def test_what_a_daemon_on_another_machine_could_not_go_by_is_refused(
    text: str, seal: SecretRef | None, words: str
) -> None:
    (problem,) = problems(text, seal)
    assert problem.startswith(words)
