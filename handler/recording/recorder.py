"""The recording of one daemon: the file and people switch it; one thread writes while it is on."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from collector.samples import Scrape
from config.errors import Refused
from config.model.observability import DEFAULTS, Recording
from config.units import GroupId, Instant, Moment, Seconds
from handler import logs
from handler.recording import folder as disk
from handler.recording.intake import RecordingIntake
from handler.recording.status import Extent, Figures, RecordingStatus, extent_of
from handler.recording.switch import Switch, from_text, in_force, limited, still, to_text
from handler.recording.writer import RecordingWriter
from trigger.moving import moved

_SWITCH = "switch.json"
_PATIENCE: Seconds = 20.0
"""How long a stopping daemon waits for the disk; ticks not written by then are lost."""


class _Thread:
    """One writer, from switching recording on until switching it off."""

    def __init__(self, folder: Path, settings: Recording, clock: Callable[[], Moment]) -> None:
        self.intake = RecordingIntake()
        self.writer = RecordingWriter(folder, self.intake, settings, clock=clock, say=_say)
        self._thread = threading.Thread(target=self.writer.run, name="recording", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    async def end(self, *, finish: bool) -> None:
        """Write the queue, and (with ``finish``) close the last logs into columns."""
        self.writer.finish = finish
        self.intake.close()
        await asyncio.to_thread(self._thread.join, None if finish else _PATIENCE)


class Recordings:
    """Takes every scrape of the engine. All but the thread runs on the event loop.

    Args:
        folder: of recordings; ``None``: nothing is ever recorded.
        clock: both clocks.
    """

    def __init__(self, folder: Path | None, clock: Callable[[], Moment]) -> None:
        self._folder, self._clock = folder, clock
        self._declared: Recording | None = None
        self._switch: Switch | None = None
        self._running: _Thread | None = None
        self._changing = asyncio.Lock()
        self._samples = self._dropped = 0
        """Of writers that have ended."""
        self._extent: Extent | None = None

    def heard(self, groups: tuple[GroupId, ...], scrape: Scrape) -> None:
        """Keep a tick, if recording is on. Takes microseconds."""
        if self._running is not None:
            self._running.intake.put(groups, scrape)

    async def declare(self, declared: Recording | None) -> None:
        """Apply the settings of a newly loaded file."""
        async with self._changing:
            self._declared = declared
            if self._folder is not None and self._switch is None:
                found = await asyncio.to_thread(_read_switch, self._folder / _SWITCH)
                self._switch = limited(found, self._clock().wall)
            try:
                await self._settle()
            except OSError as error:
                logs.warn("recording_failed", error=f"{_SWITCH}: {error.strerror}")

    async def switch(self, *, on: bool, span: Seconds | None, by: str) -> None:
        """Switch recording for a person, for ever or for ``span``.

        Raises:
            Refused: the switch cannot be stored, and so would not survive a restart.
        """
        async with self._changing:
            if self._folder is None:
                raise Refused("this daemon has no folder for recordings")
            until = None if span is None else Instant(self._clock().wall + span)
            before, self._switch = self._switch, Switch(on=on, by=by, until=until, lasts=span)
            try:
                await self._settle(changed=True)
            except OSError as error:
                self._switch = before
                raise Refused(f"{self._folder / _SWITCH} cannot be written: {error.strerror}") from error
            logs.say("recording_switched", on=on, by=by, until=until)

    async def keep(self) -> None:
        """End a person's switch when its time is over."""
        if self._switch is not None and still(self._switch, self._declared, self._clock().wall) is None:
            async with self._changing:
                await self._settle()

    def follow(self, step: Seconds) -> None:
        """Move the end of a person's switch after the clock was set by ``step``."""
        self._switch = moved(self._switch, Switch | None, step)

    async def stop(self) -> None:
        """Write the queue. Logs stay as they are: the next start goes on with them."""
        async with self._changing:
            await self._end(finish=False)

    async def status(self) -> RecordingStatus:
        """Return whether and how samples are recorded, and the existing recording."""
        figures = self.figures()
        settings = figures.settings or self._declared or DEFAULTS
        extent = figures.extent
        if self._running is None and self._folder is not None:
            extent = self._extent = await asyncio.to_thread(_measured, self._folder)
        switch = still(self._switch, self._declared, self._clock().wall)
        running = self._running
        return RecordingStatus(
            on=figures.on,
            declared=self._declared is not None,
            by=None if switch is None else switch.by,
            until=None if switch is None else switch.until,
            budget=settings.budget,
            whole=settings.whole,
            then=settings.then,
            bytes=0 if extent is None else extent.bytes,
            oldest_at=None if extent is None else extent.oldest_at,
            oldest_whole_at=None if extent is None else extent.oldest_whole_at,
            samples=figures.samples,
            dropped_ticks=figures.dropped_ticks,
            trouble=None if running is None else running.writer.facts.trouble,
        )

    def figures(self) -> Figures:
        """Return the figures for metrics; callable from any thread."""
        running = self._running
        if running is None:
            return Figures(
                on=False, settings=None, extent=self._extent, samples=self._samples, dropped_ticks=self._dropped
            )
        facts = running.writer.facts
        return Figures(
            on=running.alive and facts.trouble is None,
            settings=running.writer.settings,
            extent=extent_of(dict(facts.sizes)),
            samples=self._samples + facts.samples,
            dropped_ticks=self._dropped + facts.lost + running.intake.dropped,
        )

    async def _settle(self, *, changed: bool = False) -> None:
        """Start or stop the writer as the file and the switch demand."""
        now = self._clock().wall
        left = still(self._switch, self._declared, now)
        if self._folder is not None and (changed or left is not self._switch):
            await asyncio.to_thread(_write_switch, self._folder / _SWITCH, left)
        self._switch = left
        settings = in_force(self._declared, left, now)
        if settings is None or self._folder is None:
            await self._end(finish=True)
        elif self._running is None:
            self._running = _Thread(self._folder, settings, self._clock)
        else:
            self._running.writer.settings = settings

    async def _end(self, *, finish: bool) -> None:
        ended = self._running
        if ended is None:
            return
        self._running = None
        await ended.end(finish=finish)
        facts = ended.writer.facts
        self._samples += facts.samples
        self._dropped += facts.lost + ended.intake.dropped
        self._extent = extent_of(dict(facts.sizes))


def _say(event: str, **fields: object) -> None:
    worse = event in {"recording_failed", "recording_damaged", "recording_not_closed", "recording_clock_set_back"}
    (logs.warn if worse else logs.say)(event, **fields)


def _read_switch(path: Path) -> Switch | None:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return from_text(path.read_text())
    return None


def _write_switch(path: Path, switch: Switch | None) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with disk.written_whole(path) as file:
        file.write(to_text(switch).encode())


def _measured(folder: Path) -> Extent:
    """Measure the recording while no writer runs."""
    return extent_of({each: (folder / each.name).stat().st_size for each in disk.found_in(folder).standing})
