from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.document.places import read_places
from config.errors import DeclarationError, Problem
from config.load import load, parse
from tests.support.config import DECLARATION, EXAMPLE, declared


def problems(text: str) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        parse(text, "web.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_the_example_loads_and_its_places_are_those_of_the_file() -> None:
    catalogue = load(EXAMPLE)
    lines = EXAMPLE.read_text(encoding="utf-8").splitlines()
    site = catalogue.sites["groups", "web", "min"]
    assert lines[site.line - 1][site.column - 1 :] == "2"
    assert lines[catalogue.sites["groups", "web"].line - 1] == "  web:"
    assert catalogue.sites["counters", "cpu"].file == str(EXAMPLE)


def test_problems_read_as_file_line_message() -> None:
    assert problems("groups: 5\n") == ["web.yaml:1: groups: 5 is not a mapping"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing.yaml", "cannot be read: No such file or directory"), (".", "cannot be read: Is a directory")],
    ids=["no-such-file", "a-directory"],
)
def test_an_unreadable_file_is_one_problem(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        load(tmp_path / name)
    assert caught.value.problems == (Problem(file=str(tmp_path / name), line=1, column=1, message=message),)


def test_words_that_old_yaml_took_for_truths_stay_words() -> None:
    catalogue = parse(DECLARATION.replace("  web: {profile", "  on: {mode: off, profile"), "web.yaml")
    assert list(catalogue.groups) == ["on"]
    assert next(iter(catalogue.groups.values())).mode.value == "off"


def test_anchors_and_merge_keys_bring_in_values_from_elsewhere() -> None:
    text = DECLARATION.replace("  web: {profile", "  web: &web {profile") + "  api: {<<: *web, max: 4}\n"
    catalogue = parse(text, "web.yaml")
    assert {name: (group.minimum, group.maximum) for name, group in catalogue.groups.items()} == {
        "web": (2, 8),
        "api": (2, 4),
    }


def test_a_refused_counter_leaves_its_users_alone() -> None:
    text = DECLARATION.replace("ssCpuUser.0", "ssCpuUser.7")
    assert [line.split(": ")[1] for line in problems(text)] == ["counters.cpu.snmp"]


def test_a_refused_section_leaves_its_users_alone() -> None:
    assert problems(DECLARATION.replace("clouds:", "clouds: [local]\nx:")) == [
        "web.yaml:10: clouds: a list is not a mapping",
        (
            "web.yaml:11: unknown key 'x'; "
            "known are alerts, balancers, clouds, cloudstack_api, conditions, counters, groups, listen, mibs, notify, "
            "oidc, outbound, policies, profiles, record, seal, …"
        ),
    ]


def test_a_wrong_interval_leaves_durations_and_windows_alone() -> None:
    text = DECLARATION.replace("max: 8", "max: 8, interval: 45").replace("above: 80", "above: 80, window: 45s")
    assert [line.split(": ")[1] for line in problems(text)] == ["groups.web.interval"]


def test_a_wrong_range_leaves_thresholds_alone() -> None:
    text = DECLARATION.replace("ssCpuUser.0", "ssCpuUser.0, range: [5]").replace("above: 80", "above: 800")
    assert [line.split(": ")[1] for line in problems(text)] == ["counters.cpu.range"]


def test_a_wrong_threshold_contradicts_no_policy() -> None:
    text = DECLARATION.replace("above: 80", "above: high").replace("below: 30", "below: 90")
    assert [line.split(": ")[1] for line in problems(text)] == ["conditions.busy.above"]


def test_the_rest_of_an_entity_is_judged_beside_its_fault() -> None:
    text = DECLARATION.replace("min: 2, max: 8", "min: 9, max: 8, drain: soon, profle: x")
    assert [line.split(": ")[1] for line in problems(text)] == ["groups.web.min", "groups.web.drain", "groups.web"]


@pytest.mark.parametrize(
    "change",
    [
        ("command: [serve]", "command: [serve], snmp: {community: hunter2}"),
        ("command: [serve]", "command: [serve], snmp: {community: [hunter2]}"),
        ("command: [serve]", "command: [serve], snmp: {community: {env: hunter2!}}"),
        ("command: [serve]", "command: [serve], snmp: {community: {value: hunter2}}"),
        ("command: [serve]", "command: [serve], snmp: {comunity: hunter2}"),
        ("command: [serve]", "command: [serve], snmp: hunter2"),
        ("command: [serve]", "command: [serve], env: [TOKEN=hunter2]"),
        ("command: [serve]", "command: [serve], env: {TOKEN: [hunter2]}"),
        ("command: [serve]", "command: serve --token hunter2"),
        ("command: [serve]", "command: [serve, [hunter2]]"),
        ("{cloud: local, command: [serve]}", "hunter2"),
        ("profiles:", "profiles: [{community: hunter2}]\nx:"),
        ("groups:", "notify: {command: page --token=hunter2}\ngroups:"),
        ("groups:", "notify: {command: [page, [hunter2]]}\ngroups:"),
        ("groups:", "notify: {url: 'https://u:hunter2@p.org', secret: {env: KEY}}\ngroups:"),
        ("groups:", "notify: {url: 'https://p.org', secret: hunter2}\ngroups:"),
        ("groups:", "notify: {ulr: 'https://p.org/hunter2', secret: {env: KEY}}\ngroups:"),
        ("groups:", "notify: hunter2\ngroups:"),
        ("max: 8", "max: 8, notify: {url: hunter2}"),
        ("max: 8", "max: 8, notify: hunter2"),
    ],
)
def test_a_possible_secret_is_never_repeated(change: tuple[str, str]) -> None:
    with pytest.raises(DeclarationError) as caught:
        declared(change)
    assert "hunter2" not in str(caught.value)


_KEYS = st.sampled_from(
    ["counters", "groups", "snmp", "above", "below", "add", "use", "port", "schedule", "floor", "env"]
)
_PIECES = st.sampled_from("{}[]&*-!'\"#|%?~") | st.sampled_from(
    [
        ": ",
        "<<: *a",
        "\n",
        "\n  ",
        "\n\t",
        "\x00",
        "&a ",
        "*a",
        "!x ",
        ".nan",
        "1e999",
        "null",
        "true",
        "on",
        "012",
        "\\ud800",
        '"\\UFFFFFFFF"',
        "0x" + "f" * 50,
        "9" * 5000,
        "groups",
        "min",
        "0s",
        "floor 3",
        "110%",
        "snmp",
    ]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS | st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.text() | st.lists(_PIECES, max_size=30).map("".join))
def test_no_text_raises_anything_but_a_declaration_error(text: str) -> None:
    _read(text)


@given(
    st.lists(
        st.tuples(st.integers(0, len(DECLARATION)), st.integers(0, 12), _PIECES | st.text(max_size=4)),
        min_size=1,
        max_size=4,
    )
)
def test_no_damage_to_a_good_file_raises_anything_but_a_declaration_error(cuts: list[tuple[int, int, str]]) -> None:
    text = DECLARATION
    for start, length, piece in cuts:
        text = text[:start] + piece + text[start + length :]
    _read(text)


_WHOLE = read_places(DECLARATION, "web.yaml")


@given(st.data(), _VALUES)
def test_no_value_anywhere_raises_anything_but_a_declaration_error(data: st.DataObject, value: object) -> None:
    where = data.draw(st.sampled_from(sorted(_WHOLE.values)[1:]))
    written = copy.deepcopy(_WHOLE.data)
    holder: Any = written
    for part in where[:-1]:
        holder = holder[int(part)] if isinstance(holder, list) else holder[part]
    holder[int(where[-1]) if isinstance(holder, list) else where[-1]] = value
    _read(json.dumps(written))


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_but_a_declaration_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "web.yaml"
    path.write_bytes(content)
    _require_places(_refused(lambda: load(path)))


def _refused(read: Callable[[], object]) -> tuple[Problem, ...]:
    """The problems that reading ends with; none if it goes well."""
    try:
        read()
    except DeclarationError as error:
        return error.problems or (Problem(file="", line=0, column=0, message=""),)
    return ()


def _read(text: str) -> None:
    """Read a text; a refusal says something, once, on lines that exist."""
    _require_places(_refused(lambda: parse(text, "web.yaml")))


def _require_places(found: tuple[Problem, ...]) -> None:
    assert len(set(found)) == len(found)
    assert all(problem.line >= 1 and problem.column >= 1 and problem.message for problem in found)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a {<<: {<<: *a}}\n",
        "a: &a [*a]\n",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{c}: &{c} [{','.join(['*' + p] * 9)}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
        "[" * 600,
        "{a: " * 600,
    ],
    ids=["merges-itself", "contains-itself", "billion-laughs", "deep-lists", "deep-mappings"],
)
def test_a_text_that_unfolds_without_end_is_refused(text: str) -> None:
    assert len(problems(text)) == 1
