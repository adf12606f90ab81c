"""The messages of `trimtab run` about a state directory that is not safely its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.daemon import typed

MODEL = """\
clouds: {local: {process: {}}}
profiles: {web: {cloud: local, command: [sleep, "60"]}}
groups: {web: {profile: web, min: 0, max: 1}}
"""


@pytest.mark.parametrize("command", [("run", "model.yaml"), ("status",), ("backup", "copy")], ids=" ".join)
def test_an_empty_state_directory_is_not_the_current_one(command: tuple[str, ...]) -> None:
    result = typed(*command, "--state", "")

    assert (result.code, "an empty name is no directory" in result.err) == (2, True), result


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [("", 0o600, "holds 0 characters, expected one word"), ("k" * 43, 0o666, "has mode 0666, expected 0600")],
)
def test_a_daemon_does_not_start_with_a_token_that_others_could_have(
    tmp_path: Path, content: str, mode: int, words: str
) -> None:
    (tmp_path / "model.yaml").write_text(MODEL)
    state = tmp_path / "state"
    state.mkdir()
    (state / "token").write_text(content)
    (state / "token").chmod(mode)
    result = typed("run", str(tmp_path / "model.yaml"), "--port", "0", "--state", str(state))
    assert (result.code, words in result.err, f"{state}/token" in result.err) == (1, True, True)
    assert not (state / "trimtab.sqlite").exists()
