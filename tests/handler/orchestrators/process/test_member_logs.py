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
