"""`trimtab forecast` beside a daemon."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from handler.cli.main import app
from handler.daemon.run import running

MODEL = """\
counters: {requests: {push: REQUESTS, per: group}}
policies: {ahead: {forecast: {load: {counter: requests, each: 10}}}}
clouds: {box: {process: {}}}
profiles: {web: {cloud: box, command: [sleep, "9"]}}
groups: {web: {profile: web, min: 0, max: 80, policies: [ahead]}}
"""


def trimtab(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["forecast", *words])
    return done.exit_code, done.output


def test_loads_of_a_recording_are_learned_by_the_running_daemon(tmp_path: Path) -> None:
    file, series, state = tmp_path / "model.yaml", tmp_path / "series.csv", tmp_path / "state"
    file.write_text(MODEL)
    end = int(time.time()) // 30 * 30 - 60
    rows = [f"{end - 30 * (3000 - number)},web,,requests,{100 + number % 50}" for number in range(3000)]
    series.write_text("\n".join(["timestamp,group,member,counter,value", *rows]) + "\n")

    async def on_command(*words: str) -> tuple[int, str]:
        return await asyncio.to_thread(trimtab, *words, "--state", str(state))

    async def scene() -> tuple[Any, Any, tuple[int, str], tuple[int, str]]:
        async with running(file, state, port=0) as daemon:
            code, output = await on_command("import", str(file), "web", "--series", str(series), "--json")
            assert code == 0, output
            keeper = daemon.engine.parts.forecasts
            assert keeper is not None
            while keeper.learning:  # noqa: ASYNC110 it works in a thread
                await asyncio.sleep(0.05)
            shown = await on_command("show", "web"), await on_command("show", "web", "--json")
            again = await on_command("import", str(file), "web", "--series", str(series))
            return json.loads(output), shown, again, await on_command("learn", "web", "behind")

    imported, ((_, text), (_, answer)), again, unknown = asyncio.run(scene())

    assert (imported["group"], imported["policy"], imported["filled"]) == ("web", "ahead", 2999)
    assert imported["steps"] >= 2999
    assert text.startswith("ahead: a member carries 10, as it is declared\n")
    (shown,) = json.loads(answer)
    assert (shown["policy"], shown["advises"], shown["each"]) == ("ahead", False, 10)
    assert shown["words"]
    assert again[0] == 0
    assert "web: 0 of 2999 loads" in again[1]
    assert unknown == (1, "group web has no forecast behind\n")
