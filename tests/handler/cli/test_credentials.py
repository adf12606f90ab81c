"""`trimtab user key` and `trimtab seal`: pairs are made, rotated and sealed anew, and a backup leaves the key out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.daemon import CommandResult, Daemon, a_daemon

MODEL = """\
clouds: {box: {process: {}}}
profiles: {app: {cloud: box, command: [sleep, "3600"]}}
groups:
  web: {profile: app, min: 0, max: 2}
"""


@pytest.fixture
def fresh() -> Iterator[Daemon]:
    with a_daemon(MODEL) as daemon:
        yield daemon.start()


def keys_of(made: CommandResult) -> tuple[str, str]:
    """The API key and the secret key that a command showed."""
    assert made.code == 0, made
    shown = dict(line.split("=", 1) for line in made.out.splitlines())
    return shown["api_key"], shown["secret_key"]


def test_pairs_are_shown_once_and_outlive_rotations_restarts_and_restores(fresh: Daemon) -> None:
    assert "nothing is sealed" in fresh.trimtab("seal", "rotate").err
    assert "none yet" in fresh.trimtab("seal", "status").out
    assert fresh.trimtab("user", "init", "ada", "--anonymous", "none").code == 0
    old_api_key, old_secret = keys_of(fresh.trimtab("user", "key", "new", "ada"))
    api_key, secret = keys_of(fresh.trimtab("user", "key", "rotate", "ada", "--expires", "never"))
    assert (old_api_key, old_secret) != (api_key, secret)
    (listed,) = fresh.json("user", "key", "list")
    assert (listed["api_key"], listed["rotating"], listed["opens"], listed["expires_at"]) == (api_key, True, True, None)
    assert "ada default: the old pair has ended" in fresh.trimtab("user", "key", "rotate", "ada", "--finish").out

    key = (fresh.state / "seal-key").read_text()
    assert "sealed anew: 1" in fresh.trimtab("seal", "rotate").out
    assert (fresh.state / "seal-key").read_text() != key
    copy, newest = fresh.place / "copy", (fresh.state / "seal-key").read_text()
    assert fresh.trimtab("backup", str(copy)).code == 0

    fresh.stop()
    (fresh.state / "seal-key").unlink()
    assert "put that file back" in fresh.trimtab("restore", str(copy)).out
    fresh.start()
    assert "cannot be opened" in fresh.trimtab("user", "key", "list").out
    assert "put that key back and reload" in fresh.trimtab("seal", "status").out
    assert "put the file back" in fresh.trimtab("user", "key", "new", "ada", "more").err
    (fresh.state / "seal-key").write_text(newest)
    (fresh.state / "seal-key").chmod(0o600)
    assert fresh.trimtab("reload").code == 0
    assert "cannot be opened" not in fresh.trimtab("user", "key", "list").out
    assert fresh.trimtab("user", "key", "revoke", "ada").out == "ada default: revoked\n"

    kept = b"".join(path.read_bytes() for path in (copy, fresh.log, *fresh.state.glob("trimtab.sqlite*")))
    assert not [secret for secret in (old_secret, secret, key.strip(), newest.strip()) if secret.encode() in kept]
