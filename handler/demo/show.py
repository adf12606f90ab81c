"""What the demo shows: a live table on a terminal, a line for each thing that happens elsewhere."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from handler.app.tables import groups_table, members_table

_BARS = "▁▂▃▄▅▆▇█"
_KEPT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One look at the demo."""

    at: float
    group: dict[str, Any]
    """As the API gives it."""
    words: Sequence[str]
    """The last decision, explained."""
    events: Sequence[dict[str, Any]]
    """Newest first."""
    rate: float
    """Requests a second, asked for."""
    sent: int
    failed: int
    p95: float | None
    """Seconds."""


class Screen(Protocol):
    """Somewhere to show frames."""

    def show(self, frame: Frame) -> None:
        """Show one."""
        ...

    def say(self, text: str) -> None:
        """Say one thing that stays."""
        ...

    def close(self) -> None:
        """Give the terminal back."""
        ...


def screen_for(*, as_json: bool) -> Screen:
    """A live table on a terminal; lines elsewhere."""
    console = Console(highlight=False)
    return Table(console) if console.is_terminal and not as_json else Lines(as_json=as_json)


class Table:
    """A table that is drawn anew."""

    def __init__(self, console: Console) -> None:
        self._sizes: deque[int] = deque(maxlen=_KEPT)
        self._rates: deque[float] = deque(maxlen=_KEPT)
        self._live = Live(console=console, auto_refresh=False, screen=False, transient=False)
        self._live.start()

    def show(self, frame: Frame) -> None:
        """Draw it."""
        self._sizes.append(len(frame.group["members"]))
        self._rates.append(frame.rate)
        self._live.update(self._drawn(frame), refresh=True)

    def say(self, text: str) -> None:
        """Print above the table."""
        self._live.console.print(text)

    def close(self) -> None:
        """Leave the last table standing."""
        self._live.stop()

    def _drawn(self, frame: Frame) -> RenderableType:
        failed = Text(f"{frame.failed} failed", style="bold red" if frame.failed else "green")
        p95 = f", p95 {frame.p95 * 1000:.0f} ms" if frame.p95 is not None else ""
        load = Text.assemble(f"load {frame.rate:5.0f}/s, {frame.sent} requests{p95}, ", failed)
        history = [Text(_event_line(event), style="dim") for event in list(frame.events)[:6]]
        return Group(
            groups_table([frame.group]),
            Text(),
            load,
            Text(f"load    {_bars(self._rates)}", style="cyan"),
            Text(f"members {_bars(self._sizes)}", style="green"),
            Text(),
            *(Text(word, style="bold" if index == 0 else "") for index, word in enumerate(frame.words)),
            Text(),
            members_table(frame.group["members"]),
            Text(),
            *history,
        )


class Lines:
    """One line for each event of the history, and one a little while for the state."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._told = 0.0
        self._last_state = 0.0

    def show(self, frame: Frame) -> None:
        """Say what is new."""
        for event in reversed(frame.events):
            if event["at"] > self._told and event["kind"] == "decision":
                self._line({"event": event["name"], **event}, _event_line(event))
        self._told = max([self._told, *(event["at"] for event in frame.events)])
        if frame.at - self._last_state >= 10:  # noqa: PLR2004  # seconds: often enough to follow, seldom enough to read
            self._last_state = frame.at
            group = frame.group
            state = {"event": "state", "members": len(group["members"]), "rate": frame.rate, "sent": frame.sent}
            load = f"load {frame.rate:.0f}/s, {frame.sent} requests, {frame.failed} failed"
            text = f"{len(group['members'])} members, {load}: {frame.words[0]}"
            self._line({**state, "failed": frame.failed, "reason": group["reason"]}, text)

    def say(self, text: str) -> None:
        """Say it."""
        self._line({"event": "said", "text": text}, text)

    def close(self) -> None:
        """Nothing to give back."""

    def _line(self, value: dict[str, Any], text: str) -> None:
        sys.stdout.write((json.dumps(value) if self._as_json else text) + "\n")
        sys.stdout.flush()


def _event_line(event: dict[str, Any]) -> str:
    clock = datetime.fromtimestamp(event["at"], UTC).strftime("%H:%M:%S")
    moved = event["desired_to"] is not None and event["desired_from"] != event["desired_to"]
    size = (
        f" {event['desired_from'] if event['desired_from'] is not None else '–'} → {event['desired_to']}"
        if moved
        else ""
    )
    return f"{clock} {event['name'].replace('_', ' ')}{size} {event['by']} {event['message']}".rstrip()


def _bars(values: Sequence[float]) -> str:
    most = max(values, default=0) or 1
    return "".join(_BARS[min(int(value / most * (len(_BARS) - 1) + 0.5), len(_BARS) - 1)] for value in values)
