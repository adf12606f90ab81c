"""Secrets of a vault, as the daemon reads them: from memory, renewed in the background, kept through an outage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.clients.vault.reader import SecretReader, SecretState, VaultStatus
from config.errors import Refused
from config.load import parse
from config.model.access import SecretRef
from config.model.catalogue import Catalogue
from tests.support.vault import FakeVault
from tests.support.wire_server import answered

PASSWORD = SecretRef(vault="secret/app/db", field="password")
MODEL = """\
vault: {{url: "{url}", token: {{env: TOKEN}}, namespace: ops}}
clouds: {{local: {{process: {{}}}}}}
profiles:
  web: {{cloud: local, command: [serve], env: {{PIN: {{vault: secret/app/db, field: password}}}}}}
  api: {{cloud: local, command: [serve], env: {{PIN: {{vault: {second}, field: pin}}}}}}
groups:
  web: {{profile: web, min: 0, max: 1}}
  api: {{profile: api, min: 0, max: 1}}
"""


class Stage:
    """A reader beside a vault, at a time that the test sets."""

    def __init__(self, vault: FakeVault) -> None:
        self.vault, self.now, self.reported = vault, 1000.0, list[tuple[str, bool]]()
        self.environ = {"TOKEN": vault.token()}
        self.reader = SecretReader(
            self.environ, lambda: self.now, lambda path, wrong: self.reported.append((path, wrong is not None))
        )

    def catalogue(self, second: str = "secret/app/db") -> Catalogue:
        return parse(MODEL.format(url=self.vault.url, second=second), "model.yaml")

    def later(self, seconds: float) -> bool:
        """Time passes, and the background looks; returns what it returns."""
        self.now += seconds
        return self.reader.refresh()


@pytest.fixture
def stage() -> Iterator[Stage]:
    with FakeVault.running() as vault:
        vault.write("secret/app/db", {"password": "first", "pin": "1234", "empty": ""})
        vault.write("kv1/app/db", {"pin": "kv1"})
        yield Stage(vault)


def test_what_a_file_refers_to_is_given_without_asking_the_vault_again(stage: Stage) -> None:
    stage.reader.use(stage.catalogue())
    heard = len(stage.vault.heard)
    assert [stage.reader(PASSWORD) for _ in range(3)] == ["first"] * 3
    assert len(stage.vault.heard) == heard
    assert {namespace for _, _, namespace in stage.vault.heard} == {"ops"}


def test_a_changed_secret_takes_effect_when_it_is_due(stage: Stage) -> None:
    stage.reader.use(stage.catalogue())
    stage.vault.write("secret/app/db", {"password": "second"})
    stage.later(299.0)
    assert stage.reader(PASSWORD) == "first"
    stage.later(2.0)
    assert stage.reader(PASSWORD) == "second"


def test_a_lease_that_ends_sooner_is_halved(stage: Stage) -> None:
    stage.vault.lease = 3600
    stage.reader.use(stage.catalogue("kv1/app/db"))
    pin = SecretRef(vault="kv1/app/db", field="pin")
    stage.vault.write("kv1/app/db", {"pin": "changed"})
    stage.later(301.0)
    assert stage.reader(pin) == "changed", "300 s are less than half of an hour"


def test_an_outage_keeps_the_last_value_and_is_told_once_with_its_end(stage: Stage) -> None:
    stage.reader.use(stage.catalogue())
    stage.vault.dead = True
    for _ in range(5):
        assert not stage.later(301.0)
        assert stage.reader(PASSWORD) == "first"
    assert stage.reported == [("secret/app/db", True)]
    stage.vault.dead = False
    assert stage.later(11.0)
    assert stage.reported == [("secret/app/db", True), ("secret/app/db", False)]


def test_a_vault_that_was_silent_at_the_start_is_asked_again(stage: Stage) -> None:
    stage.vault.dead = True
    stage.reader.use(stage.catalogue("kv1/app/db"))
    with pytest.raises(Refused, match=r"the field password of secret/app/db in the vault has not been read: .*answer"):
        stage.reader(PASSWORD)
    unheard = stage.vault.unheard
    stage.later(5.0)
    assert stage.vault.unheard == unheard, "too soon"
    stage.vault.dead = False
    stage.later(6.0)
    assert stage.reader(PASSWORD) == "first"


def test_a_secret_that_was_deleted_stays_until_the_file_stops_naming_it(stage: Stage) -> None:
    stage.reader.use(stage.catalogue("kv1/app/db"))
    stage.vault.write("secret/app/db", None)
    stage.later(301.0)
    assert stage.reader(PASSWORD) == "first"
    stage.reader.use(parse("clouds: {local: {process: {}}}\n", "model.yaml"))
    with pytest.raises(Refused, match="has not been read"):
        stage.reader(PASSWORD)


def test_a_login_at_another_vault_forgets_what_the_first_one_said(stage: Stage) -> None:
    stage.reader.use(stage.catalogue())
    with FakeVault.running() as other:
        other.tokens = dict(stage.vault.tokens)
        other.write("secret/app/db", {"password": "other"})
        stage.reader.use(parse(MODEL.format(url=other.url, second="secret/app/db"), "model.yaml"))
        assert stage.reader(PASSWORD) == "other"


def test_a_new_token_takes_effect_with_the_next_reading(stage: Stage) -> None:
    stage.reader.use(stage.catalogue())
    stage.vault.revoke_all()
    stage.later(301.0)
    assert stage.reported == [("secret/app/db", True)]
    stage.environ["TOKEN"] = stage.vault.token()
    stage.later(11.0)
    assert stage.reported[-1] == ("secret/app/db", False)


@pytest.mark.parametrize("field", ["empty", "missing"])
def test_a_field_that_holds_nothing_is_no_secret(stage: Stage, field: str) -> None:
    stage.reader.use(stage.catalogue())
    with pytest.raises(Refused, match=f"the field {field} of secret/app/db in the vault holds no secret"):
        stage.reader(SecretRef(vault="secret/app/db", field=field))


@pytest.mark.parametrize(
    "fault",
    [
        answered(b'{"errors":["Vault is sealed: first"]}', status=503),
        answered(b"<html>first</html>", status=200),
        answered(b'{"data": null}', status=200),
        answered(b'{"data": "first"}', status=200),
        answered(b"{}", status=307, headers=(("Location", "http://127.0.0.1:9/"),)),
        answered(b"first" * 3_000_000, status=200),
    ],
    ids=["sealed", "no JSON", "no data", "data of another kind", "a standby", "too large"],
)
def test_a_strange_answer_is_an_outage_and_not_repeated(stage: Stage, fault: object) -> None:
    stage.reader.use(stage.catalogue())
    stage.vault.script("secret/data/app/db", fault)  # type: ignore[arg-type]
    reported = list[str | None]()
    stage.reader._report = lambda _, wrong: reported.append(wrong)
    stage.later(301.0)
    (wrong,) = reported
    assert wrong is not None
    assert "first" not in wrong
    assert stage.reader(PASSWORD) == "first"


def test_secrets_of_this_machine_need_no_vault(tmp_path: Path) -> None:
    reader = SecretReader({"COMMUNITY": "public"}, lambda: 0.0)
    assert reader(SecretRef(env="COMMUNITY")) == "public"


def test_the_status_says_which_sections_secrets_could_not_be_read_and_for_how_long(stage: Stage) -> None:
    assert stage.reader.status() is None, "no file refers to a vault"
    stage.reader.use(stage.catalogue("kv1/app/db"))
    fresh = stage.reader.status()
    assert fresh == VaultStatus(
        url=stage.vault.url, counts={("profiles", SecretState.FRESH): 2}, failing=0.0, because=""
    )

    stage.vault.dead = True
    stage.later(301.0)
    stage.later(120.0)
    away = stage.reader.status()
    assert away is not None
    assert (away.counts, away.failing) == ({("profiles", SecretState.STALE): 2}, 120.0)
    assert away.because

    stage.vault.dead = False
    stage.later(11.0)
    assert stage.reader.status() == fresh


def test_a_secret_that_was_never_read_is_missing_and_others_are_fresh(stage: Stage) -> None:
    stage.reader.use(stage.catalogue("secret/other/db"))

    status = stage.reader.status()

    assert status is not None
    assert status.counts == {("profiles", SecretState.FRESH): 1, ("profiles", SecretState.MISSING): 1}
    assert "first" not in status.because
    assert status.sections(SecretState.MISSING) == ("profiles",)
