"""Work that is done whole: whoever waits for it may be cancelled, the work itself goes on to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


async def whole(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run ``work`` to its end. Whoever is cancelled meanwhile is cancelled only after that.

    A lock that is held around it therefore stays held until the work, in its thread, really is over.
    """
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # nobody is left to hear it
        raise
