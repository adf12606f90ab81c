"""Reading groups over the API with tokens: 2,000 authenticated ``GET /api/v1/groups/{id}`` a second on one daemon.

The client is `benchmarks.beside.sending`. Three tokens take turns, since one has a limit of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from benchmarks.beside.machine import processor
from benchmarks.beside.running import RunningDaemon, running
from benchmarks.beside.sending import Sent, figures_of, run_client, send, sent_by
from benchmarks.report.figures import Measured, at_most

_RATE = 2000.0
_SECONDS = 30.0
"""The groups' interval: what the daemon does beside takes place once, and at no more than the usual rate."""
_GROUPS = 100
_MEMBERS = 4
_TOKENS = 3
_CONNECTIONS = 32
_MODEL = """\
counters: {orders: {push: ORDERS, per: group, range: [0, 1000]}}
conditions: {high: {counter: orders, window: 1m, above: 800}}
policies: {out: {when: [high], duration: 2m, add: 2}}
clouds: {sim: {simulated: {boot: 1s, call: 0s}, budget: {outstanding: 10000, per_hour: 10000}}}
profiles: {web: {cloud: sim}}
groups:
"""


def run(part: int = 1) -> Iterator[Measured]:
    """Measure one daemon of 100 groups of four members."""
    count = max(_GROUPS // part, 2)
    names = [f"g{number}" for number in range(count)]
    groups = "".join(f"  {name}: {{profile: web, min: {_MEMBERS}, max: 9, policies: [out]}}\n" for name in names)
    with running(_MODEL + groups, names) as daemon:
        daemon.served(count * _MEMBERS)
        tokens = _tokens(daemon, _TOKENS if part == 1 else 1)
        yield from _read(daemon, tokens, count, _RATE / min(part, 10), _SECONDS / part)


def _tokens(daemon: RunningDaemon, count: int) -> list[str]:
    """Make a user that may read, and return so many tokens of it."""
    trimtab, state = str(Path(sys.executable).parent / "trimtab"), ["--state", str(daemon.state)]
    for made in (["init", "root", "--anonymous", "metrics"], ["add", "reader", "--role", "viewer"]):
        subprocess.check_output([trimtab, "user", *made, *state])
    new = [trimtab, "token", "new", "reader"]
    shown = [subprocess.check_output([*new, f"bench{number}", "--json", *state]) for number in range(count)]
    return [json.loads(each)["token"] for each in shown]


def _read(daemon: RunningDaemon, tokens: list[str], groups: int, rate: float, seconds: float) -> Iterator[Measured]:
    what, cpu = f"authenticated GET /api/v1/groups/{{id}}, {rate:,.0f}/s", processor(daemon.pid)
    sent = sent_by("benchmarks.api", daemon.port, groups, rate, seconds, *tokens, within=seconds + 120)
    spent = processor(daemon.pid) - cpu
    yield from figures_of(what, sent, spent, at_rate=0.98 * rate, p99=at_most(20.0), processor=at_most(0.5))


# The client, a process of its own


async def _ask(port: int, groups: int, rate: float, seconds: float, tokens: list[str]) -> Sent:
    requests = cycle([_request(port, number, tokens) for number in range(groups)])
    return await send(port, islice(requests, round(seconds * rate)), rate, connections=_CONNECTIONS)


def _request(port: int, number: int, tokens: list[str]) -> bytes:
    token = tokens[number % len(tokens)]
    head = f"GET /api/v1/groups/g{number} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
    return head.encode()


if __name__ == "__main__":
    _, _port, _groups, _rate, _seconds, *_given = sys.argv
    run_client(_ask(int(_port), int(_groups), float(_rate), float(_seconds), _given))
