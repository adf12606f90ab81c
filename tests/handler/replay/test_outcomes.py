from __future__ import annotations

from pathlib import Path

from tests.support.replay import decided, declared, flat, happened, run_of, written


def test_a_line_has_the_keys_of_the_contract_in_their_order(tmp_path: Path) -> None:
    (line, *_) = run_of(written(tmp_path / "s.csv", flat(50, 1))).lines

    assert list(line.plain()) == ["at", "group", "policy", "outcome", "reason", "desired_from", "desired_to"]


def test_a_request_for_the_present_size_moves_nothing(tmp_path: Path) -> None:
    unmoved = declared(("remove: 1,", "set: 2,"))

    assert decided(run_of(written(tmp_path / "s.csv", flat(5, 3)), unmoved))[-1] == (60, "none", "no_change", 2)


def test_a_persons_line_names_no_policy(tmp_path: Path) -> None:
    asked = happened(10, cause="person", by="ann", desired_from=2, desired_to=3)

    run = run_of(written(tmp_path / "s.csv", flat(50, 2)), None, [happened(-9, desired_to=2), asked])

    assert [(line.policy, line.outcome.value) for line in run.lines] == [(None, "out")]
