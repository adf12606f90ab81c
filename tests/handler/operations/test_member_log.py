"""The end of a member's output, harmless and bounded."""

from __future__ import annotations

import pytest

from config.units import GroupId, MemberName
from handler.operations.member_log import MemberLog, harmless, log_of
from handler.ports.orchestrator import LOG_BYTES


def log(output: bytes, lines: int = 100) -> MemberLog:
    return log_of(GroupId("web"), MemberName("web-1"), output, lines)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[1;31mred\x1b[m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r\x1b\\after", "after"),
        ("\x1b]0;never ended", ""),
        ("\x1b(Bplain\x1b7", "plain"),
        ("a\x1b", "a\\x1b"),
        ("one\rtwo\r\nthree", "one\\rtwo\nthree"),
        ("\x9b2J\x00\x08", "\\x9b2J\\x00\\x08"),
        ("user\u202egpj.exe\u2028", "user\\u202egpj.exe\\u2028"),
        ("a\tb", "a       b"),
        ("Grüße, 世界", "Grüße, 世界"),
    ],
)
def test_nothing_in_a_log_steers_a_terminal_or_turns_text_around(written: str, shown: str) -> None:
    assert harmless(written) == shown


def test_the_last_lines_are_shown_and_whether_there_may_be_more() -> None:
    assert log(b"") == log_of(GroupId("web"), MemberName("web-1"), b"", 9)
    assert (log(b"").text, log(b"").lines, log(b"").is_whole) == ("", 0, True)
    assert (log(b"a\nb\n").text, log(b"a\nb\n").lines, log(b"a\nb\n").is_whole) == ("a\nb", 2, True)
    assert (log(b"a\nb\n\n", 2).text, log(b"a\nb\n\n", 2).is_whole) == ("b\n", False)


def test_what_is_no_text_is_shown_as_such() -> None:
    assert log(b"\xff\xfeok").text == "\ufffd\ufffdok"


def test_a_log_is_cut_at_its_end_where_a_line_begins() -> None:
    found = log(b"x" * 10 + b"\n" + b"line\n" * (LOG_BYTES // 5), 1_000_000)

    assert set(found.text.split("\n")) == {"line"}
    assert not found.is_whole


def test_controls_that_are_spelt_out_do_not_make_a_log_longer_than_it_may_be() -> None:
    found = log(b"\x00" * (LOG_BYTES - 1))

    assert len(found.text) == LOG_BYTES
    assert not found.is_whole
