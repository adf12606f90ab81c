"""The writer's thread: appends ticks to a log, closes logs into columns, and keeps within the budget.

A kill loses the ticks that are still in the queue (usually the last one); a power failure loses those of the last few
seconds. A tick that is in the log is in the recording.

Closing a log and thinning an hour go piece by piece, so that ticks never wait for long.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from collector.samples import Layout
from config.model.observability import Recording
from config.units import GroupId, Moment, Seconds
from handler.recording.budget import Remove, Thin, age, next_step
from handler.recording.closing import NoRoom, close_log, thin_hour
from handler.recording.files import HOUR, Form, Segment
from handler.recording.folder import Log, clean, remove
from handler.recording.frames import MAGIC, name_layout, note_missed, take_down
from handler.recording.intake import RecordedTick, RecordingIntake

_LOG_AT_MOST = 32 << 20
_SHARE = 16
"""A log takes at most this fraction of the budget: one part in 16."""
_LINGER: Seconds = 30.0
"""How long a log waits after its hour for polls that began in it."""
_SYNC: Seconds = 5.0
_HOUSEKEEPING: Seconds = 5.0
_RESERVE = 256 << 20
"""Bytes of the disk that are never taken: the store needs space to write intents before calls to the cloud."""
_STEP_BACK: Seconds = 0.1
"""The most that slewing may slow the clock between two ticks; more means that it was set back."""
_SLEW = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingFacts:
    """The state of a recording at one moment."""

    sizes: tuple[tuple[Segment, int], ...] = ()
    samples: int = 0
    """Samples written since the start."""
    lost: int = 0
    """Ticks that could not be written since the start, besides those that the queue left out."""
    trouble: str | None = None
    """Why the writer writes nothing."""


class _Open:
    """A log and the layouts that it has named."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.layouts: dict[tuple[int, tuple[GroupId, ...]], tuple[int, Layout]] = {}


class RecordingWriter:
    """Writes the ticks of one intake until that is closed; the thread executes `run`.

    Args:
        folder: of recordings; no other writer may use it.
        clock: both clocks.
        say: logs a transition: an event and its fields.
    """

    def __init__(
        self,
        folder: Path,
        intake: RecordingIntake,
        settings: Recording,
        *,
        clock: Callable[[], Moment],
        say: Callable[..., None],
    ) -> None:
        self.settings = settings
        """May be replaced at any time, from any thread."""
        self.facts = RecordingFacts()
        """Replaced as one value."""
        self.finish = True
        """Whether the end closes logs into columns; otherwise the next start does."""
        self._folder, self._intake, self._clock, self._say = folder, intake, clock, say
        self._sizes: dict[Segment, int] = {}
        self._open: dict[int, _Open] = {}
        self._full: deque[Segment] = deque()
        self._chore: Iterator[int] | None = None
        self._draft = 0
        self._number = self._run = 0
        self._before: Moment | None = None
        self._synced_at = self._kept_at = 0.0
        self._samples = self._lost = 0
        self._trouble: str | None = None
        self._stumbled: str | None = None

    def run(self) -> None:
        """Write until the intake is closed and empty."""
        import handler.recording.reading  # noqa: F401  # loading it holds up other threads: now, not between two ticks

        closed = False
        while not closed and not self._took_up():
            batch = self._intake.take(_SYNC)
            self._lost += len(batch.ticks)
            closed = batch.closed
        while not closed:
            batch = self._intake.take(0.0 if self._chore is not None else 1.0)
            for tick in batch.ticks:
                self._write(tick)
            closed = batch.closed
            self._keep_house()
            self._publish()
        for opened in list(self._open.values()):
            self._shut(opened)
        while self.finish and self._work():
            pass
        self._publish()

    def _took_up(self) -> bool:
        """Go on where the last writer ended or was killed; return ``False`` if the folder cannot be used."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sizes = clean(self._folder)
            written_at = max(((self._folder / each.name).stat().st_mtime for each in self._sizes), default=0.0)
        except OSError as error:
            self._fail(error)
            self._publish()
            return False
        self._number = max((each.number for each in self._sizes), default=-1) + 1
        self._run = max((each.run for each in self._sizes), default=0)
        self._full.extend(each for each in self._sizes if each.form is Form.LOG)
        if self._full:
            self._say("recording_taken_up", logs=len(self._full))
        if self._clock().wall < written_at - _STEP_BACK:
            self._run += 1
        return True

    # Ticks

    def _write(self, tick: RecordedTick) -> None:
        self._follow_clock(tick.at)
        try:
            opened = self._log_for(tick)
            data = self._frames(opened, tick)
            while not self._has_room(len(data)) and self._work():
                pass
            if not self._has_room(len(data)):
                raise OSError("the budget or the free space of the disk is used up")
            try:
                opened.log.append(data)
            finally:
                self._sizes[opened.log.segment] = opened.log.size
        except OSError as error:
            self._lost += 1
            self._fail(error)
            return
        self._samples += 0 if tick.scrape is None else len(tick.scrape.value)
        if self._trouble is not None:
            self._trouble = None
            self._say("recording_works_again")
        if opened.log.size >= self._log_at_most():
            self._shut(opened)

    def _fail(self, error: OSError) -> None:
        """End the log after a failed write; the next tick starts another one."""
        why = error.strerror or str(error)
        if why != self._trouble:
            self._trouble = why
            self._say("recording_failed", error=why)
        for opened in list(self._open.values()):
            self._shut(opened)

    def _follow_clock(self, at: Moment) -> None:
        """Begin a new run when the clock was set back, so that no hour holds an instant twice."""
        before, self._before = self._before, at
        if before is None:
            return
        elapsed = at.steady - before.steady
        drift = (at.wall - before.wall) - elapsed
        if drift < -(_STEP_BACK + _SLEW * abs(elapsed)):
            for opened in list(self._open.values()):
                self._shut(opened)
            self._run += 1
            self._say("recording_clock_set_back", seconds=f"{-drift:.3f}")

    def _log_for(self, tick: RecordedTick) -> _Open:
        hour = int(tick.at.wall // HOUR)
        opened = self._open.get(hour)
        if opened is None:
            segment = Segment(run=self._run, first=int(tick.at.wall // 1), number=self._number, form=Form.LOG)
            self._number += 1
            opened = self._open[hour] = _Open(Log(self._folder, segment))
            opened.log.append(MAGIC)
        return opened

    @staticmethod
    def _frames(opened: _Open, tick: RecordedTick) -> bytes:
        scrape = tick.scrape
        if scrape is None:
            return note_missed(tick.at, tick.groups)
        key = id(scrape.layout), tick.groups
        named = opened.layouts.get(key)
        if named is not None:
            return take_down(named[0], scrape)
        number = len(opened.layouts)
        opened.layouts[key] = number, scrape.layout  # kept, so that no other layout can get the same id()
        polled = {each.group for each in scrape.layout.series}
        idle = [group for group in tick.groups if group not in polled]
        return name_layout(number, scrape.layout, idle) + take_down(number, scrape)

    def _has_room(self, more: int) -> bool:
        """Closing a log needs room for its columns, for a moment."""
        disk = os.statvfs(self._folder)
        return (
            self._used() + more + 2 * self._log_at_most() <= self.settings.budget
            and disk.f_bavail * disk.f_frsize > _RESERVE + more
        )

    def _log_at_most(self) -> int:
        return min(_LOG_AT_MOST, self.settings.budget // _SHARE)

    def _used(self) -> int:
        return sum(self._sizes.values()) + self._draft

    def _shut(self, opened: _Open) -> None:
        try:
            opened.log.sync()
        except OSError as error:
            self._say("recording_failed", error=error.strerror)
        opened.log.close()
        self._open = {hour: each for hour, each in self._open.items() if each is not opened}
        self._full.append(opened.log.segment)

    # Chores

    def _keep_house(self) -> None:
        now = self._clock()
        if now.steady - self._synced_at >= _SYNC:
            self._synced_at = now.steady
            self._sync()
        for hour, opened in list(self._open.items()):
            if (hour + 1) * HOUR + _LINGER < now.wall or hour > now.wall // HOUR + 1:
                self._shut(opened)
        pressing = self._chore is not None or (self._full and self._stumbled is None)
        if pressing or now.steady - self._kept_at >= _HOUSEKEEPING:
            self._kept_at = now.steady
            self._work()

    def _sync(self) -> None:
        try:
            for opened in self._open.values():
                opened.log.sync()
        except OSError as error:
            self._fail(error)

    def _work(self) -> bool:
        """Do one piece of what is to be done; ``False``: there is nothing, or it cannot be done now."""
        if self._chore is None:
            self._chore = self._next_chore()
        if self._chore is None:
            return False
        try:
            self._draft = next(self._chore)
        except StopIteration:
            self._chore, self._draft, self._stumbled = None, 0, None
        except OSError as error:
            self._chore, self._draft = None, 0
            if isinstance(error, FileNotFoundError) and self._forget_removed():
                return True
            if str(error) != self._stumbled:
                self._stumbled = str(error)
                self._say("recording_not_closed", error=str(error))
            return False
        return True

    def _forget_removed(self) -> bool:
        """Forget files that a person has removed; whether there are any."""
        gone = {each for each in (*self._sizes, *self._full) if not (self._folder / each.name).exists()}
        self._full = deque(each for each in self._full if each not in gone)
        for segment in gone:
            self._sizes.pop(segment, None)
            self._say("recording_removed", file=segment.name, because="not_there")
        return bool(gone)

    def _next_chore(self) -> Iterator[int] | None:
        if self._full:
            return self._close(self._full.popleft())
        match next_step(self._sizes, self.settings, 4 * self._log_at_most(), self._clock().wall):
            case Thin(segments=segments):
                return self._thin(segments)
            case Remove(segment=segment):
                return self._remove(segment, "budget")
            case None:
                return None

    def _close(self, log: Segment) -> Iterator[int]:
        try:
            closed = yield from close_log(self._folder, log, self._report_damage, self._spare)
        except NoRoom:
            oldest = min((each for each in self._sizes if each.form is not Form.LOG), key=age, default=log)
            yield from self._remove(oldest, "no_room")
            if oldest is not log:
                self._full.appendleft(log)
            return
        except OSError:
            self._full.append(log)
            raise
        self._replace((log,), closed)

    def _thin(self, segments: tuple[Segment, ...]) -> Iterator[int]:
        try:
            thin = yield from thin_hour(self._folder, segments, self.settings.then, self._report_damage, self._spare)
        except NoRoom:
            for segment in segments:
                yield from self._remove(segment, "no_room")
            return
        self._replace(segments, thin)
        self._say("recording_thinned", hour=segments[0].name[:13], files=len(segments))

    def _replace(self, before: tuple[Segment, ...], after: tuple[Segment, int] | None) -> None:
        if after is not None:
            self._sizes[after[0]] = after[1]
        for segment in before:
            remove(self._folder, segment)
            self._sizes.pop(segment, None)

    def _remove(self, segment: Segment, why: str) -> Iterator[int]:
        remove(self._folder, segment)
        self._sizes.pop(segment, None)
        self._say("recording_removed", file=segment.name, because=why)
        yield 0

    def _spare(self) -> int:
        """Bytes that a draft may take."""
        return self.settings.budget - sum(self._sizes.values())

    def _report_damage(self, sentence: str) -> None:
        self._say("recording_damaged", message=sentence)

    def _publish(self) -> None:
        self.facts = RecordingFacts(
            sizes=tuple(self._sizes.items()), samples=self._samples, lost=self._lost, trouble=self._trouble
        )
