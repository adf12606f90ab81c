"""A real Prometheus watches a load, a real Alertmanager tells of it, and a fleet of real processes follows."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.units import GroupId
from handler.daemon.run import Running, running
from handler.demo.fleet import end
from handler.ingest.alerts.tokens import NewWebhook
from handler.planning.status import MemberState
from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, stopped
from trigger.reasons import Reason

WEB = GroupId("web")
MODEL = """\
counters: {depth: {alert: deep}}
conditions: {high: {counter: depth, window: 1h, above: 80}}
policies: {out: {when: [high], duration: 1h, add: 2, quiet_time: 1s}}
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [sleep, "600"]}}
alerts:
  deep: {match: {alertname: Deep}, groups: [web], value: depth, ttl: 15m}
  slow: {match: {alertname: WebSlow, severity: page}, groups: [web], group_label: service, fire: out, ttl: 15m}
  loaded: {match: {alertname: Loaded}, groups: [web], group_label: service, floor: 3, ttl: 15m}
groups: {web: {profile: web, min: 1, max: 8, interval: 1s, policies: [out]}}
"""
PROMETHEUS = """\
global: {scrape_interval: 300ms, scrape_timeout: 300ms, evaluation_interval: 300ms}
scrape_configs: [{job_name: app, static_configs: [{targets: ["127.0.0.1:%(app)d"]}]}]
rule_files: [rules.yml]
alerting: {alertmanagers: [{static_configs: [{targets: ["127.0.0.1:%(alertmanager)d"]}]}]}
"""
RULES = """\
groups:
- name: web
  rules:
  - {alert: WebSlow, expr: "app_load > 80", labels: {severity: page}}
  - {alert: Loaded, expr: "app_load > 50"}
"""
ALERTMANAGER = """\
route: {receiver: trimtab, group_by: [alertname], group_wait: 0s, group_interval: 1s, repeat_interval: 1m}
receivers: [{name: trimtab, webhook_configs: [{url: "http://127.0.0.1:%(trimtab)d%(path)s", send_resolved: true}]}]
"""


class Load:
    """What the application says of itself."""

    def __init__(self) -> None:
        self.value = 10
        load = self

        class Exporter(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = f'app_load{{service="web"}} {load.value}\n'.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
        self.port = self.server.server_address[1]

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield
        finally:
            self.server.shutdown()
            thread.join()
            self.server.server_close()


@contextlib.contextmanager
def program(place: Path, name: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """One real program in this directory, its words in a file."""
    with (place / f"{name}.log").open("wb") as log:
        found = shutil.which(name)
        assert found is not None
        process = subprocess.Popen([found, *options], cwd=place, stdout=log, stderr=log)
        with stopped(process):
            yield process


@contextlib.contextmanager
def watching(place: Path, daemon: Running, load: Load, path: str) -> Iterator[None]:
    """Prometheus and Alertmanager, on ports that no other program uses."""
    ports = {"app": load.port, "alertmanager": free_tcp_port(), "trimtab": daemon.port, "path": path}
    (place / "prometheus.yml").write_text(PROMETHEUS % ports)
    (place / "rules.yml").write_text(RULES)
    (place / "alertmanager.yml").write_text(ALERTMANAGER % ports)
    alertmanager = program(
        place, "prometheus-alertmanager",
        "--config.file=alertmanager.yml", "--storage.path=alerts", "--cluster.listen-address=",
        f"--web.listen-address=127.0.0.1:{ports['alertmanager']}",
    )  # fmt: skip
    prometheus = program(
        place, "prometheus",
        "--config.file=prometheus.yml", "--storage.tsdb.path=series",
        f"--web.listen-address=127.0.0.1:{free_tcp_port()}",
    )  # fmt: skip
    with load.served(), alertmanager, prometheus:
        yield


async def until(holds: Callable[[], bool], place: Path, within: float = PATIENT) -> None:
    try:
        async with asyncio.timeout(within):
            while not holds():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    except TimeoutError:
        logs = [(place / f"{name}.log").read_text()[-3000:] for name in ("prometheus", "prometheus-alertmanager")]
        raise AssertionError("\n".join(logs)) from None


@pytest.fixture
def declared(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """The file and the state directory of a fleet that is gone after the test."""
    file, state = tmp_path / "model.yaml", tmp_path / "state"
    file.write_text(MODEL)
    yield file, state
    end(file, state)


@pytest.mark.real("prometheus", "prometheus-alertmanager")
def test_a_fleet_grows_when_prometheus_says_so_is_held_while_it_lasts_and_shrinks_after(
    tmp_path: Path, declared: tuple[Path, Path]
) -> None:
    (file, state), load = declared, Load()

    async def scene() -> None:
        async with running(file, state, port=0) as daemon:

            def serving() -> int:
                members = daemon.operations.group(WEB).members
                return sum(member.state is MemberState.IN_SERVICE for member in members)

            def lasting() -> list[str]:
                return [signal.alert for signal in daemon.engine.runtimes[WEB].state.signals]

            token = await daemon.operations.webhooks.make(NewWebhook(name="alertmanager", groups=(WEB,)))
            with watching(tmp_path, daemon, load, f"/hooks/alerts/{token}"):
                await until(lambda: serving() == 1, tmp_path)
                load.value = 70
                await until(lambda: serving() == 3 and lasting() == ["loaded"], tmp_path)
                held = await daemon.operations.scale(WEB, 1, force=False, by="ada")
                assert (held.desired_to, held.reason) == (3, Reason.ALERT_FLOOR)
                load.value = 95
                await until(lambda: serving() == 5, tmp_path)
                load.value = 10
                await until(lambda: lasting() == [], tmp_path)
                assert daemon.operations.group(WEB).desired == 5
                shrunk = await daemon.operations.scale(WEB, 1, force=False, by="ada")
                assert shrunk.desired_to == 1
                await until(lambda: serving() == 1, tmp_path)
            events = await daemon.operations.history(WEB, before=None, limit=100)
            acts = {(event.name, event.by) for event in events}
            assert ("scaled_out", "alarm slow") in acts
            assert "alert_floor" in {name for name, _ in acts}

    asyncio.run(scene())
