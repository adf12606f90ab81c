"""Closes the lines of history of calls during which an earlier daemon ended, once it is known what became of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from config.errors import StoreError
from config.units import CloudId, GroupId, Instant
from handler.planning.lines import OpenStep, closing
from handler.planning.world import World
from handler.ports.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """What is open of each group was left by an earlier daemon: this one looks before it begins any call."""

    store: Store
    clock: Callable[[], Instant]
    _open: dict[GroupId, tuple[OpenStep, ...]] = field(default_factory=dict, init=False, repr=False)

    def close(self, group: GroupId, cloud: CloudId, world: World) -> None:
        """Write down what this look shows of the calls that were left open.

        What cannot be written is tried again with the next pass: nothing depends on it.

        Raises:
            StoreError: what was left open cannot be read.
        """
        if group not in self._open:
            self._open[group] = self.store.open_steps(group)
        left: list[OpenStep] = []
        for step in self._open[group]:
            ended = closing(step, world)
            if ended is None:
                left.append(step)
                continue
            try:
                self.store.end_step(step.line, *ended, self.clock(), (), cloud)
            except StoreError:
                left.append(step)
        self._open[group] = tuple(left)
