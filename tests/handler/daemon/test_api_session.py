"""The session with curl in docs/api.md does what the page says, on a real daemon."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.daemon import a_daemon

PAGE = Path(__file__).parents[3] / "docs" / "api.md"
SESSION = PAGE.read_text().partition("## A session")[2]
pytestmark = pytest.mark.real("curl")
_MARK = "--- done ---"


def shown(language: str) -> str:
    """The blocks of the session in one language."""
    return "".join(re.findall(rf"^```{language}\n(.*?)^```", SESSION, re.MULTILINE | re.DOTALL))


def test_every_command_of_the_session_prints_what_the_page_shows() -> None:
    steps = [step.partition("\n") for step in shown("console").removeprefix("$ ").split("\n$ ")]
    with a_daemon(shown("yaml")) as daemon:
        daemon.start()
        daemon.settled(1)
        token = (daemon.state / "token").read_text().strip()
        script = "".join(f"{command}\necho; echo '{_MARK}'\n" for command, _, _ in steps)
        environment = {"API": f"http://127.0.0.1:{daemon.port}/api/v1", "TOKEN": token, "PATH": "/usr/bin:/bin"}
        done = subprocess.run(["bash"], input=script, env=environment, capture_output=True, text=True, check=True)
    answers = done.stdout.split(f"{_MARK}\n")
    assert len(steps) == len(answers) - 1
    for (command, _, expected), answer in zip(steps, answers, strict=False):
        pattern = ".*?".join(map(re.escape, expected.strip().split("…")))
        assert re.fullmatch(pattern, answer.strip(), re.DOTALL), (command, answer, done.stderr)
