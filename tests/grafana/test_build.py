from __future__ import annotations

from pathlib import Path

import pytest

from grafana.build.__main__ import FOLDER, main, stale, texts


def test_the_committed_dashboards_are_what_the_code_says() -> None:
    assert stale(texts()) == []


def test_every_file_in_the_folder_has_code_behind_it() -> None:
    assert sorted(FOLDER.glob("*")) == sorted(texts())


def test_a_changed_and_a_missing_file_are_stale(tmp_path: Path) -> None:
    changed, missing = tmp_path / "changed.json", tmp_path / "missing.json"
    changed.write_text("{}\n")

    assert stale({changed: '{"uid": "x"}\n', missing: "{}\n"}) == [changed, missing]


def test_a_check_of_what_is_fresh_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().err == ""


def test_building_twice_gives_the_same_bytes() -> None:
    assert texts() == texts()
