"""A file that was applied for all comes to this machine before it is needed, or the reason why it cannot is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from config.errors import Refused
from config.load import parse
from config.units import WorkerName
from handler.daemon.applied_here import AppliedProblems, brought_here, own_seal
from handler.engine.applied_text import resealed, sealed_for
from handler.ports.declarations import AppliedFile
from handler.runtime.directory import StateDirectory
from handler.runtime.ownership import write_private
from handler.sealing.boxes import mint
from tests.support.store import at

OWN = parse("store: {url: 'postgresql://trimtab@db/trimtab'}\n", "own.yaml")
BOX2 = WorkerName("box2")
TEXT = "clouds: {one: {opennebula: {endpoint: 'http://one/RPC2', user: fleet, password: {env: PASSWORD}}}}\n"


@dataclass
class Applied:
    """The part of a store that has the file."""

    file: AppliedFile | None
    reads: int = 0

    def applied_file(self) -> AppliedFile | None:
        self.reads += 1
        return self.file

    def last_applied(self) -> int:
        return 1

    def save_applied_file(self, applied: AppliedFile) -> None:
        self.file = applied

    def withdraw_applied_file(self) -> None:
        self.file = None


@pytest.fixture
def directory(tmp_path: Path) -> StateDirectory:
    directory = StateDirectory(tmp_path)
    own_seal(OWN, directory).prepare(holds_secrets=False)
    return directory


@pytest.fixture
def apply(directory: StateDirectory) -> Callable[[str], Applied]:
    def applied(text: str) -> Applied:
        sealed = sealed_for(own_seal(OWN, directory), 1, text)
        return Applied(AppliedFile(revision=1, at=at(1), by="ada", source="fleet.yaml", sealed=sealed))

    return applied


def test_its_text_is_in_a_private_copy_before_an_engine_starts(directory: StateDirectory, apply) -> None:
    store = apply(TEXT)
    assert brought_here(store, OWN, directory, accepts_own=False) is store.file
    assert (directory.applied.read_text(), directory.applied.stat().st_mode & 0o777) == (TEXT, 0o600)


def test_a_person_who_accepts_the_machines_own_file_ends_it_for_all(directory: StateDirectory, apply) -> None:
    store = apply(TEXT)
    assert brought_here(store, OWN, directory, accepts_own=True) is None
    assert (store.file, directory.applied.exists()) == (None, False)


def test_without_the_key_it_is_refused_with_what_to_do(directory: StateDirectory, apply) -> None:
    store = apply(TEXT)
    directory.seal_key.unlink()
    with pytest.raises(Refused, match=r"revision 1 .* does not hold: copy that file .* restart with --accept-file"):
        brought_here(store, OWN, directory, accepts_own=False)


def problem(problems: AppliedProblems, store: Applied) -> str:
    """What a standby finds when it looks at the lease."""
    assert store.file is not None
    return problems.problem(store.file.revision, store.file.sealing)


def test_a_standby_looks_at_a_revision_until_it_is_in_order_and_then_no_more(directory: StateDirectory, apply) -> None:
    store = apply(TEXT)
    key = directory.seal_key.read_text()
    directory.seal_key.unlink()
    problems = AppliedProblems(store.applied_file, OWN, directory, BOX2)
    assert "is sealed under a key that" in problem(problems, store)
    write_key(directory, key)
    assert (problem(problems, store), problem(problems, store), store.reads) == ("", "", 2)
    store.file = replace(store.file, revision=2)
    assert "was altered, or moved there from another row" in problem(problems, store)


def write_key(directory: StateDirectory, key: str) -> None:
    write_private(directory.seal_key, key)


def test_a_standby_is_barred_from_when_the_key_is_rotated_until_it_is_copied_there(
    directory: StateDirectory, apply, tmp_path: Path
) -> None:
    store, holder = apply(TEXT), StateDirectory(tmp_path / "holder")
    holder.path.mkdir(mode=0o700)
    write_key(holder, directory.seal_key.read_text())
    problems = AppliedProblems(store.applied_file, OWN, directory, BOX2)
    assert problem(problems, store) == ""

    seal = own_seal(OWN, holder)
    seal.renew()
    store.file = resealed(store.file, seal)
    seal.retire()
    assert "is sealed under a key that" in problem(problems, store)
    write_key(directory, holder.seal_key.read_text())
    assert problem(problems, store) == ""


@pytest.mark.parametrize("section", ["", "seal: {{key: {{file: {key}}}}}\n"], ids=["its own key", "a key of a file"])
def test_a_standby_whose_key_is_replaced_or_lost_is_barred(directory: StateDirectory, apply, section: str) -> None:
    key, own_section = directory.seal_key.read_text(), section.format(key=directory.seal_key)
    store, own = (
        apply(own_section + TEXT),
        parse(f"store: {{url: 'postgresql://db/trimtab'}}\n{own_section}", "own.yaml"),
    )
    problems = AppliedProblems(store.applied_file, own, directory, BOX2)
    assert problem(problems, store) == ""
    write_key(directory, f"{mint()}\n")
    assert "is sealed under a key that" in problem(problems, store)
    write_key(directory, key)
    assert problem(problems, store) == ""
    directory.seal_key.unlink()
    assert "is sealed under a key that" in problem(problems, store)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("clouds: {one: {next_generation: {}}}\n", "revision 1:1: "),
        ("clouds: {box: {process: {}}}\n", "revision 1:1: clouds.box: its members are processes of one machine"),
    ],
    ids=["of a newer release", "of one machine"],
)
def test_a_standby_that_could_not_go_by_the_text_says_where(
    directory: StateDirectory, apply, text: str, words: str
) -> None:
    store = apply(text)
    found = problem(AppliedProblems(store.applied_file, OWN, directory, BOX2), store)
    assert found.startswith(f"it cannot go on with the file that was applied: {words}")


def test_a_standby_that_does_not_reach_all_of_a_text_reads_it_once_and_says_why(
    directory: StateDirectory, apply
) -> None:
    store = apply("clouds: {box: {process: {}, on: box1}}\n")
    problems = AppliedProblems(store.applied_file, OWN, directory, BOX2)
    assert {problem(problems, store), problem(problems, store)} == {"clouds.box is on box1, and this worker is box2"}
    assert store.reads == 1
    assert problem(AppliedProblems(store.applied_file, OWN, directory, WorkerName("box1")), store) == ""
