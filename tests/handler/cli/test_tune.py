"""`trimtab tune`, as a person uses it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from handler.command import app
from tests.support.replay import flat, written
from tests.support.tuning import SHARED

SWEEP = ("--condition", "busy", "--sweep", "80..95:5")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("web.yaml").write_text("# ours\n" + SHARED)
    written(Path("series.csv"), [*flat(50, 10), *flat(90, 30, since=10)])


def tuned(*words: str, file: str = "web.yaml", series: str = "series.csv") -> Result:
    return CliRunner().invoke(app, ["tune", file, "--series", series, *words])


def test_people_see_the_frontier_and_the_lines_to_change() -> None:
    done = tuned("web", *SWEEP, "--goal", "over 2h/day")

    shown = done.stdout.splitlines()
    assert done.exit_code == 0
    assert shown[0] == "web: 4 settings over 20m; over: minutes with cpu (avg) above 80"
    assert [line.split() for line in shown[1:4]] == [
        ["MEMBER-HOURS", "OVER", "CHANGES", "BUSY.ABOVE"],
        ["0.67", "15.0", "0", "90"],
        ["today,", "safe", "0.90", "2.0", "1", "80"],
    ]
    assert "no setting keeps the goal: at most 120 minutes over a day" in shown
    assert "web: a member serves 1m after it is ordered (--boot); the load does not react" in done.stderr


def test_a_proposal_is_a_patch_of_the_file() -> None:
    Path("web.yaml").write_text("# ours\n" + SHARED.replace("above: 80}", "above: 95}  # since spring"))

    done = tuned(
        "web", "--condition", "busy", "--sweep", "80..95:5", "--limit", "80", "--goal", "over 3h/day", "--json"
    )

    (tuning,) = [json.loads(line) for line in done.stdout.splitlines()]
    (lean,) = [each for each in tuning["proposals"] if "lean" in each["choice"]]
    assert tuning["today"]["outcome"]["over"] == 15.0
    assert lean["setting"] == {"conditions.busy.above": "85"}
    assert lean["outcome"]["over"] == 2.0
    assert lean["diff"].splitlines()[2:] == [
        "@@ -7 +7 @@",
        "-  busy: {counter: cpu, above: 95}  # since spring",
        "+  busy: {counter: cpu, above: 85}  # since spring",
    ]


def test_another_file_is_shown_beside_it() -> None:
    Path("other.yaml").write_text(SHARED.replace("above: 80", "above: 95"))

    done = tuned("web", *SWEEP, "--against", "other.yaml", "--json")

    (tuning,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert tuning["against"] == {"hours": pytest.approx(40 / 60), "over": 15.0, "changes": 0, "reversals": 0}


def test_table_and_picture_are_written() -> None:
    done = tuned("web", *SWEEP, "--out", "all.csv", "--out", "frontier.svg", "--out", "frontier.png")

    assert done.exit_code == 0
    with Path("all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["conditions.busy.above"] for row in rows} == {"80", "85", "90", "95"}
    assert Path("frontier.svg").read_text().startswith("<svg ")
    assert Path("frontier.png").read_bytes().startswith(b"\x89PNG")


def test_a_search_needs_no_sweep() -> None:
    done = tuned("web", "--trials", "20", "--json")

    (tuning,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert set(tuning["today"]["setting"]) >= {"conditions.busy.above", "policies.out.quiet_time"}
    assert tuning["tried"] > 10


def test_several_groups_are_compared_by_what_they_would_save() -> None:
    Path("web.yaml").write_text(
        SHARED.replace("web: {profile", "api: {profile: web, min: 1, max: 3, policies: [out]}\n  web: {profile")
    )
    rows = Path("series.csv").read_text().splitlines()
    Path("series.csv").write_text("\n".join([*rows, *(row.replace(",web,", ",api,") for row in rows[1:])]))

    done = tuned(*SWEEP, "--goal", "over 24h/day")

    assert done.exit_code == 0
    assert [line.split() for line in done.stdout.splitlines()[-4:]] == [
        ["GROUP", "TODAY", "LEAN", "CALM", "SAFE"],
        ["api", "0.90", "0.67", "(-25.9", "%)", "0.67", "(-25.9", "%)", "0.90", "(+0.0", "%)"],
        ["web", "0.90", "0.67", "(-25.9", "%)", "0.67", "(-25.9", "%)", "0.90", "(+0.0", "%)"],
        ["all:", "1.80", "member-hours,", "-25.9", "%", "with", "the", "lean", "settings"],
    ]


def test_a_group_that_cannot_be_tuned_says_why_and_others_are_tuned() -> None:
    text = SHARED.replace("web: {profile", "api: {profile: web, min: 1, max: 3, policies: [deep]}\n  web: {profile")
    text = text.replace("policies:\n", "policies:\n  deep: {when: [long], add: 1}\n", 1)
    Path("web.yaml").write_text(text.replace("conditions:\n", "conditions:\n  long: {counter: backlog, above: 5}\n", 1))

    done = tuned("--trials", "20", "--json")

    by_group = {each["group"]: each for each in map(json.loads, done.stdout.splitlines())}
    assert done.exit_code == 1
    assert "it is not known what backlog would have been at another size" in by_group["api"]["refused"]
    assert by_group["web"]["proposals"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("web", "--sweep", "1..2"), 2, "--sweep goes with --condition NAME or --policy NAME"),
        (("web", "--out", "x.jpg"), 2, "expected a name that ends in .csv, .svg or .png"),
        (("shop",), 1, "there is no group shop; there are web"),
        (("web", "--condition", "none"), 1, "none writes down no threshold"),
        (("web", "--goal", "5m"), 1, "--goal '5m': expected over SPAN/day"),
        (("web", "--limit", "0"), 2, "--limit 0: expected a number above 0"),
        (("web", "--limit", "nan"), 2, "--limit nan: expected a number above 0"),
    ],
)
def test_what_cannot_be_done_is_refused(words: tuple[str, ...], code: int, message: str) -> None:
    done = tuned(*words)

    assert done.exit_code == code
    assert message in done.stderr


def test_without_a_series_it_takes_what_the_daemon_has_recorded(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["tune", "web.yaml", "web", "--state", str(tmp_path / "none")])

    assert done.exit_code == 1
    assert "nothing was ever recorded in" in done.stderr


def test_a_goal_of_changes_alone_is_json_that_every_program_reads() -> None:
    done = tuned("web", *SWEEP, "--goal", "changes 0/day", "--json")

    (tuning,) = [json.loads(line, parse_constant=pytest.fail) for line in done.stdout.splitlines()]
    assert tuning["goal"] == {"over": None, "changes": 0.0}
    assert "no setting keeps the goal" not in tuned("web", *SWEEP, "--goal", "changes 0/day").stdout


def test_a_value_that_cannot_be_replaced_where_it_stands_keeps_no_result_back() -> None:
    Path("web.yaml").write_text(SHARED.replace("above: 80", "above: &most 95"))
    words = ("web", *SWEEP, "--limit", "80", "--goal", "over 3h/day")

    done, (tuning,) = tuned(*words), [json.loads(line) for line in tuned(*words, "--json").stdout.splitlines()]

    why = "web.yaml:6: conditions.busy.above cannot be replaced as it is written"
    assert done.exit_code == 0
    assert f"  no patch: {why}" in done.stdout
    assert any(each.get("refused", "").startswith(why) for each in tuning["proposals"])


def test_members_may_drain_longer_than_was_recorded() -> None:
    assert tuned("web", *SWEEP, "--drain", "30m").exit_code == 0
