from __future__ import annotations

import os
import pwd

import pytest

from handler.cli import client
from handler.operations.address import reason_of


@pytest.fixture(autouse=True)
def no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SUDO_USER", "USER", "TRIMTAB_REASON"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_name_in_the_environment_the_account_names_the_caller() -> None:
    assert client._caller() == {"X-Trimtab-User": pwd.getpwuid(os.getuid()).pw_name}


def test_under_sudo_the_caller_is_the_user_who_typed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "root")
    monkeypatch.setenv("SUDO_USER", "åsa")
    assert client._caller() == {"X-Trimtab-User": "?sa"}


def test_a_reason_goes_along_in_any_script_up_to_its_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "ann")
    reason = "проверка нагрузки, 50 % " + "x" * 300
    monkeypatch.setenv("TRIMTAB_REASON", reason)
    assert reason_of(client._caller()["X-Trimtab-Reason"]) == reason[:200]
