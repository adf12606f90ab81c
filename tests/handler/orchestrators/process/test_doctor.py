from __future__ import annotations

import resource
from pathlib import Path

import pytest

from config.model.recipes import ResourceLimits
from handler.orchestrators.process import doctor as process_examined
from handler.orchestrators.process.doctor import checks_of
from handler.ports.examination import CheckVerdict
from tests.support.examined import a_profile
from tests.support.orchestrators import a_recipe


def looked(what: str, directory: Path, **recipe: object):
    (check,) = (each for each in checks_of([a_profile(a_recipe(**recipe))], directory, {}) if each.what == what)
    return check.look()


def test_a_program_that_gains_privileges_is_reported_before_it_fails(tmp_path: Path) -> None:
    program = tmp_path / "ping"
    program.touch()
    program.chmod(0o4755)

    refused = looked("command", tmp_path, command=("./ping",))
    declared = looked("command", tmp_path, command=("./ping",), new_privileges=True)

    assert (refused.verdict, declared.verdict) == (CheckVerdict.PROBLEM, CheckVerdict.OK)
    assert refused.remedy.startswith("write new_privileges: true into the profile")


@pytest.mark.parametrize(
    ("limits", "words", "remedy"),
    [
        pytest.param({"open_files": 99}, "the limits are within what this process may give", "", id="within"),
        pytest.param(
            {"open_files": 101},
            "open_files 101 is above what this process may give, 100",
            "lower it, or raise LimitNOFILE= in the unit of Trimtab",
            id="above",
        ),
        pytest.param(
            {"cpu_time": 97.0},
            "cpu_time 97 is above what this process may give, 95",
            "lower it, or raise LimitCPU= in the unit of Trimtab",
            id="above with its last seconds",
        ),
    ],
)
def test_limits_are_held_against_our_own(
    limits: dict[str, float], words: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_examined, "may_raise_limits", lambda: False)

    look = process_examined._limits(a_recipe(limits=ResourceLimits(**limits)), lambda _: (100, 100))  # type: ignore[arg-type]

    assert (look.words, look.remedy) == (words, remedy)


def test_no_limit_is_above_none(tmp_path: Path) -> None:
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)

    look = process_examined._limits(a_recipe(limits=ResourceLimits(memory=2**50)), lambda _: unlimited)

    assert look.verdict is CheckVerdict.OK
