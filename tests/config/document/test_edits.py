"""What an edit of the file changes, and for which groups."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from config.document.edits import edits
from config.document.file import Document
from config.document.statement import Statement
from config.load import load, parse
from config.model.catalogue import Catalogue
from config.model.edits import Act, Edit, used
from tests.support.mibs import QUEUE_MIB, folder_of

FILE = """\
sources:
  prom: {prometheus: {url: "http://127.0.0.1:9090"}}
counters:
  load: {haproxy: scur, range: [0, 100]}
  jobs: {prometheus: "sum(jobs)", server: prom, per: group}
conditions:
  busy: {counter: load, above: 80, window: 60s}
  idle: {counter: load, below: 20}
  late: {counter: jobs, above: 9}
policies:
  out: {when: [busy], add: 1}
  in: {when: [idle], remove: 1}
  more: {when: [late], add: 2}
  days: {schedule: "0 9 * * *", until: "0 19 * * *", floor: 2}
clouds:
  one: {process: {}}
  two: {process: {}}
  nova: {openstack: {cloud: nova}}
  stack: {cloudstack: {endpoint: "http://127.0.0.1:9000/client/api", api_key: {env: CS_KEY}, secret: {env: CS_SECRET}}}
balancers:
  edge: {haproxy: {socket: /run/haproxy.sock, backend: web}}
  pool: {octavia: {cloud: nova, pool: blue}}
profiles:
  web: {cloud: one, command: [sleep, "60"], env: {TOKEN: hunter2}}
  work: {cloud: two, command: [sleep, "60"], snmp: {community: {env: WORK_SNMP}}}
  vm: {cloud: nova, image: web, flavor: small}
  machine: {cloud: stack, zone: z, template: t, offering: small}
groups:
  stack: {profile: machine, min: 1, max: 4}
  vms: {profile: vm, balancers: [{use: pool, port: 80}], min: 1, max: 4}
  web: {profile: web, balancers: [{use: edge, port: 8080}], min: 1, max: 4, policies: [out, in, days]}
  work: {profile: work, min: 1, max: 4, policies: [more]}
alerts:
  told: {match: {alertname: Told}, groups: [web], fire: out, ttl: 15m}
"""
ALERT = "  slow: {match: {alertname: Slow}, groups: [web], fire: out, ttl: 15m}\n"


def statement_of(catalogue: Catalogue) -> Statement:
    return Statement(values=catalogue.written, used=used(catalogue))


def found(before: str, after: str) -> tuple[Edit, ...]:
    old, new = parse(before, "model.yaml"), parse(after, "model.yaml")
    return edits(statement_of(old), statement_of(new), new.sites, "model.yaml")


CASES = (
    ("above: 80", "above: 85", "conditions.busy.above: 80 → 85", "web"),
    ("window: 60s", "window: 2m", "conditions.busy.window: 60s → 2m", "web"),
    (", window: 60s", "", "conditions.busy.window: 60s → not set", "web"),
    ("below: 20", "below: 20, window: 5m", "conditions.idle.window: not set → 5m", "web"),
    ("[0, 100]", "[0, 200]", "counters.load.range: 0, 100 → 0, 200", "web"),
    ("sum(jobs)", "max(jobs)", "counters.jobs.prometheus: sum(jobs) → max(jobs)", "work"),
    ("127.0.0.1:9090", "127.0.0.1:9091", "sources.prom.prometheus.url: changed", "work"),
    ("add: 2", "add: 3", "policies.more.add: 2 → 3", "work"),
    ("floor: 2", "floor: 3", "policies.days.floor: 2 → 3", "web"),
    ("backend: web", "backend: www", "balancers.edge.haproxy.backend: web → www", "web"),
    ("pool: blue", "pool: green", "balancers.pool.octavia.pool: blue → green", "vms"),
    (
        "two: {process: {}}",
        "two: {process: {}, budget: {per_hour: 9}}",
        "clouds.two.budget.per_hour: not set → 9",
        "work",
    ),
    ("hunter2", "hunter3", "profiles.web.env.TOKEN: changed", "web"),
    ("WORK_SNMP", "SNMP", "profiles.work.snmp.community.env: WORK_SNMP → SNMP", "work"),
    ("max: 4, policies: [more]", "max: 5, policies: [more]", "groups.work.max: 4 → 5", "work"),
    ("[out, in, days]", "[out, days]", "groups.web.policies: out, in, days → out, days", "web"),
    ("port: 8080", "port: 8081", "groups.web.balancers[1].port: 8080 → 8081", "web"),
    ("policies: [more]}", "policies: [more], mode: advise}", "groups.work.mode: not set → advise", "work"),
    ("alerts:\n", f"alerts:\n{ALERT}", "alerts.slow: added", "web"),
    ("fire: out, ttl", "fire: in, ttl", "alerts.told.fire: out → in", "web"),
    ("alertname: Told", "alertname: Said", "alerts.told.match.alertname: Told → Said", "web"),
    (
        "9000",
        "9001",
        "clouds.stack.cloudstack.endpoint: changed",
        "stack",
    ),
    ("{env: CS_SECRET}", "{file: /run/secret}", "clouds.stack.cloudstack.secret.env: CS_SECRET → not set", "stack"),
    (
        "socket: /run/haproxy.sock",
        "socket: /run/other.sock",
        "balancers.edge.haproxy.socket: /run/haproxy.sock → /run/other.sock",
        "web",
    ),
    ("flavor: small", "flavor: large", "profiles.vm.flavor: changed", "vms"),
    ('"0 9 * * *"', '"0 8 * * *"', "policies.days.schedule: 0 9 * * * → 0 8 * * *", "web"),
    ("groups:\n", "mibs: [{folder}]\ngroups:\n", "mibs: added", ""),
    ("groups:\n", "writable: true\ngroups:\n", "writable: not set → true", ""),
    ("groups:\n", "record: {budget: 1GiB}\ngroups:\n", "record: added", ""),
    ("groups:\n", "cloudstack_api: {states: lower}\ngroups:\n", "cloudstack_api: added", ""),
    ("groups:\n", "listen: {address: 127.0.0.1:8461}\ngroups:\n", "listen.address: not set → 127.0.0.1:8461", ""),
    ("groups:\n", "seal: {key: {env: SEAL_KEY}}\ngroups:\n", "seal.key: added", ""),
    (
        "groups:\n",
        "oidc: {issuer: https://id.example.org, client_id: t, claim: sub, users: {a: ada}}\ngroups:\n",
        "oidc: added",
        "",
    ),
    ("groups:\n", "outbound: {allow_private: [10.0.0.0/8]}\ngroups:\n", "outbound: added", ""),
    ("groups:\n", "vault: {url: https://v.example.org, token: {env: T}}\ngroups:\n", "vault: added", ""),
    ("groups:\n", "store: {url: postgresql://db/trimtab}\ngroups:\n", "store: added", ""),
    ("groups:\n", "notify: {command: [/bin/page]}\ngroups:\n", "notify: added", "stack vms web work"),
    ("  idle:", "  spare: {counter: load, above: 1}\n  idle:", "conditions.spare: added", ""),
)
"""What stands there, what stands there instead, the edit in words, and the groups that it touches."""


def test_every_section_of_the_file_has_an_edit_that_is_reported() -> None:
    assert {words.split(":")[0].split(".")[0] for _, _, words, _ in CASES} == set(Document.model_fields)


@pytest.mark.parametrize(("before", "after", "words", "groups"), CASES)
def test_an_edit_is_reported_by_its_key_with_the_groups_that_it_touches(
    before: str, after: str, words: str, groups: str, tmp_path: Path
) -> None:
    assert before in FILE
    if "{folder}" in after:
        after = after.replace("{folder}", folder_of(tmp_path, queue=QUEUE_MIB))
    edit, *_ = found(FILE, FILE.replace(before, after))
    assert (edit.words, " ".join(edit.groups)) == (words, groups)


def test_a_removed_entry_is_reported_with_the_groups_that_it_touched() -> None:
    with_alert = FILE.replace("alerts:\n", f"alerts:\n{ALERT}")
    (edit,) = found(with_alert, FILE)
    assert (edit.key, edit.act, edit.groups, edit.file) == ("alerts.slow", Act.REMOVED, ("web",), "model.yaml")


def test_an_edit_says_where_the_value_stands_now() -> None:
    edited = FILE.replace("above: 80", "above: 85")
    (edit,) = found(FILE, f"# moved down\n{edited}")
    assert edited.splitlines()[edit.line - 2].strip().startswith("busy:")


@pytest.mark.parametrize(
    "same",
    [
        f"# a remark\n{FILE}",
        FILE.replace("window: 60s", "window: 1m"),
        FILE.replace("{counter: load, below: 20}", "{below: 20, counter: load}"),
    ],
    ids=["a comment", "another spelling", "another order"],
)
def test_another_spelling_of_the_same_value_is_no_edit(same: str) -> None:
    assert same != FILE
    assert found(FILE, same) == ()


def test_no_value_that_may_be_a_secret_is_kept_or_shown() -> None:
    secret = "hunter2"
    after = FILE.replace(secret, "hunter3").replace("[sleep, ", f"[sleep, {secret}, ")
    catalogue = parse(after, "model.yaml")
    assert "hunter" not in repr(statement_of(catalogue))
    assert "hunter" not in repr(found(FILE, after))


def test_every_example_can_be_stated() -> None:
    for file in sorted(Path("config/examples").glob("*.yaml")):
        statement = statement_of(load(file))
        assert statement.values
        assert edits(statement, statement, {}, str(file)) == ()


def test_an_edit_that_touches_five_hundred_groups_is_found_within_a_second() -> None:
    row = "  g{}: {{profile: web, balancers: [{{use: edge, port: 80}}], min: 1, max: 4, policies: [out, in]}}\n"
    text = FILE.partition("groups:\n")[0] + "groups:\n" + "".join(row.format(number) for number in range(500))
    old, new = (parse(each, "model.yaml") for each in (text, text.replace("above: 80", "above: 85")))
    began = time.process_time()
    (edit,) = edits(statement_of(old), statement_of(new), new.sites, "model.yaml")
    assert len(edit.groups) == 500
    assert time.process_time() - began < 1.0
