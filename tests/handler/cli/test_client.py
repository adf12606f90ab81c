from __future__ import annotations

import os
import pwd

import pytest

from handler.cli import client


def test_who_has_no_name_in_the_environment_is_named_by_the_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.delenv("USER", raising=False)
    assert client._user() == pwd.getpwuid(os.getuid()).pw_name


def test_who_became_root_is_named_as_who_he_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "åsa")
    assert client._user() == "?sa"
