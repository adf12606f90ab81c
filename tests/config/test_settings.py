from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from config.errors import DeclarationError, Refused
from config.load import parse
from config.model.access import SecretRef
from config.settings import loose_secrets, read_secret, state_directory, unread_secrets


def secret_file(path: Path, content: bytes = b"hunter2\n", mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_secret_comes_from_the_variable_that_is_named() -> None:
    assert read_secret(SecretRef(env="COMMUNITY"), {"COMMUNITY": "hunter2", "OTHER": "x"}) == "hunter2"


@pytest.mark.parametrize("environ", [{}, {"COMMUNITY": ""}], ids=["unset", "empty"])
def test_a_variable_without_a_secret_is_refused_by_name(environ: dict[str, str]) -> None:
    with pytest.raises(Refused, match="COMMUNITY holds no secret"):
        read_secret(SecretRef(env="COMMUNITY"), environ)


@pytest.mark.parametrize("content", [b"hunter2", b"hunter2\n", b"hunter2\r\n"])
def test_a_secret_comes_from_a_file_without_its_line_end(tmp_path: Path, content: bytes) -> None:
    assert read_secret(SecretRef(file=str(secret_file(tmp_path / "s", content))), {}) == "hunter2"


def test_a_file_that_its_group_can_read_is_accepted(tmp_path: Path) -> None:
    assert read_secret(SecretRef(file=str(secret_file(tmp_path / "s", mode=0o640))), {}) == "hunter2"


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        (b"hunter2", 0o604, "can be read by every user: chmod o-r"),
        (b"hunter2", 0o602, "can be changed by every user: chmod o-w"),
        (b"\n", 0o600, "is empty"),
        (b"hunter2\xff", 0o600, "is not UTF-8 text"),
        (b"hunter2" * 10_000, 0o600, "is larger than 65536 bytes"),
    ],
    ids=["world-readable", "world-writable", "empty", "not-text", "too-large"],
)
def test_an_unfit_file_is_refused_by_name_and_its_content_is_not_repeated(
    tmp_path: Path, content: bytes, mode: int, why: str
) -> None:
    path = secret_file(tmp_path / "s", content, mode)
    with pytest.raises(Refused, match=why) as caught:
        read_secret(SecretRef(file=str(path)), {})
    assert str(path) in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


MODEL = """\
clouds: {local: {process: {}}}
profiles:
  web: {cloud: local, command: [serve], snmp: {community: {file: %s}}}
  api: {cloud: local, command: [serve], snmp: {community: {env: COMMUNITY}}}
groups:
  web: {profile: web, min: 0, max: 1}
  api: {profile: api, min: 0, max: 1}
"""


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        (0o600, None),
        (0o400, None),
        (0o640, "can be read by its group, and Trimtab owns it: chmod 600"),
        (0o660, "can be changed by its group: chmod g-w"),
    ],
)
def test_a_secret_that_is_open_to_a_group_without_need_is_warned_of_at_its_entry(
    tmp_path: Path, mode: int, why: str | None
) -> None:
    file = secret_file(tmp_path / "s", mode=mode)
    found = loose_secrets(parse(MODEL % file, "model.yaml"))
    assert [(warning.line, warning.message) for warning in found] == (
        [] if why is None else [(3, f"the secret's file {file} {why} {file}")]
    )


def test_a_secret_that_is_not_there_is_no_matter_of_permissions(tmp_path: Path) -> None:
    assert loose_secrets(parse(MODEL % (tmp_path / "missing"), "model.yaml")) == ()


def reading(environ: dict[str, str]) -> Callable[[SecretRef], str]:
    return partial(read_secret, environ=environ)


def test_secrets_that_cannot_be_read_are_reported_at_their_entries_and_never_shown(tmp_path: Path) -> None:
    file, missing = secret_file(tmp_path / "s", mode=0o600), tmp_path / "missing"

    def problems(file: Path, environ: dict[str, str]) -> list[tuple[int, str]]:
        return [
            (each.line, each.message) for each in unread_secrets(parse(MODEL % file, "model.yaml"), reading(environ))
        ]

    assert problems(file, {"COMMUNITY": "public"}) == []
    assert problems(missing, {}) == [
        (3, f"the secret's file {missing} cannot be read: No such file or directory (as seen here)"),
        (
            4,
            "the environment variable COMMUNITY holds no secret: set it before starting trimtab (as seen here)",
        ),
    ]


def test_a_secret_that_several_entries_share_is_reported_once() -> None:
    text = MODEL.replace("{file: %s}", "{env: COMMUNITY}")
    assert [each.line for each in unread_secrets(parse(text, "model.yaml"), reading({}))] == [3]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another account")
def test_a_group_is_how_one_account_reads_the_secret_of_another(tmp_path: Path) -> None:
    file = secret_file(tmp_path / "s", mode=0o640)
    os.chown(file, 54321, -1)
    assert loose_secrets(parse(MODEL % file, "model.yaml")) == ()


@pytest.mark.parametrize("name", ["missing", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        read_secret(SecretRef(file=f"{tmp_path}/{name}"), {})


def test_a_reference_to_nothing_is_refused() -> None:
    with pytest.raises(Refused, match="must name"):
        read_secret(SecretRef(), {})


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"TRIMTAB_STATE": "/a", "XDG_STATE_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"XDG_STATE_HOME": "/b", "HOME": "/c"}, "/b/trimtab"),
        ({"XDG_STATE_HOME": "b", "HOME": "/c"}, "/c/.local/state/trimtab"),
        ({"HOME": "/c"}, "/c/.local/state/trimtab"),
    ],
    ids=["chosen", "shared", "relative-is-ignored", "home"],
)
def test_state_is_kept_where_the_environment_says(environ: dict[str, str], path: str) -> None:
    assert state_directory(environ) == Path(path)


def test_a_relative_choice_is_made_absolute() -> None:
    assert state_directory({"TRIMTAB_STATE": "state"}) == Path.cwd() / "state"


def test_a_secret_comes_from_a_credential_of_the_service(tmp_path: Path) -> None:
    secret_file(tmp_path / "community", mode=0o400)
    assert read_secret(SecretRef(credential="community"), {"CREDENTIALS_DIRECTORY": str(tmp_path)}) == "hunter2"


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({}, "the service has none .*LoadCredential=community:"),
        ({"CREDENTIALS_DIRECTORY": "relative"}, "the service has none"),
        ({"CREDENTIALS_DIRECTORY": "/nonexistent"}, "/nonexistent/community cannot be read"),
    ],
    ids=["no folder", "a relative folder", "no such credential"],
)
def test_a_credential_that_is_not_there_is_refused_by_name(environ: dict[str, str], why: str) -> None:
    with pytest.raises(Refused, match=why):
        read_secret(SecretRef(credential="community"), environ)


@pytest.mark.parametrize("name", ["../token", "a/b", ".hidden", "", "a b"])
def test_the_name_of_a_credential_leads_out_of_no_folder(name: str) -> None:
    text = f"seal: {{key: {{credential: {name!r}}}}}\nclouds: {{box: {{process: {{}}}}}}\n"
    with pytest.raises(DeclarationError, match="credential"):
        parse(text, "model.yaml")
