"""A file is applied only if every daemon over the store could go by it."""

from __future__ import annotations

import pytest

from config.checks.applying import refuse_unfit
from config.errors import DeclarationError
from config.load import parse
from config.model.access import SecretRef

CLOUD = "clouds: {one: {opennebula: {endpoint: 'http://one/RPC2', user: fleet, password: {env: PASSWORD}}}}\n"
PROCESSES = "clouds: {box: {process: {}}}\n"
SEAL = "seal: {key: {env: SEAL_KEY}}\n"
KEY = SecretRef(env="SEAL_KEY")


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
