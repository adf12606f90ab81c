"""One secret of each kind, planted in a real daemon that uses it, and searched wherever anyone can look."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.support.daemon import Daemon, a_daemon
from tests.support.vault import FakeVault

API = "/api/v1"
BY_VARIABLE, BY_FILE, BY_CREDENTIAL, BY_VAULT, OF_MEMBER, OF_HOOK, OF_BUS, OF_CLOUD, PASSWORD = (
    f"canary-{kind}-7f3a9c5e1b2d4f6a8c0e7f3a9c5e"
    for kind in ("variable", "file", "credential", "vault", "member", "hook", "bus", "cloud", "password")
)
KEPT = {"bearer", "hook", "seal", "token", "member-keys", "secret-id", "of-member", "of-bus", "of-cloud"}
"""Files that secrets are kept in."""
MODEL = """\
seal: {{key: {{credential: seal}}}}
vault: {{url: "{vault}", approle: {{role_id: role-1, secret_id: {{file: {place}/secret-id}}}}}}
sources: {{prom: {{prometheus: {{url: "http://127.0.0.1:9", bearer: {{file: {place}/bearer}}}}}}}}
counters:
  load: {{snmp: 1.3.6.1.4.1.8072.9999.1.0, range: [0, 100]}}
  jobs: {{prometheus: "sum(jobs)", server: prom, per: group}}
conditions:
  busy: {{counter: load, above: 80}}
  long: {{counter: jobs, above: 9}}
policies:
  out: {{when: [busy], add: 1}}
  more: {{when: [long], add: 1}}
clouds:
  box: {{process: {{}}}}
  stack:
    cloudstack:
      endpoint: http://127.0.0.1:9/client/api
      api_key: {{env: CANARY}}
      secret: {{file: {place}/of-cloud}}
      events: {{url: "amqp://127.0.0.1:9", user: trimtab, password: {{file: {place}/of-bus}}}}
profiles:
  app:
    cloud: box
    command: [sleep, "3600"]
    snmp: {{community: {{env: CANARY}}, port: 1}}
    env: {{PIN: {{vault: secret/app/db, field: pin}}, OTHER_PIN: {{file: {place}/of-member}}}}
groups: {{web: {{profile: app, min: 1, max: 2, interval: 0.5s, policies: [out, more]}}}}
"""


@dataclass
class Planted:
    """A daemon that has used every secret."""

    daemon: Daemon
    secrets: dict[str, str]
    """By kind."""
    shown: dict[str, str] = field(default_factory=dict)
    """What can be read, by where."""


def secret_file(path: Path, secret: str) -> Path:
    path.write_text(secret)
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def planted() -> Iterator[Planted]:
    with FakeVault.running() as vault, a_daemon("") as daemon:
        place = daemon.place
        vault.write("secret/app/db", {"pin": BY_VAULT})
        secret_file(place / "secret-id", vault.role()[1])
        secret_file(place / "of-member", OF_MEMBER)
        secret_file(place / "of-bus", OF_BUS)
        secret_file(place / "of-cloud", OF_CLOUD)
        (place / "credentials").mkdir()
        secret_file(place / "bearer", BY_FILE)
        secret_file(place / "credentials" / "seal", BY_CREDENTIAL)
        daemon.environment = {"CANARY": BY_VARIABLE, "CREDENTIALS_DIRECTORY": str(place / "credentials")}
        daemon.declare(MODEL.format(place=place, vault=vault.url))
        daemon.start()
        planted = Planted(daemon, dict(used(daemon)))
        daemon.settled(1)
        planted.secrets |= {"secret id": vault.role()[1], "token of the vault": next(iter(vault.tokens))}
        silent_vault(daemon, vault)
        planted.shown = dict(readable(daemon))
        yield planted


def silent_vault(daemon: Daemon, vault: FakeVault) -> None:
    """Have the daemon tell that the vault lacks a secret, that it may not read one, and that it is silent."""
    text = MODEL.format(place=daemon.place, vault=vault.url)
    for path in ("secret/app/nothing", "secret/other/db"):
        daemon.declare(text.replace("secret/app/db", path))
        assert daemon.trimtab("reload").code == 0
    vault.dead = True
    daemon.declare(text)
    assert daemon.trimtab("reload").code == 0


def used(daemon: Daemon) -> Iterator[tuple[str, str]]:
    """Use a secret of each kind, and yield those."""
    yield from (("variable", BY_VARIABLE), ("file", BY_FILE), ("credential", BY_CREDENTIAL))
    yield from (("vault", BY_VAULT), ("file of a member", OF_MEMBER), ("message bus", OF_BUS), ("cloud", OF_CLOUD))
    assert daemon.trimtab("user", "init", "ada", "--anonymous", "none").code == 0
    yield "the state directory's token", daemon.token
    token = daemon.trimtab("token", "new", "ada", "laptop").out.strip()
    yield "token", token
    assert daemon.ask("GET", f"{API}/groups", bearer=token).status == 200
    assert daemon.ask("GET", f"{API}/groups", bearer=f"{token}x").status == 401
    yield "secret key", daemon.json("user", "key", "new", "ada")["secret_key"]
    secret_file(daemon.place / "hook", OF_HOOK)
    hook = daemon.json("hook", "new", "grafana", "--hmac-file", str(daemon.place / "hook"))
    yield from (("webhook's token", hook["token"]), ("webhook's signature", OF_HOOK))
    assert daemon.ask("POST", "/hooks/alerts", {"alerts": []}, bearer=hook["token"]).status < 500
    yield "password", PASSWORD
    set_ = daemon.ask("PUT", f"{API}/users/ada/password", {"password": PASSWORD}, unix=True)
    assert set_.status == 200
    yield from session_of(daemon)


def session_of(daemon: Daemon) -> Iterator[tuple[str, str]]:
    """Log in, act, and yield what the browser has."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    for password in (f"{PASSWORD}x", PASSWORD):
        fields = urlencode({"user": "ada", "password": password}).encode()
        answer = daemon.ask("POST", "/login", fields, headers=form)
    cookie = answer.headers["set-cookie"].partition(";")[0]
    yield "session", cookie.partition("=")[2]
    csrf = re.findall(r'name="csrf" content="([^"]+)"', daemon.get("/", Cookie=cookie).text)[0]
    yield "CSRF token", csrf
    acting = {"Cookie": cookie, "X-Trimtab-CSRF": csrf}
    assert daemon.ask("PUT", f"{API}/groups/web/size", {"size": 1}, headers=acting).status == 200


def readable(daemon: Daemon) -> Iterator[tuple[str, str]]:
    """Yield everything that can be read, with where."""
    yield from answers(daemon)
    for words in ("snapshot web", "history web", "why web", "status", "doctor", "audit list", "seal status"):
        done = daemon.trimtab(*words.split())
        yield f"trimtab {words}", done.out + done.err
    assert daemon.trimtab("backup", str(daemon.place / "copy")).code == 0
    for path in sorted(daemon.place.rglob("*")):
        if path.is_file() and path.name not in KEPT:
            yield f"file {path.relative_to(daemon.place)}", path.read_bytes().decode("latin-1")
    for line in sorted(Path("/proc").glob("[0-9]*/cmdline")):
        with contextlib.suppress(OSError):  # it may have ended
            yield f"{line}", line.read_bytes().decode("latin-1")


def answers(daemon: Daemon) -> Iterator[tuple[str, str]]:
    """Yield what is answered over HTTP, errors too."""
    served = sorted(daemon.ask("GET", f"{API}/openapi.json", unix=True).json["paths"])
    for path in (*served, "/", "/groups/web", "/login"):
        yield f"GET {path}", daemon.ask("GET", path.replace("{group}", "web"), unix=True).text
    for path in ("/groups/web/size", "/pause", "/users/ada/password"):
        yield f"PUT {path}", daemon.ask("PUT", API + path, {"size": "x", "password": ""}, unix=True).text


def test_no_secret_shows_anywhere_that_it_is_not_kept(planted: Planted) -> None:
    assert len(planted.secrets) == 17
    assert all(len(secret) >= 20 for secret in planted.secrets.values()), "a short one would be found by chance"
    found = [
        (kind, where)
        for kind, secret in planted.secrets.items()
        for where, text in planted.shown.items()
        if secret in text
    ]
    assert found == []


def test_the_search_looks_where_secrets_would_be(planted: Planted) -> None:
    text = "\n".join(planted.shown)
    assert "vault_failed" in planted.shown["file log"]
    for place in (
        "GET /api/v1/keys",
        "GET /metrics",
        "trimtab snapshot web",
        "file log",
        "file copy",
        "trimtab.sqlite",
        "audit.jsonl",
    ):
        assert place in text, place
    assert "api_key" in planted.shown["GET /api/v1/keys"]
    assert "web-" in planted.shown["trimtab snapshot web"]
    assert "ada" in planted.shown["trimtab audit list"]
