"""The daemon's own file: what another text in its place keeps of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.errors import Refused
from handler.engine.file_text import FileText


def test_mode_link_and_byte_order_mark_stay(tmp_path: Path) -> None:
    file, link = tmp_path / "real.yaml", tmp_path / "model.yaml"
    file.write_bytes(b"\xef\xbb\xbfmax: 3\r\n")
    file.chmod(0o640)
    link.symlink_to(file)

    there = FileText.of(link)
    after = there.replaced(there.text.replace("3", "4"))

    assert there.text == "max: 3\r\n"
    assert file.read_bytes() == after.content == b"\xef\xbb\xbfmax: 4\r\n"
    assert file.stat().st_mode & 0o7777 == 0o640
    assert link.is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {"real.yaml", "model.yaml"}


def test_a_file_that_was_edited_meanwhile_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text("max: 3\n")
    there = FileText.of(file)
    file.write_text("max: 5\n")

    with pytest.raises(Refused, match="was edited at this very moment"):
        there.replaced("max: 4\n")
    assert file.read_text() == "max: 5\n"


def test_a_file_that_cannot_be_written_or_read_is_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"
    file.write_text("max: 3\n")
    there = FileText.of(file)
    (tmp_path / "model.yaml.draft").mkdir()  # where the draft would be

    with pytest.raises(Refused, match="cannot be written: Is a directory"):
        there.replaced("max: 4\n")
    assert file.read_text() == "max: 3\n"
    with pytest.raises(Refused, match="cannot be read"):
        FileText.of(tmp_path / "none.yaml")
