from __future__ import annotations

import io
import json
import logging

import pytest

from handler.app import logs


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def test_a_line_carries_its_event_and_its_fields(stream: io.StringIO) -> None:
    logs.configure(stream=stream)
    logs.say("desired", group="web", size_to=4, by=None)
    line = stream.getvalue()
    assert line.endswith("level=INFO event=desired group=web size_to=4\n")
    assert line.startswith("time=20")


@pytest.mark.parametrize(
    "text", ["a\nevent=forged", "a\r\nb", 'say "hello"', "tab\there", "", "back\\slash", "\u2028", "\x1b[2J"]
)
def test_no_value_can_begin_a_second_line_or_reach_the_terminal(stream: io.StringIO, text: str) -> None:
    logs.configure(stream=stream)
    logs.say("trouble", message=text)
    assert len(stream.getvalue().splitlines()) == 1
    assert stream.getvalue().removesuffix("\n").isprintable()


def test_json_lines_carry_the_same_fields(stream: io.StringIO) -> None:
    logs.configure(stream=stream, json=True)
    logs.warn("trouble_began", group="web", message='two\nlines and a "quote"')
    told = json.loads(stream.getvalue())
    assert (told["level"], told["event"], told["group"]) == ("WARNING", "trouble_began", "web")
    assert told["message"] == 'two\nlines and a "quote"'


def test_what_we_say_is_told_once_though_it_also_reaches_the_logger_of_others(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.configure(stream=stream)
    monkeypatch.setattr(logging.getLogger("trimtab"), "propagate", True)

    logs.warn("trouble_began", group="web")

    assert len(stream.getvalue().splitlines()) == 1
