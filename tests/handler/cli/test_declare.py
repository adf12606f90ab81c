"""`trimtab declare`, against a real daemon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from config.load import load
from tests.support.daemon import Daemon, a_daemon

MODEL = """\
counters: {load: {push: LOAD, range: [0, 100]}}
conditions: {busy: {counter: load, above: 80}}
policies: {out: {when: [busy], add: 1}}
clouds: {lab: {simulated: {}}}
profiles: {web: {cloud: lab}}
groups: {web: {profile: web, min: 0, max: 4, policies: [out]}}
"""
ENTRIES = """\
policies:
  Rush hour: {when: [busy], add: 2}
groups:
  Shop: {profile: web, min: 0, max: 3, policies: [Rush hour]}
"""


@pytest.fixture
def entries(tmp_path: Path) -> Path:
    file = tmp_path / "shop.yaml"
    file.write_text(ENTRIES)
    return file


def declare(daemon: Daemon, *words: str | Path) -> list[str]:
    result = daemon.trimtab("declare", *map(str, words))
    assert result.code == 0, result
    return result.out.splitlines()


def test_entries_of_a_file_are_shown_applied_listed_restored_and_exported(entries: Path, tmp_path: Path) -> None:
    with a_daemon(MODEL) as daemon:
        daemon.start()
        assert declare(daemon, "diff", entries)[0] == "would change:"
        assert declare(daemon, "revisions") == ["nothing was ever declared over the API"]
        assert declare(daemon, "apply", entries) == [
            "revision 1:",
            "  groups.shop-jhrjn (Shop): added",
            "  policies.rush-hour-b6z4v (Rush hour): added",
            "  group shop-jhrjn: added, 0 members",
        ]
        assert declare(daemon, "apply", entries) == ["nothing changes"]
        owners = {each["id"]: each["owner"] for each in daemon.json("declare", "list", "groups")}
        assert owners == {"web": "file", "shop-jhrjn": "api"}
        assert declare(daemon, "show", "groups", "shop-jhrjn")[1:] == [
            "used by: nothing",
            "  max: 3",
            "  min: 0",
            '  policies: ["rush-hour-b6z4v"]',
            '  profile: "web"',
        ]
        both = tmp_path / "both.yaml"
        both.write_text("\n".join(declare(daemon, "export")))
        assert load(both).groups.keys() == owners.keys()
        assert "groups.shop-jhrjn (Shop): removed" in declare(daemon, "restore", "0", "--dry-run")[1]
        assert declare(daemon, "delete", "groups", "shop-jhrjn")[0] == "revision 2:"
        assert [each["number"] for each in daemon.json("declare", "revisions")] == [2, 1]


def test_what_is_refused_exits_1_and_says_where(entries: Path) -> None:
    with a_daemon(MODEL) as daemon:
        daemon.start()
        entries.write_text(ENTRIES.replace("max: 3", "max: -1"))
        refused = daemon.trimtab("declare", "apply", str(entries))
        assert refused.code == 1
        assert "api/groups/shop-jhrjn:1: groups.shop-jhrjn.max" in refused.out
        entries.write_text("clouds: {other: {simulated: {}}}\n")
        elsewhere = daemon.trimtab("declare", "apply", str(entries), "--json")
        assert elsewhere.code == 1
        assert f"{entries}:1: clouds: expected sections with entries" in json.loads(elsewhere.out)["error"]
        owned = daemon.trimtab("declare", "delete", "groups", "web")
        assert (owned.code, "belongs to the file, at" in owned.err) == (1, True)
