from __future__ import annotations

import asyncio
import io
import json
import logging

import pytest
import uvloop

from handler import logs
from handler.cli.terminal import print_json
from handler.daemon.shards import ShardLoop


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
    fields = json.loads(stream.getvalue())
    assert (fields["level"], fields["event"], fields["group"]) == ("WARNING", "trouble_began", "web")
    assert fields["message"] == 'two\nlines and a "quote"'


def test_what_we_say_is_reported_once_though_it_also_reaches_the_logger_of_others(
    stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs.configure(stream=stream)
    monkeypatch.setattr(logging.getLogger("trimtab"), "propagate", True)

    logs.warn("trouble_began", group="web")

    assert len(stream.getvalue().splitlines()) == 1


ODD = {
    "C0": "\x07",
    "escape": "\x1b[2J",
    "C1, which some terminals obey": "\x9b2J",
    "next line": "\x85",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "right to left override": "\u202egnp.exe",
    "isolate": "\u2066x\u2069",
    "arabic letter mark": "\u061c",
    "zero width": "\u200b",
    "lone surrogate": "\udc9b",
    "beyond 16 bits": "\U000e0001",
}


@pytest.mark.parametrize("json_lines", [True, False], ids=["json", "text"])
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_nothing_that_steers_a_terminal_or_turns_text_round_reaches_a_line(
    stream: io.StringIO, odd: str, json_lines: bool
) -> None:
    logs.configure(stream=stream, json=json_lines)
    logs.warn("trouble_began", group="web", said=f"before {odd} Zoë 東京")
    line = stream.getvalue().removesuffix("\n")

    assert line.isprintable()
    assert "Zoë 東京" in line
    if json_lines:
        assert json.loads(line)["said"] == f"before {odd} Zoë 東京"


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_json_for_a_terminal_means_the_same_and_shows_nothing_odd(odd: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": odd})
    shown = capsys.readouterr().out.removesuffix("\n")

    assert shown.isprintable()
    assert json.loads(shown) == {"name": odd}


def test_lines_of_tasks_and_threads_bear_what_they_are_about(stream: io.StringIO) -> None:
    logs.configure(stream=stream)

    async def told(shard: str) -> None:
        with logs.about(shard=shard):
            await asyncio.gather(asyncio.to_thread(logs.say, "in_thread"), asyncio.sleep(0))
            await asyncio.get_running_loop().run_in_executor(None, logs.say, "in_executor")

    async def both() -> None:
        await asyncio.gather(told("north"), told("south"))
        logs.say("outside")

    uvloop.run(both(), loop_factory=ShardLoop)
    events = sorted(line.split(" level=INFO ")[1] for line in stream.getvalue().splitlines())
    assert events == [
        "event=in_executor shard=north",
        "event=in_executor shard=south",
        "event=in_thread shard=north",
        "event=in_thread shard=south",
        "event=outside",
    ]
