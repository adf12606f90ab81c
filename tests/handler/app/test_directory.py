from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from config.errors import Refused
from handler.app.directory import StateDirectory


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_second_daemon_on_one_state_directory_is_told_who_holds_it(tmp_path: Path) -> None:
    first, second = StateDirectory(tmp_path / "state"), StateDirectory(tmp_path / "state")
    first.hold()
    with pytest.raises(Refused, match=f"held by process {os.getpid()}"):
        second.hold()
    first.release()
    second.hold()
    second.release()


def test_only_the_owner_can_enter_the_directory_even_if_it_was_there_before(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    directory = StateDirectory(tmp_path / "state")
    directory.hold()
    directory.installation()
    directory.token()
    assert _mode(directory.path) == 0o700
    assert {_mode(directory.path / name) for name in ("installation", "token", "lock")} == {0o600}
    directory.release()


def test_a_directory_that_cannot_be_made_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="--state"):
        StateDirectory(tmp_path / "file" / "state").hold()


def test_the_installation_id_is_minted_once_and_outlives_the_store(tmp_path: Path) -> None:
    directory = StateDirectory(tmp_path)
    minted = directory.installation()
    assert len(minted) == 6
    assert StateDirectory(tmp_path).installation() == minted


def test_two_installations_get_different_ids(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert StateDirectory(tmp_path / "a").installation() != StateDirectory(tmp_path / "b").installation()


@pytest.mark.parametrize("damage", ["", "short", "UPPER1", "way too long for this", "../../"])
def test_a_damaged_installation_id_is_refused_not_replaced(tmp_path: Path, damage: str) -> None:
    (tmp_path / "installation").write_text(damage)
    with pytest.raises(Refused, match="restore it"):
        StateDirectory(tmp_path).installation()
    assert (tmp_path / "installation").read_text() == damage
