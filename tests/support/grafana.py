"""What is written in dashboards and rules, and a real Prometheus that watches a real, small fleet."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from ruamel.yaml import YAML

from config.units import Instant
from handler.observability.metrics import Metrics
from tests.support.daemon import a_daemon
from tests.support.ports import free_tcp_port
from tests.support.waiting import PATIENT, stopped, until

ROOM = Path(__file__).parent.parent.parent / "grafana"
DASHBOARDS = {path.stem: json.loads(path.read_text()) for path in sorted((ROOM / "dashboards").glob("*.json"))}
RULES_FILE = ROOM / "alerts" / "trimtab.rules.yaml"
CHOSEN = {
    "$instance": ".*",
    "$group": "web",
    "$condition": ".*",
    "$counter": ".*",
    "$__rate_interval": "5m",
    "$__range": "5m",
    "[1m]": "[5m]",
}
"""What the reader of a dashboard would have chosen, and windows that hold the whole run, however slow it is."""

_FLEET = """\
counters:
  busy: {{snmp: "TRIMTAB-DEMO::busyPercent.0", unit: percent, range: [0, 100]}}
conditions:
  always: {{counter: busy, across: avg, aggregate: last, at_least: 0}}
  never: {{counter: busy, across: avg, aggregate: last, below: 0}}
policies:
  out: {{when: [always], duration: 2s, add: 1, quiet_time: 2s}}
  in: {{when: [never], duration: 2s, remove: 1, quiet_time: 2s}}
clouds:
  local: {{process: {{}}}}
balancers:
  edge: {{shared_listener: {{listen: "127.0.0.1:{service}"}}}}
profiles:
  web:
    cloud: local
    command: {command}
    snmp: {{port: 1161}}
    ready: {{http: /healthz, port: 8081, within: 30s}}
  mute: {{cloud: local, command: [sleep, "300"], snmp: {{port: 1161}}}}
  broken: {{cloud: local, command: [trimtab-no-such-program]}}
groups:
  web:
    {{profile: web, balancers: [{{use: edge, port: {service}}}], {clock}, min: 1, max: 3, policies: [out, in],
     observe: [busy], member_values: 2}}
  mute: {{profile: mute, {clock}, min: 1, max: 2, policies: [out, in]}}
  broken: {{profile: broken, {clock}, min: 1, max: 1, policies: [out]}}
"""
_SCRAPES = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [rules.yaml]
scrape_configs:
  - job_name: trimtab
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """One query that a dashboard makes."""

    dashboard: str
    by: str
    """Which panel, annotation or variable."""
    expression: str

    def __str__(self) -> str:
        return f"{self.dashboard}: {self.by}"


def panels(dashboard: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Panels that show something; rows are headings."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def asked() -> list[Asked]:
    """Every query of every dashboard but those of variables, with the reader's choices filled in."""
    found = []
    for name, dashboard in DASHBOARDS.items():
        for panel in panels(dashboard):
            found += [Asked(name, f"panel {panel['title']}", target["expr"]) for target in panel["targets"]]
        marks = dashboard["annotations"].get("list", ())
        found += [Asked(name, f"annotation {mark['name']}", mark["expr"]) for mark in marks]
    return [Asked(one.dashboard, one.by, chosen(one.expression)) for one in found]


def variables() -> list[tuple[Asked, str]]:
    """Every query of a variable as (its selector, its label)."""
    found = []
    for name, dashboard in DASHBOARDS.items():
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                parts = re.fullmatch(r"label_values\((.+), (\w+)\)", chosen(variable["query"]))
                assert parts is not None, variable["query"]
                found.append((Asked(name, f"variable {variable['name']}", parts[1]), parts[2]))
    return found


def unhidden(expression: str) -> str:
    """The expression without what leaves out series that were zero all the time, or words that are not in force."""
    return re.sub(r" and (?:sum by \([^)]*\) \()?(?:max_over_time|increase)\(.*> 0$| (?:> 0|== 1)$", "", expression)


def chosen(expression: str) -> str:
    """The expression as Grafana sends it."""
    for variable, value in CHOSEN.items():
        expression = expression.replace(variable, value)
    unchosen = re.search(r"\$(?!\d)", expression)  # $1 is label_replace's own: Grafana has no variable of that name
    assert unchosen is None, f"a variable without a choice: {expression}"
    return expression


@functools.cache
def rules() -> list[dict[str, Any]]:
    """Every alert rule."""
    document = YAML(typ="safe").load(RULES_FILE)
    return [rule for group in document["groups"] for rule in group["rules"]]


def selectors(expression: str) -> list[str]:
    """The plain selectors of an expression: names of series, with their labels."""
    return re.findall(r"\b(?:trimtab|process|scrape)_\w+(?:\{[^}]*\})?|\bup\b(?:\{[^}]*\})?", expression)


def exported() -> set[str]:
    """Names of all series that the code can export, whether or not there is anything to export now."""
    text = Metrics({}, lambda: Instant(0.0)).text().decode()
    found = set()
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", text, flags=re.MULTILINE):
        found |= {f"{name}_{part}" for part in ("bucket", "sum", "count")} if kind == "histogram" else {name}
    return found


def names(text: str) -> set[str]:
    """Names of our metrics in a text: an expression, a rule, a page."""
    return set(re.findall(r"\btrimtab_[a-z_]+", text))


def promtool(*arguments: str, folder: Path = ROOM) -> str:
    """What promtool prints; fails with it if promtool finds anything wrong."""
    command = ["promtool", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def answered(folder: Path, series: Mapping[str, str], asked: Mapping[str, str]) -> None:
    """Fail unless Prometheus answers each query, after five minutes, with the one series of these labels.

    Args:
        folder: where promtool may write.
        series: series → its values, one a minute, in promtool's notation.
        asked: query → labels of the series that it answers; empty: it answers none.
    """
    checks = [
        {"expr": query, "eval_time": "5m", "exp_samples": [{"labels": labels, "value": 1}] if labels else []}
        for query, labels in asked.items()
    ]
    given = [{"series": name, "values": values} for name, values in series.items()]
    tests = {"tests": [{"interval": "1m", "input_series": given, "promql_expr_test": checks}]}
    file = folder / "queries.yaml"
    file.write_text(json.dumps(tests))  # JSON is YAML
    promtool("test", "rules", str(file))


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running Prometheus."""

    url: str

    def values(self, expression: str) -> list[float]:
        """What the expression gives now; fails if Prometheus does not understand it."""
        found = self._get("query", query=expression)["result"]
        return [float(one["value"][1]) for one in found]

    def labels(self, label: str, selector: str) -> list[str]:
        """The values of a label of these series."""
        answer: list[str] = self._get(f"label/{label}/values", **{"match[]": selector})
        return answer

    def rules(self) -> list[dict[str, Any]]:
        """Every rule with its health, as last evaluated."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def ready(self) -> bool:
        """Whether it answers."""
        with contextlib.suppress(OSError), urlopen(f"{self.url}/-/ready", timeout=PATIENT) as answer:
            return bool(answer.status == 200)
        return False

    def _get(self, path: str, **query: str) -> Any:
        with urlopen(f"{self.url}/api/v1/{path}?{urlencode(query)}", timeout=PATIENT) as answer:
            return json.load(answer)["data"]


@contextlib.contextmanager
def watched_fleet(folder: Path) -> Iterator[Prometheus]:
    """Run ``trimtab run`` with quick clocks, and Prometheus: a fleet that grows, one that is mute, one that cannot be.

    Its file is edited once Prometheus has seen it unedited.

    Afterwards nothing of it runs.
    """
    command = [sys.executable, "-m", "handler.demo.member", "--listener", "edge", "--snmp-port", "1161"]
    command += ["--health-port", "8081", "--slots", "1", "--service-time", "10ms"]
    clock = "interval: 1s, warm_up: 0s, grace: 2s, drain: 1s"
    text = _FLEET.format(service=free_tcp_port(), command=json.dumps(command), clock=clock)
    with a_daemon(text, {"SNMP_COMMUNITY": "public"}) as daemon, _prometheus(folder, daemon.start().port) as prometheus:
        until(lambda: prometheus.values("trimtab_group_edited_timestamp_seconds"))
        daemon.declare(text.replace("remove: 1", "remove: 2"))
        assert daemon.trimtab("reload").code == 0
        yield prometheus


@contextlib.contextmanager
def _prometheus(folder: Path, scraped: int) -> Iterator[Prometheus]:
    program, port, log = shutil.which("prometheus"), free_tcp_port(), folder / "prometheus.log"
    assert program is not None
    config = folder / "prometheus.yaml"
    config.write_text(_SCRAPES.format(port=scraped))
    (folder / "rules.yaml").write_text(RULES_FILE.read_text().replace("interval: 15s", "interval: 1s"))
    command = [program, f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}"]
    with log.open("wb") as output:
        process = subprocess.Popen([*command, f"--storage.tsdb.path={folder / 'tsdb'}"], stdout=output, stderr=output)
        with stopped(process):
            prometheus = Prometheus(f"http://127.0.0.1:{port}")
            until(prometheus.ready, process=process, log=log)
            yield prometheus
