"""The demo's output: a live table on a terminal, else a line for each event."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from handler.cli.tables import groups_table, members_table
from trigger.explain.time_words import say_moment

_BARS = "▁▂▃▄▅▆▇█"
_KEPT = 60
_HISTORY = 3
"""Rows: a blank one and two decisions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoView:
    """The state of the demo at one moment."""

    at: float
    group: dict[str, Any]
    """The API's object of the group."""
    words: Sequence[str]
    """The last decision, explained."""
    brief: str
    """The same in one line."""
    events: Sequence[dict[str, Any]]
    """Newest first."""
    rate: float
    """Requests sent per second."""
    sent: int
    failed: int
    p95: float | None
    """Seconds."""


class Screen(Protocol):
    """Shows frames."""

    def show(self, frame: DemoView) -> None:
        """Show one frame."""
        ...

    def say(self, text: str) -> None:
        """Print one line that stays."""
        ...

    def close(self) -> None:
        """Restore the terminal."""
        ...


def screen_for(*, as_json: bool, lost: Callable[[], None]) -> Screen:
    """Return a live table on a terminal, else lines. It calls ``lost`` when the output cannot be written any more."""
    console = Console(highlight=False)
    return TolerantScreen(
        LiveTable(console) if console.is_terminal and not as_json else DecisionLines(as_json=as_json), lost
    )


class TolerantScreen:
    """A screen that raises nothing when its terminal is closed, since the demo must still end its programs."""

    def __init__(self, screen: Screen, lost: Callable[[], None]) -> None:
        self._screen = screen
        self._lost = lost

    def show(self, frame: DemoView) -> None:
        """Show one frame, if there is a terminal."""
        with self._noticed():
            self._screen.show(frame)

    def say(self, text: str) -> None:
        """Print one line, if there is a terminal."""
        with self._noticed():
            self._screen.say(text)

    def close(self) -> None:
        """Restore the terminal, if there is one."""
        with self._noticed():
            self._screen.close()

    @contextlib.contextmanager
    def _noticed(self) -> Iterator[None]:
        try:
            yield
        except OSError:
            self._lost()


class LiveTable:
    """A table that is redrawn within the terminal's rows."""

    def __init__(self, console: Console) -> None:
        self._sizes: deque[int] = deque(maxlen=_KEPT)
        self._rates: deque[float] = deque(maxlen=_KEPT)
        self._decisions = UntoldDecisions()
        self._latest: deque[str] = deque(maxlen=_KEPT)
        self._tallest = (0, 0)
        self._console = console
        self._live = Live(console=console, auto_refresh=False, screen=False, transient=False)
        self._live.start()

    def show(self, frame: DemoView) -> None:
        """Draw the frame."""
        self._sizes.append(len(frame.group["members"]))
        self._rates.append(frame.rate)
        self._latest.extendleft(_event_line(event) for event in self._decisions.of(frame))
        self._live.update(self._drawn(frame), refresh=True)

    def say(self, text: str) -> None:
        """Print above the table, or below it once that is closed."""
        self._console.print(text, soft_wrap=True)

    def close(self) -> None:
        """Stop drawing and leave the last table on the screen."""
        self._live.stop()

    def _drawn(self, frame: DemoView) -> RenderableType:
        top = Group(groups_table([frame.group]), Text(), *self._load(frame), Text(), *self._words(frame), Text())
        left = self._console.height - 1 - self._rows(top)
        members = self._members(frame.group["members"], left)
        left -= self._rows(members) + 1
        lines = [Text(line, style="dim") for line in list(self._latest)[: max(left, 0)]]
        return Group(top, members, Text(), *lines) if lines else Group(top, members)

    def _load(self, frame: DemoView) -> Iterator[Text]:
        failed = Text(f"{frame.failed} failed", style="bold red" if frame.failed else "green")
        p95 = f", p95 {frame.p95 * 1000:.0f} ms" if frame.p95 is not None else ""
        yield Text.assemble(f"load {frame.rate:5.0f}/s, {frame.sent} requests{p95}, ", failed)
        yield Text(f"load    {_bars(self._rates)}", style="cyan")
        yield Text(f"members {_bars(self._sizes)}", style="green")

    def _words(self, frame: DemoView) -> list[Text]:
        """Return as many rows as there ever were, so that the rows below do not jump."""
        width, tallest = self._tallest
        lines: list[Text] = []
        texts = [Text(message, style="yellow") for message in frame.group["messages"]]
        texts += [Text(word, style="bold" if index == 0 else "") for index, word in enumerate(frame.words)]
        for text in texts:
            lines.extend(text.wrap(self._console, self._console.width))
        self._tallest = (self._console.width, max(len(lines), tallest if width == self._console.width else 0))
        return lines + [Text()] * (self._tallest[1] - len(lines))

    def _members(self, members: list[dict[str, Any]], rows: int) -> RenderableType:
        """Return the full table if some history fits below, else names and states side by side, else a count."""
        for drawn in (members_table(members), _side_by_side(members, self._console.width)):
            if self._rows(drawn) + _HISTORY <= rows:
                return drawn
        return Text(f"{len(members)} members; a taller terminal shows them", style="dim")

    def _rows(self, drawn: RenderableType) -> int:
        return len(self._console.render_lines(drawn, pad=False))


class DecisionLines:
    """One line for each decision, and at intervals one for the state."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._decisions = UntoldDecisions()
        self._last_state = 0.0

    def show(self, frame: DemoView) -> None:
        """Print what is new."""
        for event in self._decisions.of(frame):
            self._line({"event": event["name"], **event}, _event_line(event))
        if frame.at - self._last_state >= 10:  # noqa: PLR2004  # seconds: often enough to follow, seldom enough to read
            self._last_state = frame.at
            group = frame.group
            state = {"event": "state", "members": len(group["members"]), "rate": frame.rate, "sent": frame.sent}
            load = f"load {frame.rate:.0f}/s, {frame.sent} requests, {frame.failed} failed"
            text = f"{len(group['members'])} members, {load}: {frame.brief}"
            self._line({**state, "failed": frame.failed, "reason": group["reason"]}, text)

    def say(self, text: str) -> None:
        """Print the line."""
        self._line({"event": "said", "text": text}, text)

    def close(self) -> None:
        """Do nothing: there is no terminal to restore."""

    def _line(self, value: dict[str, Any], text: str) -> None:
        sys.stdout.write((json.dumps(value) if self._as_json else text) + "\n")
        sys.stdout.flush()


class UntoldDecisions:
    """Filters out the decisions that were shown before."""

    def __init__(self) -> None:
        self._shown_until = 0.0

    def of(self, frame: DemoView) -> list[dict[str, Any]]:
        """Return the new decisions, oldest first."""
        new = [
            event for event in reversed(frame.events) if event["at"] > self._shown_until and event["kind"] == "decision"
        ]
        self._shown_until = max([self._shown_until, *(event["at"] for event in new)])
        return new


def _event_line(event: dict[str, Any]) -> str:
    clock = say_moment(event["at"])
    before, after = event["desired_from"], event["desired_to"]
    moved = "" if after is None or before == after else f" {'–' if before is None else before} → {after}"
    rest = ", ".join(part for part in (event["by"], event["message"]) if part)
    return f"{clock} {event['name'].replace('_', ' ')}{moved}{f', {rest}' if rest else ''}"


def _side_by_side(members: list[dict[str, Any]], width: int) -> RenderableType:
    names = [f"{member['name']} {member['state'].replace('_', ' ')}" for member in members]
    grid = Grid.grid(padding=(0, 2))
    columns = max((width + 2) // (max(map(len, names), default=0) + 2), 1)
    for start in range(0, len(names), columns):
        grid.add_row(*names[start : start + columns])
    return grid if names else Text("no members")


def _bars(values: Sequence[float]) -> str:
    most = max(values, default=0) or 1
    return "".join(_BARS[min(int(value / most * (len(_BARS) - 1) + 0.5), len(_BARS) - 1)] for value in values)
