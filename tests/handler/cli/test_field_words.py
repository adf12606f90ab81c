from __future__ import annotations

import pytest
import typer.main

from handler.cli.field_words import option_words
from handler.cli.main import app
from tests.support.daemon import Daemon

REFUSED = {
    "freeze web --for 1000000d": "--for: expected at most 366d\n",
    "freeze web --for 0s": "--for: expected more than 0s\n",
    "record on --for 5000d": "--for: expected at most 366d\n",
    "scale web 9999999999": "N: expected at most 1000000\n",
    "token new ada x --expires 5000d": "--expires: expected at most 3660d\n",
    "user key rotate ada x --expires 5000d": "--expires: expected at most 3660d\n",
    "hook new x --effects fire,foo": "--effects: expected fire, floor, shield, freeze or value\n",
    "hook new x --directions up": "--directions: expected out or in\n",
    f"user add {'n' * 65} --role viewer": "NAME: expected at most 64 characters\n",
    "account add books --groups 99999999": "--groups: expected at most 1000000\n",
    f"pause --all --because {'x' * 500}": "--because: expected at most 200 characters\n",
}


@pytest.mark.parametrize(("line", "words"), REFUSED.items(), ids=[line[:40] for line in REFUSED])
def test_a_field_that_the_daemon_refuses_is_a_wrong_option_with_its_unit(daemon: Daemon, line: str, words: str) -> None:
    result = daemon.trimtab(*line.split())

    assert (result.code, result.err) == (2, words)
    assert daemon.trimtab(*line.split(), "--json").json == {"error": words.strip()}


def test_the_rights_that_there_are_are_named(daemon: Daemon) -> None:
    result = daemon.trimtab("token", "new", "ada", "x", "--verbs", "read,fly")

    assert (result.code, result.err.startswith("--verbs: expected read, metrics, examine, scale, ")) == (2, True)


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        ("body.name: Value error, no name", "NAME: Value error, no name"),
        (
            "body.name: Input should be a valid string; query.x: too odd",
            "NAME: expected a valid string; query.x: too odd",
        ),
        ("the body is no JSON", "the body is no JSON"),
    ],
)
def test_what_has_no_option_or_no_known_form_stays_as_it_is(refused: str, words: str) -> None:
    add = typer.main.get_command(app).commands["user"].commands["add"]  # type: ignore[attr-defined]

    assert option_words(refused, add.params) == words
