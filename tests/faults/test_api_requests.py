"""Requests at random after the OpenAPI document, as each role and without a credential: every answer is as described.

`make test` sends one of each kind, the same everywhere; `make nightly` goes through every bound of every field.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from handler.identity.rights import UserRole
from tests.support.api_requests import TOKEN
from tests.support.daemon import Daemon

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
ROOT = Path(__file__).parents[2]
NIGHTLY = int(os.environ.get("TRIMTAB_NIGHTLY", "0"))
EACH = min(NIGHTLY // 100, 100) or 1
"""Requests of each kind to each address."""
PHASES = "examples,coverage,fuzzing,stateful" if NIGHTLY else "examples,fuzzing"
WITHIN = 7200 if NIGHTLY else 600
MODEL = """\
counters: {orders: {push: ORDERS, per: group, range: [0, 1000]}}
conditions: {high: {counter: orders, window: 1m, above: 800}}
policies: {out: {when: [high], duration: 2m, add: 2}}
clouds: {sim: {simulated: {boot: 0.1s, call: 0s}}}
profiles: {web: {cloud: sim}}
groups:
  web: {profile: web, min: 1, max: 4, interval: 30s, policies: [out]}
  db: {profile: web, min: 1, max: 4, interval: 30s, policies: [out]}
"""


@dataclass(frozen=True)
class Served:
    """A daemon with a user of each role."""

    daemon: Daemon
    document: Path
    tokens: Mapping[UserRole, str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    daemon = Daemon(tmp_path_factory.mktemp("served"))
    daemon.declare(MODEL)
    daemon.start()
    try:
        daemon.json("user", "init", "root", "--anonymous", "none")
        daemon.json("hook", "new", "pager")
        for role in UserRole:
            daemon.json("user", "add", role.value, "--role", role.value)
        tokens = {role: daemon.json("token", "new", role.value, "t")["token"] for role in UserRole}
        document = daemon.place / "openapi.json"
        document.write_text(daemon.ask("GET", "/api/v1/openapi.json", unix=True).text)
        yield Served(daemon, document, tokens)
    finally:
        daemon.clear()


@pytest.mark.parametrize("role", [None, *UserRole], ids=lambda role: "anonymous" if role is None else role.value)
def test_every_answer_is_as_the_document_says(served: Served, role: UserRole | None) -> None:
    base = {name: value for name, value in os.environ.items() if name != TOKEN}
    shown = {} if role is None else {TOKEN: served.tokens[role]}
    seed = ["--generation-database", "none"] if NIGHTLY else ["--generation-deterministic"]
    done = subprocess.run(
        [SCHEMATHESIS, "run", served.document, "--url", f"http://127.0.0.1:{served.daemon.port}", "--no-color",
         "--phases", PHASES, "--max-examples", str(EACH), "--checks", "all", "--continue-on-failure",
         "--request-timeout", "30", *seed],
        cwd=served.daemon.place,
        env={**base, **shown, "SCHEMATHESIS_HOOKS": "tests.support.api_requests", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=WITHIN,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-20_000:]}\n{done.stderr[-2_000:]}"
    made = re.search(r"(\d+) generated", done.stdout)
    assert made is not None
    assert int(made[1]) > 50, done.stdout


def test_no_request_made_the_daemon_fail(served: Served) -> None:
    assert served.daemon.process is not None
    assert served.daemon.process.poll() is None
    assert "Traceback" not in served.daemon.log.read_text()
