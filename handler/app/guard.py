"""The loop guard: the one place that catches everything, so that one group's bad luck never stops a loop."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from config.errors import StoreError
from handler.app import logs

_Result = TypeVar("_Result")


async def guarded(work: Callable[[], Awaitable[_Result]], *, what: str, **fields: object) -> _Result | None:
    """Run one round of a loop; what goes wrong is logged with its ids, and the next round comes as planned."""
    try:
        return await work()
    except StoreError as error:
        logs.warn(f"{what}_not_recorded", error=str(error), **fields)
    except Exception as error:  # the guard itself: a defect must cost one round, not the daemon
        logs.warn(f"{what}_failed", error=f"{type(error).__name__}: {error}", **fields)
        logging.getLogger("trimtab").debug("%s", logs.logfmt("traceback", what=what), exc_info=True)
    return None
