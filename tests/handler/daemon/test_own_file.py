"""Whether a machine's own file lets its worker take over: by what is in force, and by what the worker reaches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from config.load import read
from config.units import WorkerName
from handler.daemon.own_file import Acceptance, OwnFile
from handler.engine.file_digest import declaration_digest
from handler.leasing.lease import LeaseRow
from handler.leasing.workers import Looked

TEXT = "store: {url: 'postgresql://trimtab@db/trimtab'}\nclouds: {box: {process: {}, on: box1}}\n"
BARRED = "clouds.box is on box1, and this worker is box2"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "fleet.yaml"
    file.write_text(TEXT)
    return file


@pytest.fixture
def seen(file: Path) -> Callable[..., Looked]:
    in_force = declaration_digest(read(file))

    def looked(declaration: str = in_force, *, applied: int = 0) -> Looked:
        row = LeaseRow(epoch=4, process="", renewals=7, span=10.0)
        return Looked(
            row=row,
            worker="",
            left=0.0,
            declaration=declaration,
            applied=applied,
            sealing="a",
            schema="",
            workers=(),
            clock=0.0,
        )

    return looked


def own_file(file: Path, worker: str, *, accepted: bool = False) -> OwnFile:
    return OwnFile(
        file,
        WorkerName(worker),
        lambda revision, sealing: f"judged as {revision}{sealing}",
        Acceptance(pending=accepted),
    )


def test_only_a_worker_that_the_file_in_force_names_may_take_over(file: Path, seen) -> None:
    assert own_file(file, "box1").problem(seen()) == ""
    assert own_file(file, "box2").problem(seen()) == BARRED


def test_so_it_is_before_any_file_was_in_force_and_with_one_that_a_person_accepts(file: Path, seen) -> None:
    assert own_file(file, "box2").problem(seen("")) == BARRED
    assert own_file(file, "box2", accepted=True).problem(seen("another")) == BARRED


def test_a_file_that_is_not_in_force_bars_for_that_alone(file: Path, seen) -> None:
    assert "differs from the file in force" in own_file(file, "box2").problem(seen("another"))
    assert own_file(file, "box2").problem(seen(applied=3)) == "judged as 3a"


def test_a_worker_is_free_again_with_the_file_that_names_it(file: Path, seen) -> None:
    own = own_file(file, "box2")
    assert own.problem(seen("")) == BARRED
    file.write_text(TEXT.replace("on: box1", "on: [box2]"))
    assert own.problem(seen("")) == ""
