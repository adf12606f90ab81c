"""What several daemons, workers or all over one store, could not go by is refused, with its place."""

from __future__ import annotations

import pytest

from config.checks.workers import bar_of, refuse_unfit, tied_to_machine
from config.errors import DeclarationError
from config.load import parse
from config.model.access import SecretRef
from config.units import WorkerName

STORE = "store: {url: 'postgresql://trimtab@db/trimtab'}\n"
CLOUD = "clouds: {one: {opennebula: {endpoint: 'http://one/RPC2', user: fleet, password: {env: PASSWORD}}}}\n"
BALANCER = "balancers: {edge: {haproxy: {socket: '192.0.2.7:9999', backend: web}}}\n"
PROCESSES = "clouds: {box: {process: {}}}\n"
SEAL = "seal: {key: {env: SEAL_KEY}}\n"
KEY = SecretRef(env="SEAL_KEY")


BOX1, BOX2 = WorkerName("box1"), WorkerName("box2")


def found(text: str, worker: WorkerName | None = None) -> list[str]:
    return [f"{problem.line}: {problem.message}" for problem in tied_to_machine(parse(text, "model.yaml"), worker)]


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
        (
            STORE + "clouds: {kvm: {libvirt: {hosts: {h1: 'qemu+tls://h1/system', h2: 'qemu:///system'}}}}\n",
            2,
            "clouds.kvm: qemu:///system is libvirt on each worker's own machine",
        ),
    ],
    ids=["store in a file", "a file that is written", "process cloud", "shared listener", "unix socket", "libvirt"],
)
def test_what_belongs_to_one_machine_is_refused(text: str, line: int, words: str) -> None:
    (problem,) = found(text)
    assert problem.startswith(f"{line}: {words}")


OF_BOX1 = (
    "clouds: {box: {process: {}, on: box1}}\n"
    "balancers:\n"
    "  near: {shared_listener: {listen: '127.0.0.1:8080'}, on: [box1]}\n"
    "  edge: {haproxy: {socket: /run/h.sock, backend: web}, on: box1}\n"
    "sources: {prom: {prometheus: {url: 'http://127.0.0.1:9090'}, on: [box1, box2]}}\n"
)


def test_what_belongs_to_one_machine_is_accepted_with_the_name_of_its_worker() -> None:
    assert found(STORE + OF_BOX1) == []
    assert found(STORE + OF_BOX1, BOX1) == []
    assert problems(OF_BOX1, worker=BOX1) == []


def test_a_worker_that_acts_does_not_take_a_file_with_entries_that_it_does_not_reach() -> None:
    places = ["clouds.box.on", "balancers.near.on", "balancers.edge.on"]
    for refused in (found(STORE + OF_BOX1, BOX2), problems(OF_BOX1, worker=BOX2)):
        assert [
            each.partition(": it is on box1, so worker box2 could not act")[0].split()[-1] for each in refused
        ] == places
    assert problems(OF_BOX1, worker=BOX2, of_workers=False) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CLOUD + BALANCER, ""),
        ("clouds: {lab: {simulated: {}, on: [box1, box2]}}", ""),
        ("clouds: {lab: {simulated: {}, on: box1}}", "clouds.lab is on box1, and this worker is box2"),
        (
            "balancers: {edge: {haproxy: {socket: 'h:1', backend: web}, on: [box1, box3]}}",
            "balancers.edge is on box1 or box3, and this worker is box2",
        ),
        (
            "clouds: {" + ", ".join(f"lab{number}: {{simulated: {{}}, on: box1}}" for number in range(5)) + "}",
            (
                "clouds.lab0 is on box1, clouds.lab1 is on box1, clouds.lab2 is on box1, 2 more are elsewhere, too, "
                "and this worker is box2"
            ),
        ),
    ],
    ids=["no entry is limited", "it is named", "another is named", "others are named", "many entries"],
)
def test_a_worker_is_barred_by_the_entries_that_only_others_reach(text: str, words: str) -> None:
    assert bar_of(parse(text, "model.yaml"), BOX2) == words


@pytest.mark.parametrize(
    ("clouds", "words"),
    [
        (
            {"one": "box1", "two": "[box2, box3]"},
            "clouds.two.on: no worker could ever act: this is on box2 or box3, and clouds.one on box1 (fleet.yaml:2)",
        ),
        (
            {"one": "[a, b]", "two": "[b, c]", "three": "[c, a]"},
            (
                "clouds.three.on: no worker could ever act: this is on c or a, and clouds.one on a or b "
                "(fleet.yaml:2), clouds.two on b or c (fleet.yaml:3)"
            ),
        ),
        (
            {"one": "[a, b, c]", "two": "[a, b]", "three": "c"},
            "clouds.three.on: no worker could ever act: this is on c, and clouds.two on a or b (fleet.yaml:3)",
        ),
    ],
    ids=["two apart", "no two apart", "the nearest that is apart"],
)
def test_a_file_by_which_no_worker_could_act_is_refused_with_all_places(clouds: dict[str, str], words: str) -> None:
    lines = [f"  {name}: {{simulated: {{}}, on: {names}}}\n" for name, names in clouds.items()]
    with pytest.raises(DeclarationError) as caught:
        parse("clouds:\n" + "".join(lines), "fleet.yaml")
    (problem,) = caught.value.problems
    assert (problem.line, problem.message.startswith(words)) == (len(clouds) + 1, True)


def problems(
    text: str, seal: SecretRef | None = None, *, of_workers: bool = True, worker: WorkerName | None = None
) -> list[str]:
    try:
        refuse_unfit(parse(text, "fleet.yaml"), seal, of_workers=of_workers, worker=worker)
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
        (CLOUD, KEY, "fleet.yaml:1: seal: each machine's own file says something else of the key"),
        (PROCESSES, None, "fleet.yaml:1: clouds.box: its members are processes of one machine"),
    ],
    ids=["a file that is written", "another key", "no key", "members of one machine"],
)
def test_what_a_daemon_on_another_machine_could_not_go_by_is_refused(
    text: str, seal: SecretRef | None, words: str
) -> None:
    (problem,) = problems(text, seal)
    assert problem.startswith(words)
