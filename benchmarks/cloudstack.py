"""CloudStack's query API: 500 signed ``listAutoScaleVmGroups id=…`` a second with 1,000 groups, and 20 of all of them.

The client is `benchmarks.beside.sending`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import quote

from benchmarks.beside.machine import processor
from benchmarks.beside.running import RunningDaemon, running
from benchmarks.beside.sending import Sent, figures_of, run_client, send, sent_by
from benchmarks.report.figures import Measured, at_most

_GROUPS = 1_000
_CONNECTIONS = 16
_ONE = ("listAutoScaleVmGroups id=…", 500.0, 10.0)
"""What is asked, how often in a second, and for how many seconds."""
_ALL = ("listAutoScaleVmGroups, unpaged", 20.0, 5.0)
_MODEL = """\
counters: {orders: {push: ORDERS, per: group, range: [0, 1000]}}
conditions:
  high: {counter: orders, window: 1m, above: 800}
  low: {counter: orders, window: 1m, below: 100}
policies:
  out: {when: [high], duration: 2m, add: 1}
  in: {when: [low], duration: 2m, remove: 1}
clouds: {sim: {simulated: {boot: 1s, call: 0s}, budget: {outstanding: 10000, per_hour: 10000}}}
profiles: {web: {cloud: sim}}
cloudstack_api: {}
groups:
"""


def run(part: int = 1) -> Iterator[Measured]:
    """Measure one daemon of 1,000 groups with a member each."""
    groups = max(_GROUPS // part, 10)
    names = [f"g{number}" for number in range(groups)]
    lines = "".join(f"  {name}: {{profile: web, min: 1, max: 9, policies: [out, in]}}\n" for name in names)
    with running(_MODEL + lines, names) as daemon:
        daemon.served(groups)
        pair = _pair(daemon)
        ids = _ids(daemon.port, pair)
        assert len(ids) == groups
        for what, rate, seconds in (_ONE, _ALL):
            wanted = [_path({"id": each}, pair) for each in ids] if what is _ONE[0] else [_path({}, pair)]
            yield from _read(daemon, f"{what}, {groups:,} groups, {rate:,.0f}/s", rate, seconds / part, wanted)


def _pair(daemon: RunningDaemon) -> tuple[str, str]:
    """Make a user and return its key pair."""
    trimtab, state = str(Path(sys.executable).parent / "trimtab"), ["--state", str(daemon.state)]
    subprocess.check_output([trimtab, "user", "init", "root", "--anonymous", "metrics", *state])
    made = json.loads(subprocess.check_output([trimtab, "user", "key", "new", "root", "bench", "--json", *state]))
    return made["api_key"], made["secret_key"]


def _path(given: Mapping[str, str], pair: tuple[str, str]) -> str:
    """Return the signed address of a list."""
    sent = {
        "command": "listAutoScaleVmGroups", "listall": "true", "pagesize": "-1", "response": "json", "apiKey": pair[0],
        **given,
    }  # fmt: skip
    text = "&".join(f"{name}={quote(value, safe='*')}" for name, value in sorted(sent.items()))
    digest = hmac.new(pair[1].encode(), text.lower().encode(), hashlib.sha1).digest()
    return f"/client/api?{text}&signature={quote(base64.b64encode(digest), safe='')}"


def _ids(port: int, pair: tuple[str, str]) -> list[str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{_path({}, pair)}") as answer:
        return [group["id"] for group in json.load(answer)["listautoscalevmgroupsresponse"]["autoscalevmgroup"]]


def _read(daemon: RunningDaemon, what: str, rate: float, seconds: float, paths: list[str]) -> Iterator[Measured]:
    cpu = processor(daemon.pid)
    sent = sent_by("benchmarks.cloudstack", daemon.port, rate, seconds, given=paths, within=seconds + 120)
    spent = processor(daemon.pid) - cpu
    yield from figures_of(what, sent, spent, at_rate=0.95 * rate, p99=at_most(50.0) if rate > _ALL[1] else None)


# The client, a process of its own


async def _ask(port: int, rate: float, seconds: float, paths: list[str]) -> Sent:
    requests = cycle([f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode() for path in paths])
    return await send(port, islice(requests, max(round(seconds * rate), 2)), rate, connections=_CONNECTIONS)


if __name__ == "__main__":
    _, _port, _rate, _seconds = sys.argv
    run_client(_ask(int(_port), float(_rate), float(_seconds), json.load(sys.stdin)))
