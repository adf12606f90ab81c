from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from config.load import load
from handler.cli.main import app
from tests.support.oneflow import BASE, SCALABILITY, TIME_WINDOWS, a_role, a_service


@pytest.fixture
def template(tmp_path: Path) -> Path:
    file = tmp_path / "shop.json"
    file.write_text(SCALABILITY)
    return file


@pytest.fixture
def base(tmp_path: Path) -> Path:
    file = tmp_path / "base.yaml"
    file.write_text(BASE)
    return file


def imported(*words: object, text: str | None = None) -> Result:
    return CliRunner().invoke(app, ["import", "oneflow", *map(str, words)], input=text)


def test_the_declaration_goes_to_standard_output_and_the_report_to_standard_error(template: Path) -> None:
    answer = imported(template)

    assert answer.exit_code == 0
    assert answer.stdout.startswith("# From the OneFlow service template 'Scalability1'.\n")
    assert answer.stderr.startswith("mapped:\n  line 8, roles[1]: the role frontend → groups.frontend\n")
    assert "\nmeans the same as in OneFlow:\n  dialect: oneflow. " in answer.stderr
    assert answer.stderr.endswith("groups.frontend.profile: 'frontend' is not among the profiles; none is declared\n")


def test_upon_a_base_the_file_that_is_written_passes_trimtab_check(template: Path, base: Path, tmp_path: Path) -> None:
    written = tmp_path / "shop.yaml"

    answer = imported(template, "--base", base, "--profile", "web", "--interval", "10s", "--out", written)

    assert (answer.exit_code, answer.stderr) == (0, "")
    assert "trimtab check" not in answer.stdout
    group = load(written).groups["frontend"]  # type: ignore[index]  # ids are text
    assert (group.profile, group.interval) == ("web", 10.0)
    assert CliRunner().invoke(app, ["check", str(written)]).exit_code == 0


@pytest.mark.parametrize("words", [[], ["--profile", "web"]], ids=["any profile", "a profile"])
def test_upon_opennebula_values_are_read_where_oneflow_reads_them(
    template: Path, base: Path, tmp_path: Path, words: list[str]
) -> None:
    one = 'one: {opennebula: {endpoint: "http://one.example.org:2633/RPC2", user: fleet, password: {env: ONE}}}'
    base.write_text(f"clouds: {{{one}}}\nprofiles: {{web: {{cloud: one, template: web}}}}\n")
    written = tmp_path / "shop.yaml"

    answer = imported(template, "--base", base, *words, "--out", written)

    assert answer.exit_code == 0
    assert "ATT → counters.att: read from OpenNebula" in answer.stdout
    assert "  att: {opennebula: ATT}\n" in written.read_text()


def test_a_file_that_is_there_is_not_written_over(template: Path, tmp_path: Path) -> None:
    written = tmp_path / "shop.yaml"
    written.write_text("mine")

    answer = imported(template, "--out", written)

    assert (answer.exit_code, written.read_text()) == (1, "mine")
    assert answer.stderr == f"{written} exists already: name another file, or remove it\n"


def test_standard_input_is_taken_as_well() -> None:
    printed = {"DOCUMENT": {"TEMPLATE": {"BODY": a_service(a_role())}}}

    answer = imported("-", text=json.dumps(printed))

    assert "groups:\n  web:\n    profile: web\n    min: 1\n" in answer.stdout


def test_json_is_one_object_with_a_list_for_each_fate(template: Path) -> None:
    answer = json.loads(imported(template, "--json").stdout)

    assert [*answer] == ["file", "declaration", "mapped", "kept", "differs", "unmapped", "missing"]
    assert answer["mapped"][1] == {
        "line": 17,
        "column": 9,
        "where": "roles[1].elasticity_policies[1]",
        "said": "→ policies.frontend-out",
    }


def test_strict_exits_1_where_anything_is_not_mapped(tmp_path: Path) -> None:
    file = tmp_path / "windows.json"
    file.write_text(TIME_WINDOWS)
    assert imported(file, "--strict").exit_code == 0

    file.write_text(TIME_WINDOWS.replace('"deployment": "none"', '"deployment": "straight"'))
    assert imported(file).exit_code == 0
    assert imported(file, "--strict").exit_code == 1


def test_schedules_are_read_in_the_zone_that_is_named(tmp_path: Path) -> None:
    file = tmp_path / "windows.json"
    file.write_text(TIME_WINDOWS)

    answer = imported(file, "--timezone", "Europe/Paris")

    assert answer.stdout.count("timezone: Europe/Paris") == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "shop.json:1: column 2: not JSON: expected a key in"),
        ('{"roles": [\n{}]}', "shop.json:2: roles[1]: name is missing\n"),
    ],
)
def test_a_template_with_problems_exits_1_and_writes_nothing(text: str, message: str, tmp_path: Path) -> None:
    file, written = tmp_path / "shop.json", tmp_path / "shop.yaml"
    file.write_text(text)

    answer = imported(file, "--out", written)

    assert (answer.exit_code, answer.stdout, written.exists()) == (1, "", False)
    assert message in answer.stderr


def test_a_base_with_problems_exits_1_and_is_named(template: Path, base: Path) -> None:
    base.write_text("groups: {web: {}}")

    answer = imported(template, "--base", base)

    assert answer.exit_code == 1
    assert f"{base}:1: groups.web: profile is missing" in answer.stderr


def test_what_both_declare_exits_1(template: Path, base: Path) -> None:
    base.write_text(BASE + "groups: {frontend: {profile: web, min: 1, max: 2}}")

    answer = imported(template, "--base", base)

    assert (answer.exit_code, answer.stderr) == (1, "groups.frontend is declared already: rename one of the two\n")


def test_a_file_that_cannot_be_read_exits_1(tmp_path: Path) -> None:
    answer = imported(tmp_path / "none.json")

    assert (answer.exit_code, answer.stderr) == (1, f"{tmp_path}/none.json cannot be read: No such file or directory\n")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--interval", "30", "--interval: '30' is not a duration with a unit"),
        ("--timezone", "Europe/Nowhere", "--timezone: 'Europe/Nowhere' is not a time zone such as Europe/Paris"),
    ],
)
def test_an_option_that_is_not_understood_exits_2(template: Path, option: str, value: str, message: str) -> None:
    answer = imported(template, option, value)

    assert (answer.exit_code, answer.stdout) == (2, "")
    assert message in answer.stderr


def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    answer = imported("/dev/zero")

    assert answer.exit_code == 1
    assert "column 1: longer than 1048576 characters" in answer.stderr


def test_the_example_of_the_documents_is_what_the_command_writes(tmp_path: Path) -> None:
    shown = Path("docs/from-oneflow.md").read_text()
    template, base, declared = (block.split("\n```")[0] for block in re.split("```(?:js|yaml)\n", shown)[1:4])
    (tmp_path / "shop.json").write_text(template)
    (tmp_path / "base.yaml").write_text(base)

    answer = imported(tmp_path / "shop.json", "--base", tmp_path / "base.yaml", "--profile", "web")

    assert answer.stdout == f"{declared}\n"
