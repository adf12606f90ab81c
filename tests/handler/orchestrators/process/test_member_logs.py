from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from config.errors import Permanent
from config.units import MemberName
from handler.orchestrators.process.member_logs import MemberLogs

ONE = MemberName("web-k3f9ab-1")


@pytest.fixture
def logs(tmp_path: Path) -> MemberLogs:
    return MemberLogs(tmp_path / "logs", largest=100)


def test_a_log_that_grows_too_large_begins_anew_under_the_program_that_writes_it(logs: MemberLogs) -> None:
    output = logs.open(ONE)
    try:
        os.write(output, b"a" * 101)
        logs.trim([ONE])
        os.write(output, b"b")
    finally:
        os.close(output)

    before = logs.of(ONE).with_name(f"{ONE}.log.1")
    assert (logs.of(ONE).read_bytes(), before.read_bytes()) == (b"b", b"a" * 101)
    assert stat.S_IMODE(before.stat().st_mode) == 0o600


def test_a_log_that_is_not_too_large_is_left_alone(logs: MemberLogs) -> None:
    os.close(logs.open(ONE))
    logs.of(ONE).write_bytes(b"a" * 100)

    logs.trim([ONE, MemberName("web-k3f9ab-2")])

    assert logs.of(ONE).read_bytes() == b"a" * 100


def test_where_nothing_can_be_copied_the_log_is_bounded_all_the_same(logs: MemberLogs) -> None:
    os.close(logs.open(ONE))
    logs.of(ONE).write_bytes(b"a" * 101)
    logs.of(ONE).with_name(f"{ONE}.log.1").symlink_to("/dev/full")  # as on a disk without room

    logs.trim([ONE])

    assert logs.of(ONE).read_bytes() == b""


def test_what_went_before_goes_with_its_log(logs: MemberLogs) -> None:
    os.close(logs.open(ONE))
    before = logs.of(ONE).with_name(f"{ONE}.log.1")
    before.touch()
    os.utime(logs.of(ONE), (0, 0))
    for number in range(2, 102):
        logs.of(MemberName(f"web-k3f9ab-{number}")).touch()

    logs.tidy([])

    assert not logs.of(ONE).exists()
    assert not before.exists()
    assert logs.of(MemberName("web-k3f9ab-2")).exists()


def test_a_log_that_may_not_be_written_says_so(logs: MemberLogs) -> None:
    os.close(logs.open(ONE))
    logs.of(ONE).unlink()
    logs.of(ONE).mkdir()

    with pytest.raises(Permanent, match=r"cannot write the log .*: Is a directory; make it writable"):
        logs.open(ONE)


def test_the_end_of_a_log_has_what_was_written_before_it_began_anew(logs: MemberLogs) -> None:
    os.close(logs.open(ONE))
    logs.of(ONE).with_name(f"{ONE}.log.1").write_bytes(b"before ")
    logs.of(ONE).write_bytes(b"after")

    assert logs.end_of(ONE, 100) == b"before after"
    assert logs.end_of(ONE, 8) == b"re after"
    assert logs.end_of(ONE, 3) == b"ter"
    assert logs.end_of(MemberName("web-k3f9ab-2"), 3) is None


def test_a_log_that_is_a_link_to_another_file_is_not_read(logs: MemberLogs, tmp_path: Path) -> None:
    os.close(logs.open(ONE))
    (tmp_path / "secret").write_text("secret")
    logs.of(ONE).unlink()
    logs.of(ONE).symlink_to(tmp_path / "secret")

    with pytest.raises(Permanent, match=r"cannot read the log .*: Too many levels of symbolic links"):
        logs.end_of(ONE, 100)
