"""The result of a demo: its days, the members that it lost, and the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True)
class Report:
    """The result of one day."""

    sent: int = 0
    failed: int = 0
    p95: float | None = None
    rate: float = 0.0
    joined: bool = False
    """The day began under a demo that was killed, so the fleet's earlier sizes are unknown."""
    sizes: list[int] = field(default_factory=list)
    """Members in service, once a second."""

    @property
    def good(self) -> bool:
        """No request failed, and the fleet followed the load up and down."""
        if self.failed or not self.sizes:
            return False
        return self.joined or max(self.sizes) > self.sizes[0] == self.sizes[-1]

    def words(self) -> str:
        """Return the day as one line."""
        p95 = f", p95 {self.p95 * 1000:.0f} ms" if self.p95 is not None else ""
        sizes = (
            f"; from {self.sizes[0]} to {max(self.sizes)} and to {self.sizes[-1]} members in service"
            if self.sizes
            else ""
        )
        return f"{self.sent} requests, {self.failed} failed{p95}{sizes}"


class UnexpectedEnds:
    """The members that ended without an order, from the events of the history."""

    def __init__(self) -> None:
        self._removed: set[str] = set()
        self._gone: dict[str, str] = {}

    def note(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Take events in any order; repeated ones count once."""
        for event in events:
            match event["name"]:
                case "destroy":
                    self._removed.add(event["by"])
                case "forget":
                    self._gone[event["by"]] = event["message"]
                case _:
                    pass

    @property
    def members(self) -> Mapping[str, str]:
        """Return name → how the member ended; empty where that is unknown."""
        return {name: how for name, how in self._gone.items() if name not in self._removed}


def exit_code(days: Sequence[Report], *, stopped: bool) -> int:
    """Return 0 for a demo that a person ended; else 0 if every day went well, and 1 if not."""
    return 0 if stopped or all(day.good for day in days) else 1


def ending_lines(days: Sequence[Report], lost: Mapping[str, str], *, stopped: bool) -> list[str]:
    """Return the result of a demo that a person ended, or that lost members or requests."""
    sent, failed = sum(day.sent for day in days), sum(day.failed for day in days)
    lines = [f"the demo is over: {sent} requests, {failed} failed"] if stopped or failed else []
    lines += [f"{name} was lost and replaced{f': {how}' if how else ''}" for name, how in lost.items()]
    if failed and lost:
        lines.append("a member that is killed loses the requests that it was serving: that is expected")
    return lines
