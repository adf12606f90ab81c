"""A real HAProxy under 1,000 requests a second from `hey`, while Trimtab takes its group from 20 members to 5 and back.

Members are real processes. What counts is the number of requests that failed, which has to be none.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from config.model.balancers import HaproxyBalancer, ServerTemplate
from config.units import BalancerId, MemberName
from handler.balancers.haproxy.several_endpoints import haproxy as driver_of
from handler.ports.balancer import Batched, MemberMove, RegistrationChange
from tests.support.daemon import Daemon, a_daemon
from tests.support.haproxy import Haproxy, running_haproxy

_ROOT = Path(__file__).parents[2]
_MANY, _FEW = 20, 5
_TOGETHER = 100
_WORKERS, _EACH = 20, 50
"""Together 1,000 requests a second."""
_AT_MOST = 300
"""Seconds of load: it ends as soon as both changes are done."""
_MODEL = """\
clouds: {{local: {{process: {{}}, budget: {{outstanding: 20, per_hour: 1000}}}}}}
balancers: {{edge: {{haproxy: {balancer}}}}}
profiles:
  web: {{cloud: local, directory: {root}, command: {command}, ready: {{http: /, port: 8080, within: 60s}}}}
groups:
  web: {{profile: web, balancers: [{{use: edge, port: 8080}}], min: 5, max: 20, drain: 10s, grace: 5s}}
"""


def run(part: int = 1) -> Iterator[tuple[str, float, str]]:
    """Both kinds of servers in turn; a part of it is the first kind, since its load cannot be cut."""
    for program in ("haproxy", "hey"):
        if shutil.which(program) is None:
            print(f"  not measured: apt-get install {program}")
            return
    for way, slots in (("dynamic servers", 0), ("servers of a template", 24))[: 2 if part == 1 else 1]:
        many = _TOGETHER + 24 if slots else 0
        with tempfile.TemporaryDirectory(prefix="ttb") as place, running_haproxy(Path(place), slots=many) as haproxy:
            yield from _together(way, haproxy, many)
        with tempfile.TemporaryDirectory(prefix="ttb") as place, running_haproxy(Path(place), slots=slots) as haproxy:
            declared: dict[str, object] = {"socket": str(haproxy.socket), "backend": haproxy.backend}
            if slots:
                declared |= {"template": "slot", "map": str(haproxy.map)}
            command = json.dumps([sys.executable, "-S", "benchmarks/beside/worker.py"])
            model = _MODEL.format(balancer=json.dumps(declared), root=_ROOT, command=command)
            with a_daemon(model) as daemon:
                yield from _measured(way, daemon.start(), haproxy)


def _together(way: str, haproxy: Haproxy, slots: int) -> Iterator[tuple[str, float, str]]:
    """How long the four changes of many members take on one connection, without a daemon."""
    declared = HaproxyBalancer(
        id=BalancerId("edge"),
        socket=str(haproxy.socket),
        backend=haproxy.backend,
        template=ServerTemplate(prefix="slot", map=str(haproxy.map)) if slots else None,
    )
    driver = driver_of(declared)
    assert isinstance(driver, Batched)
    names = [MemberName(f"web-k3f9ab-{number}") for number in range(1, _TOGETHER + 1)]
    for move in MemberMove:
        changes = [
            RegistrationChange(move=move, member=name, at=("127.0.0.1", at) if move is MemberMove.JOIN else None)
            for at, name in enumerate(names, start=1001)
        ]
        began = time.perf_counter()
        answers = driver.apply(changes)
        yield f"{way}: {_TOGETHER} members {move.value}", (time.perf_counter() - began) * 1000, "ms"
        assert not any(answers), answers


def _measured(way: str, daemon: Daemon, haproxy: Haproxy) -> Iterator[tuple[str, float, str]]:
    daemon.settled(_FEW)  # nothing is resized before the first complete listing
    _resized(daemon, _MANY)
    load = ["hey", "-z", f"{_AT_MOST}s", "-c", str(_WORKERS), "-q", str(_EACH), "-t", "10"]
    hey = subprocess.Popen(
        [*load, f"http://127.0.0.1:{haproxy.frontend_port}/"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    shrunk, grown = _resized(daemon, _FEW), _resized(daemon, _MANY)
    assert hey.poll() is None, "the load ended before both changes were done"
    hey.send_signal(signal.SIGINT)  # hey stops and prints its figures
    output, _ = hey.communicate(timeout=_AT_MOST)
    answered = {code: int(count) for code, count in re.findall(r"\[(\d+)\]\t(\d+) responses", output)}
    errors = sum(int(count) for count in re.findall(r"^ +\[(\d+)\]\t(?!\d+ responses)", output, re.MULTILINE))
    yield f"{way}: requests answered", answered.get("200", 0), ""
    yield f"{way}: requests that failed", errors + sum(answered.values()) - answered.get("200", 0), ""
    yield f"{way}: requests a second", float(_found(r"Requests/sec:\s+([\d.]+)", output)), "/s"
    for rank in (50, 99):
        yield f"{way}: p{rank}", float(_found(rf"{rank}% in ([\d.]+) secs", output)) * 1000, "ms"
    yield f"{way}: from {_MANY} members to {_FEW}, drained", shrunk, "s"
    yield f"{way}: from {_FEW} members to {_MANY}", grown, "s"


def _resized(daemon: Daemon, size: int) -> float:
    began = time.perf_counter()
    daemon.json("scale", "web", str(size))
    daemon.settled(size, within=60.0)
    return time.perf_counter() - began


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, text
    return match[1]
