from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from config.errors import Refused
from handler.runtime.directory import StateDirectory
from handler.runtime.ownership import write_private


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_second_daemon_on_one_state_directory_reports_the_holder(tmp_path: Path) -> None:
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


def test_a_directory_that_others_use_is_refused_and_stays_open(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "minutes.txt").write_text("")
    shared.chmod(0o1777)

    with pytest.raises(Refused, match=r"is not a state directory: .* such as minutes.txt; name an empty one"):
        StateDirectory(shared).hold()

    assert (stat.S_IMODE(shared.stat().st_mode), [each.name for each in shared.iterdir()]) == (0o1777, ["minutes.txt"])


@pytest.mark.parametrize("name", ["installation", "lock", "trimtab.sqlite", "token", "lost+found"])
def test_an_open_directory_with_a_file_of_its_own_or_of_its_volume_is_closed(tmp_path: Path, name: str) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    (tmp_path / "state" / name).touch(mode=0o600)

    assert _mode(held(tmp_path / "state").path) == 0o700


def test_a_directory_that_is_refused_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    (tmp_path / "state" / "installation").touch(mode=0o600)
    (tmp_path / "state" / "installation").chmod(0o666)

    with pytest.raises(Refused, match="has mode 0666"):
        StateDirectory(tmp_path / "state").hold()

    assert _mode(tmp_path / "state") == 0o755


def test_a_directory_that_cannot_be_made_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="--state"):
        StateDirectory(tmp_path / "file" / "state").hold()


def held(path: Path) -> StateDirectory:
    directory = StateDirectory(path)
    directory.hold()
    directory.release()
    return directory


@pytest.mark.parametrize("content", ["", "\n", "   \n", "short\n", "two words of a long token\n", "k" * 15, "é" * 20])
def test_a_token_file_without_a_token_is_refused_with_what_to_do(tmp_path: Path, content: str) -> None:
    (tmp_path / "token").write_text(content)
    with pytest.raises(Refused, match=f"expected one word of 16 .*; rm {tmp_path}/token, and the next start"):
        StateDirectory(tmp_path).token()
    assert (tmp_path / "token").read_text() == content


def test_a_token_is_minted_once_and_one_that_a_person_wrote_is_kept(tmp_path: Path) -> None:
    minted = StateDirectory(tmp_path).token()
    assert len(minted) == 43
    assert StateDirectory(tmp_path).token() == minted
    (tmp_path / "token").write_text("a-token-of-my-own-making\n")
    assert StateDirectory(tmp_path).token() == "a-token-of-my-own-making"


def test_a_token_file_that_is_a_link_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("k" * 43)
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match=r"token cannot be read.*; rm "):
        StateDirectory(tmp_path).token()
    (tmp_path / "token").unlink()
    (tmp_path / "token").write_bytes(b"\xff" * 43)
    with pytest.raises(Refused, match=r"token is not text; rm "):
        StateDirectory(tmp_path).token()


@pytest.mark.parametrize("mode", [0o666, 0o644, 0o640, 0o602])
@pytest.mark.parametrize("name", ["token", "member-keys"])
def test_a_secret_that_others_can_read_or_change_is_refused_with_the_command(
    tmp_path: Path, name: str, mode: int
) -> None:
    held(tmp_path / "state")
    file = tmp_path / "state" / name
    file.write_text("k" * 43)
    file.chmod(mode)
    with pytest.raises(Refused, match=rf"{file} has mode {mode:04o}, expected 0600: .*chmod 600 {file}"):
        StateDirectory(tmp_path / "state").hold()
    file.chmod(0o600)
    held(tmp_path / "state")


@pytest.mark.parametrize("name", ["installation", "trimtab.sqlite", "trimtab.sqlite-wal", "lock"])
def test_a_file_that_decides_about_members_is_refused_if_others_can_change_it(tmp_path: Path, name: str) -> None:
    held(tmp_path)
    (tmp_path / name).touch()
    (tmp_path / name).chmod(0o644)
    held(tmp_path)
    (tmp_path / name).chmod(0o664)
    with pytest.raises(Refused, match=rf"{name} has mode 0664, .*: chmod 600 "):
        StateDirectory(tmp_path).hold()


def test_a_state_directory_that_is_a_link_is_refused_with_the_directory_to_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(Refused, match=f"symbolic link to {tmp_path}/real.*--state {tmp_path}/real"):
        StateDirectory(tmp_path / "link").hold()
    assert not list((tmp_path / "real").iterdir())


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("abc234")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "installation").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Refused, match="no regular file"):
        StateDirectory(tmp_path / "state").hold()


@pytest.mark.parametrize("around", ["", "deeper"])
def test_a_directory_that_every_account_can_replace_is_refused_unless_the_sticky_bit_forbids_it(
    tmp_path: Path, around: str
) -> None:
    (tmp_path / "open" / around).mkdir(parents=True)
    (tmp_path / "open").chmod(0o777)
    state = tmp_path / "open" / around / "state"
    with pytest.raises(Refused, match=f"{tmp_path}/open has mode 0777.*: chmod o-w {tmp_path}/open, or"):
        StateDirectory(state).hold()
    (tmp_path / "open").chmod(0o1777)
    held(state)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another account")
def test_what_belongs_to_another_account_is_refused_with_both_names(tmp_path: Path) -> None:
    state = tmp_path / "state"
    held(state)
    os.chown(state, 54321, -1)
    with pytest.raises(Refused, match=r"belongs to 54321, expected root.*chown -R root .*--state"):
        StateDirectory(state).hold()
    assert state.stat().st_uid == 54321
    os.chown(state, 0, -1)
    (state / "trimtab.sqlite").touch(mode=0o600)
    os.chown(state / "trimtab.sqlite", 54321, -1)
    with pytest.raises(Refused, match=r"trimtab.sqlite belongs to 54321, expected root: chown root "):
        StateDirectory(state).hold()


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


def test_a_small_file_is_written_whole_though_the_system_takes_a_part_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, write = tmp_path / "applied.yaml", os.write

    def in_part(file: int, data: bytes) -> int:
        return write(file, data[:10])

    monkeypatch.setattr(os, "write", in_part)
    write_private(path, "more than ten characters")
    assert path.read_text() == "more than ten characters"
