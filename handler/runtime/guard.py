"""The loop guard: the one place that catches everything, so that one group's bad luck never stops a loop."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from config.errors import StoreError
from handler import logs

_Result = TypeVar("_Result")


class Guard:
    """Guards one loop, and says what goes wrong when it begins and when it ends, not at every round in between."""

    def __init__(self, what: str, **fields: object) -> None:
        self._what = what
        self._fields = fields
        self._trouble: str | None = None

    async def run(self, work: Callable[[], Awaitable[_Result]]) -> _Result | None:
        """Run one round; ``None`` if it failed. The next round comes as planned."""
        try:
            result = await work()
        except StoreError as error:
            self._began("not_recorded", str(error))
            return None
        except Exception as error:  # the guard itself: a defect must cost one round, not the daemon
            self._began("failed", f"{type(error).__name__}: {error}")
            logging.getLogger("trimtab").debug("%s", logs.logfmt("traceback", what=self._what), exc_info=True)
            return None
        if self._trouble is not None:
            self._trouble = None
            logs.say(f"{self._what}_works_again", **self._fields)
        return result

    def _began(self, how: str, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            logs.warn(f"{self._what}_{how}", error=trouble, **self._fields)
