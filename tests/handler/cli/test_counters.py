from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from handler.cli.main import app
from tests.support.mibs import QUEUE_MIB, folder_of


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def counters(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["counters", *words])
    return done.exit_code, done.output


def test_every_name_is_listed_as_it_is_written() -> None:
    code, output = counters()

    assert code == 0
    for written in (
        "builtin: Linux User CPU - percentage",
        "snmp: UCD-SNMP-MIB::ssCpuUser.0",
        "snmp: HOST-RESOURCES-MIB::hrProcessorLoad.N",
        "haproxy: scur",
        "netscaler: avgsvrttfb",
    ):
        assert f"  {written}  " in output


def test_a_word_narrows_the_list() -> None:
    _, output = counters("idle")

    assert "ssCpuIdle" in output
    assert "ifHCInOctets" not in output
    assert "say with rows" not in output


def test_json_tells_the_same() -> None:
    _, output = counters("one processor was busy", "--json")

    assert json.loads(output) == [
        {
            "group": "HOST-RESOURCES-MIB",
            "source": "snmp",
            "name": "HOST-RESOURCES-MIB::hrProcessorLoad",
            "table": True,
            "per": ["member"],
            "kind": "gauge",
            "unit": "percent",
            "description": "Time that one processor was busy, over the last minute.",
        }
    ]


def test_a_word_that_is_nowhere_is_reported_with_the_nearest_name() -> None:
    code, output = counters("hrProcesorLoad")

    assert code == 1
    assert output == (
        "no counter has 'hrProcesorLoad' in its name, unit or description; the nearest is hrProcessorLoad\n"
    )
    assert "error" in json.loads(counters("zzz", "--json")[1].splitlines()[0])


def test_objects_of_ones_own_mibs_are_listed_too(tmp_path: Path) -> None:
    code, output = counters("ACME", "--mibs", folder_of(tmp_path / "mibs", queue=QUEUE_MIB))

    assert code == 0
    assert "snmp: ACME-QUEUE-MIB::queueTotal.0  " in output
    assert "snmp: ACME-QUEUE-MIB::laneDepth.N " in output


def test_what_is_wrong_with_mibs_is_reported(tmp_path: Path) -> None:
    assert counters("--mibs", str(tmp_path / "no")) == (
        1,
        f"the folder {tmp_path}/no cannot be read: No such file or directory\n",
    )


def test_help_does_not_load_the_tables() -> None:
    tables = {"config.counters.well_known", "rich.table"}
    code = f"import sys, handler.cli.main; sys.exit(bool({tables} & sys.modules.keys()))"

    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0
