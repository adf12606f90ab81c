"""Run counter sources from other packages: entry points of the group ``trimtab.sources``.

An entry point is called without arguments and returns an object with the methods of `collector.targets.Source`. Each
plugin runs in its own thread and event loop, and gets only its own rows, on a separate sheet. So a plugin that raises,
hangs, blocks its thread, ignores cancellation or writes nonsense fails in its own rows only:

* it raises, or cannot be loaded: UNREACHABLE for its unanswered rows, with its own text but without the secrets that it
read; reported once when that begins and once when it ends;
* it is late, or ends without an answer: TIMEOUT. It is asked again when it has ended;
* it is still busy with an earlier, cancelled round: UNREACHABLE.
"""

from __future__ import annotations

import asyncio
import math
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import entry_points

from collector.samples import Layout, Reply, Sheet
from collector.sources.plugin_stage import Stage
from collector.targets import Round, Target, rows_of
from config.checks.answering import ENTRY_POINTS
from config.model.access import SecretRef
from config.model.counters import PluginValue

ReportPlugin = Callable[[str, str | None], None]
"""(plugin, its failure; ``None``: it answers again)."""


class PluginSource:
    """Runs plugins; keeps each in a thread from its first round on.

    Args:
        report: called when a plugin begins to fail, and when it answers again.
    """

    def __init__(self, report: ReportPlugin) -> None:
        self._report_change = report
        self._stages: dict[str, Stage] = {}
        self._failing: set[str] = set()

    async def fetch(self, poll: Round) -> None:
        """Run every plugin of the round; its answers count even if it fails or is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for plugin, rows in _rows(poll).items():
                tasks.create_task(self._ask(plugin, poll, rows))

    async def close(self) -> None:
        """Close every plugin, and abandon those that do not end."""
        await asyncio.gather(*(stage.close() for stage in self._stages.values()))
        self._stages = {}

    async def _ask(self, plugin: str, poll: Round, rows: Mapping[int, int]) -> None:
        stage = self._stages.get(plugin)
        if stage is None or stage.dead:
            stage = self._stages[plugin] = Stage(plugin, lambda: _made(plugin))
        if stage.stuck:
            self._report(plugin, "it is still busy with an earlier round")
            _refuse(poll.sheet, rows, Reply.UNREACHABLE, "the plugin is still busy with an earlier round")
            return
        secrets: set[str] = set()
        own = _own_round(poll, rows, secrets)
        play = stage.play(own)
        try:
            await play.ended()
        finally:
            _copy(own.sheet, poll, rows, secrets)
            if play.done:
                self._judge(plugin, play.error, poll.sheet, rows, secrets)
            else:
                stage.stop(play)
                _refuse(poll.sheet, rows, Reply.TIMEOUT, "the plugin did not end in time")

    def _judge(
        self, plugin: str, error: BaseException | None, sheet: Sheet, rows: Mapping[int, int], secrets: set[str]
    ) -> None:
        """Record why rows have no answer."""
        if error is None:
            self._report(plugin, None)
            _refuse(sheet, rows, Reply.TIMEOUT, "the plugin ended without an answer")
            return
        words = _without(secrets, f"{type(error).__name__}: {error}").removesuffix(": ")
        _refuse(sheet, rows, Reply.UNREACHABLE, words)
        self._report(plugin, f"{words} ({_place(error)})")

    def _report(self, plugin: str, wrong: str | None) -> None:
        if (wrong is None) == (plugin in self._failing):
            self._report_change(plugin, wrong)
        if wrong is None:
            self._failing.discard(plugin)
        else:
            self._failing.add(plugin)


def _made(plugin: str) -> object:
    """Load a plugin and create its source. Exceptions are the plugin's own."""
    found = tuple(entry_points(group=ENTRY_POINTS, name=plugin))
    if not found:
        raise LookupError(
            f"there is no entry point {plugin} in the group {ENTRY_POINTS}: install the package that provides it"
        )
    return found[0].load()()


def _rows(poll: Round) -> Mapping[str, Mapping[int, int]]:
    """Return for each plugin: row of the round's sheet → row of the plugin's sheet."""
    counters = poll.catalogue.counters.values()
    mine = {counter.id: counter.source.plugin for counter in counters if isinstance(counter.source, PluginValue)}
    found: dict[str, list[int]] = {}
    for row, counter, _, _ in rows_of(poll.sheet.layout, poll.targets, mine):
        found.setdefault(mine[counter], []).append(row)
    return {plugin: {row: own for own, row in enumerate(sorted(rows))} for plugin, rows in found.items()}


def _own_round(poll: Round, rows: Mapping[int, int], secrets: set[str]) -> Round:
    """Return one plugin's part of a round; secrets that it reads are recorded, to be masked in its text."""

    def read_secret(ref: SecretRef) -> str:
        secret = poll.read_secret(ref)
        secrets.add(secret)
        return secret

    theirs = poll.sheet.layout
    layout = Layout(series=tuple(theirs.series[row] for row in rows), counted=theirs.counted[list(rows)])
    targets = (_own_target(target, rows) for target in poll.targets)
    return replace(
        poll,
        targets=tuple(target for target in targets if target.rows),
        sheet=Sheet(layout),
        read_secret=read_secret,
    )


def _own_target(target: Target, rows: Mapping[int, int]) -> Target:
    return replace(target, rows={counter: rows[row] for counter, row in target.rows.items() if row in rows})


def _copy(own: Sheet, poll: Round, rows: Mapping[int, int], secrets: set[str]) -> None:
    """Copy the plugin's answers, without secrets. It may still be writing; no answer may be newer than now."""
    details, now = own.details.copy(), poll.clock().steady
    for row, place in rows.items():
        code = int(own.reply[place])
        if code == Reply.OK:
            at = float(own.replied_at[place])
            poll.sheet.put(
                row,
                float(own.value[place]),
                at=min(at, now) if math.isfinite(at) else now,
                uptime=float(own.uptime[place]),
            )
        elif code in Reply._value2member_map_:
            poll.sheet.fail(row, Reply(code), _without(secrets, str(details.get(place, ""))))
        else:
            poll.sheet.fail(row, Reply.MALFORMED, f"the plugin returned an unknown kind of reply, {code}")


def _refuse(sheet: Sheet, rows: Mapping[int, int], reply: Reply, detail: str) -> None:
    """Record a failure for every row without an answer."""
    for row in rows:
        if sheet.reply[row] == Reply.TIMEOUT and not sheet.details.get(row):
            sheet.fail(row, reply, detail)


def _without(secrets: set[str], words: str) -> str:
    for secret in secrets:
        words = words.replace(secret, "***") if secret else words
    return words


def _place(error: BaseException) -> str:
    """Return where the exception was raised; the innermost line is the plugin's, or of a library that it calls."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "nowhere"
