"""Run one plugin in a thread with its own event loop; a plugin that never ends is abandoned there."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import cast

from collector.targets import Round, Source
from config.units import Seconds

_CLOSING: Seconds = 2.0


class Play:
    """One call of a plugin; created in the event loop that waits for it."""

    def __init__(self) -> None:
        self.done = False
        self.error: BaseException | None = None
        """The exception; ``None``: none, or not yet."""
        self._waiting = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def ended(self) -> None:
        """Wait until the call has ended, in any way. Cancelling the wait does not stop the plugin."""
        await self._ended.wait()

    def begin(self, task: asyncio.Task[None]) -> None:
        """Set the call's task; called in the plugin's thread."""
        self._task = task
        task.add_done_callback(self._finish)

    def stop(self) -> None:
        """Cancel the call; called in the plugin's thread."""
        if self._task is not None:
            self._task.cancel()

    def end(self, error: BaseException | None) -> None:
        """Record that the call has ended; called in any thread."""
        self.error = error
        self.done = True
        with contextlib.suppress(RuntimeError):  # the waiting loop is closed
            self._waiting.call_soon_threadsafe(self._ended.set)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self.end(asyncio.CancelledError() if task.cancelled() else task.exception())


class Stage:
    """A plugin and its thread. The thread is a daemon: a plugin that never ends does not keep the process.

    Args:
        name: the plugin's name.
        make: loads the plugin; called in its thread, in every round until it succeeds.
    """

    def __init__(self, name: str, make: Callable[[], object]) -> None:
        self._make = make
        self._source: Source | None = None
        self._loop = asyncio.new_event_loop()
        self._making = asyncio.Lock()
        self._stopped: list[Play] = []
        self._over = False
        self._thread = threading.Thread(target=self._run, name=f"plugin-{name}", daemon=True)
        self._thread.start()

    @property
    def dead(self) -> bool:
        """Return whether the plugin has ended its thread by trying to exit the process."""
        return self._over

    @property
    def stuck(self) -> bool:
        """Return whether the plugin is still busy with a cancelled call."""
        self._stopped = [play for play in self._stopped if not play.done]
        return bool(self._stopped)

    def play(self, poll: Round) -> Play:
        """Start a round."""
        return self._begin(lambda: self._fetch(poll))

    def stop(self, play: Play) -> None:
        """Cancel a call."""
        self._stopped.append(play)
        with contextlib.suppress(RuntimeError):  # its thread has just ended
            self._loop.call_soon_threadsafe(play.stop)

    async def close(self) -> None:
        """Close the plugin, and end its thread if the plugin returns."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._begin(self._close).ended(), _CLOSING)
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, _CLOSING)

    def _begin(self, act: Callable[[], Coroutine[None, None, None]]) -> Play:
        play = Play()
        try:
            self._loop.call_soon_threadsafe(lambda: play.begin(self._loop.create_task(act())))
        except RuntimeError as error:  # its thread has just ended
            play.end(error)
        return play

    async def _fetch(self, poll: Round) -> None:
        async with self._making:
            if self._source is None:
                self._source = cast("Source", self._make())
        await self._source.fetch(poll)

    async def _close(self) -> None:
        if self._source is not None:
            await self._source.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        with contextlib.suppress(SystemExit, KeyboardInterrupt):  # raised in a task, these only end the loop
            self._loop.run_forever()
        self._over = True
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()
