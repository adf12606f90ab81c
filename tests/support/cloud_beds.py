"""Beds whose cloud is met by its own driver, over its real protocol."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Self

from handler.convergence.passes import Pass
from handler.planning.step_outcomes import StepResult
from handler.planning.steps import Wait
from handler.planning.world import Phase
from tests.support.beds import Bed


class CloudBed(Bed):
    """A bed that is put on the stage of a cloud before it is used."""

    def on(self, stage: Any, alive: Callable[[], Collection[str]], **driver: Any) -> Self:
        """``alive`` names all machines that are there."""
        self.stage, self.wire, self._alive, self._fields = stage, stage.wire, alive, driver
        self.restart()
        return self

    def restart(self) -> None:
        super().restart()
        if hasattr(self, "stage"):
            self.orchestrator = self.stage.driver(**self._fields)

    def settle_within_quota(self) -> Pass:
        """Run passes until nothing but room is waited for. No call ever fails."""
        for _ in range(50):
            done = self.run()
            assert {outcome.result for outcome in done.outcomes} <= {StepResult.DONE}
            if not done.plan.steps and {wait for wait, _ in done.plan.waits} == {Wait.QUOTA}:
                return done
            self.clock.advance(done.next_in or 1.0)
        raise AssertionError(f"not settled: {done.plan}")

    def whole(self, size: int) -> None:
        """No duplicate, no orphan: what runs, what is remembered and what serves are the same."""
        alive = list(self._alive())
        assert len(alive) == len(set(alive)) == size
        assert self.known() == self.known(Phase.IN_SERVICE) == set(alive) == self.serving()
