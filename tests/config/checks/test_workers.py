"""What workers on several machines could not go on with is refused, with its place."""

from __future__ import annotations

import pytest

from config.checks.workers import tied_to_machine
from config.load import parse

STORE = "store: {url: 'postgresql://trimtab@db/trimtab'}\n"
CLOUD = "clouds: {one: {opennebula: {endpoint: 'http://one/RPC2', user: fleet, password: {env: PASSWORD}}}}\n"
BALANCER = "balancers: {edge: {haproxy: {socket: '192.0.2.7:9999', backend: web}}}\n"


def found(text: str) -> list[str]:
    return [f"{problem.line}: {problem.message}" for problem in tied_to_machine(parse(text, "model.yaml"))]


def test_what_every_machine_reaches_alike_is_accepted() -> None:
    assert found(STORE + CLOUD + BALANCER) == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (CLOUD, 1, "store: workers need a store that all of them reach"),
        (STORE + CLOUD + "writable: true\n", 3, "writable: each worker has its own copy of the file"),
        (STORE + "clouds: {box: {process: {}}}\n", 2, "clouds.box: its members are processes of one machine"),
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
