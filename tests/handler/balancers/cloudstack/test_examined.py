from __future__ import annotations

from pathlib import Path

from handler.operations.examining import asked
from tests.support.cloudstack_rules import rule_stage
from tests.support.examined import OK


def test_the_account_of_a_rule_tells_its_version_and_what_time_it_is(tmp_path: Path) -> None:
    with rule_stage(tmp_path) as stage:
        version, clock = asked(stage.driver().checks("front"), 10.0)

    assert version.verdict is OK
    assert version.words.startswith("CloudStack 4.")
    assert clock.words.startswith("its clock ")
