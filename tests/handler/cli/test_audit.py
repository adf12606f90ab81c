"""`trimtab audit`: a trail of a real daemon, listed, exported, and examined after it was tampered with."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator

import pytest

from tests.support.daemon import Daemon, a_daemon

MODEL = """\
clouds: {box: {process: {}}}
profiles: {app: {cloud: box, command: [sleep, "3600"]}}
groups:
  web: {profile: app, min: 0, max: 2}
  db: {profile: app, min: 0, max: 2}
"""


_SWAPPED = """\
UPDATE audit SET number = -2 WHERE number = 2;
UPDATE audit SET number = 2 WHERE number = 4;
UPDATE audit SET number = 4 WHERE number = -2;
"""


_REASON = "нагрузка, 50 % mehr ⚖"


@pytest.fixture(scope="module")
def audited() -> Iterator[Daemon]:
    with a_daemon(MODEL) as daemon, pytest.MonkeyPatch.context() as patch:
        daemon.start()
        for group in ("web", "db"):
            assert daemon.trimtab("pause", group).code == 0
        patch.setenv("TRIMTAB_REASON", _REASON)
        assert daemon.trimtab("scale", "web", "9").code == 1
        daemon.stop()
        yield daemon


def test_the_trail_is_listed_by_group_and_who_with_results(audited: Daemon) -> None:
    web = audited.json("audit", "list", "--group", "web")
    assert [(line["act"], line["result"]) for line in web] == [("pause", "done"), ("scale", "refused")]
    assert [line["act"] for line in audited.json("audit", "list", "--who", "start")] == ["start"]
    (scaled,) = audited.json("audit", "list", "--group", "web", "--limit", "1")
    assert (scaled["act"], scaled["because"]) == ("scale", _REASON)
    assert "PUT /groups/web/size" in audited.trimtab("audit", "list").out
    assert "socket uid" in audited.trimtab("audit", "list").out


def test_an_untouched_trail_is_whole_and_its_export_is_the_copy(audited: Daemon) -> None:
    assert audited.trimtab("audit", "verify").code == 0
    assert audited.json("audit", "verify") == {"rows": 7, "problems": []}
    assert audited.trimtab("audit", "export").out == (audited.state / "audit.jsonl").read_text()
    assert (audited.state / "audit.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("tampering", "words"),
    [
        ("UPDATE audit SET line = replace(line, '\"web\"', '\"db\"') WHERE number = 2", "row 2 was altered"),
        ("DELETE FROM audit WHERE number = 3", "row 3 is missing"),
        ("DELETE FROM audit WHERE number > 5", "rows 6 to 7 are in the copy only"),
        (_SWAPPED, "row 2 holds what was row 4"),
    ],
    ids=["altered", "removed", "cut", "moved"],
)
def test_a_trail_that_was_tampered_with_is_not_whole(audited: Daemon, tampering: str, words: str) -> None:
    store = audited.state / "trimtab.sqlite"
    before = store.read_bytes()
    try:
        with contextlib.closing(sqlite3.connect(store)) as connection:
            connection.executescript(tampering)
        found = audited.trimtab("audit", "verify")
        assert (found.code, words in found.out) == (1, True), found
    finally:
        store.write_bytes(before)


def test_a_copy_that_was_cut_is_not_whole(audited: Daemon) -> None:
    copy = audited.state / "audit.jsonl"
    before = copy.read_text()
    try:
        copy.write_text("".join(before.splitlines(keepends=True)[1:]))
        assert "row 1 is in the store only" in audited.trimtab("audit", "verify").out
    finally:
        copy.write_text(before)


def test_every_line_of_the_copy_is_json_with_a_digest(audited: Daemon) -> None:
    lines = [json.loads(line) for line in (audited.state / "audit.jsonl").read_text().splitlines()]
    assert [line["row"]["number"] for line in lines] == list(range(1, 8))
    assert len({line["digest"] for line in lines}) == 7
