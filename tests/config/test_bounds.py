"""Whatever the bytes of a file are: a catalogue, or problems with their places, within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config import bounds
from config.errors import DeclarationError, Problem
from config.load import load, parse
from tests.support.config import DECLARATION
from tests.support.fuzz import SPOILS

_EXAMPLES = [path.read_bytes() for path in sorted(Path("config/examples").glob("*.yaml"))]
_ODD_YAML = st.sampled_from(
    [
        *(
            "\t",
            "\n",
            "\r",
            ": ",
            "- ",
            "? ",
            "&a ",
            "*a",
            "<<: *a",
            "{",
            "}",
            "[",
            "]",
            '"',
            "'",
            "#",
            "|\n",
            ">",
            "%",
        ),
        *(
            "!!int ",
            "!x ",
            "---\n",
            "...\n",
            '"\\ud800"',
            '"\\0"',
            "\x85",
            "\u2028",
            "\ufeff",
            "~",
            "0x",
            ".nan",
            "1e999",
        ),
        "[" * 40,
        "9" * 400,
    ]
)


def _with_expression(text: str, dialect: str = "native") -> str:
    condition = f"conditions:\n  odd: {{expression: '{text}', dialect: {dialect}}}\n"
    return DECLARATION.replace("conditions:\n", condition).replace("when: [busy]", "when: [odd]")


def _laughing(line: str) -> str:
    """Nine lines, each of which unfolds to nine times the one before."""
    rest = "".join(line.format(name=chr(98 + n), before=", ".join([f"*{chr(97 + n)}"] * 9)) for n in range(9))
    return f"a: &a {{x: 1}}\n{rest}"


def _merged_again(times: int) -> str:
    """As many keys, which are merged as many times."""
    keys, again = ", ".join(f"k{n}: 1" for n in range(times)), ", ".join(["*a"] * times)
    return f"a: &a {{{keys}}}\nb: {{<<: [{again}]}}\n"


def _problems(text: str) -> list[str]:
    with pytest.raises(DeclarationError) as caught:
        parse(text, "web.yaml")
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DECLARATION + 'odd: "\\ud800"\n', "half of a character"),
        (DECLARATION + '"\\udfff": 1\n', "half of a character"),
        ('mibs: ["/\\ud800"]\n' + DECLARATION, "half of a character"),
        ("[" * 100_000, "nested too deeply: 32 levels are allowed"),
        ("{a: " * 50_000, "nested too deeply"),
        ("- " * 50_000, "nested too deeply"),
        ("".join(" " * depth + "a:\n" for depth in range(500)), "nested too deeply"),
        (_laughing("{name}: &{name} [{before}]\n"), "unfolds to more than 300000 values"),
        (_laughing("{name}: &{name} {{<<: [{before}]}}\n"), "unfolds to more than 300000 values"),
        ("a: &a [*a]\n", "is an alias inside its own anchor?"),
        (_merged_again(1000), "unfolds to more than 300000 values"),
        (_with_expression(" || ".join(["cpu > 1"] * 20_000)), "at most 500 numbers and names"),
        (_with_expression("+".join(["cpu"] * 400) + " > 1"), "at most 120 operations in one another"),
        (_with_expression("??".join(["cpu"] * 3_000) + " > 1"), "at most 500 numbers and names"),
        (_with_expression("(" * 3_000 + "cpu > 1" + ")" * 3_000), "at most 50 levels of nesting"),
        (_with_expression("!" * 3_000 + "(cpu > 1)"), "at most 50 levels of nesting"),
        (_with_expression(" | ".join(["CPU > 1"] * 3_000), "oneflow"), "at most 100 levels of nesting"),
    ],
    ids=range(17),
)
def test_a_value_too_deep_too_large_or_with_half_a_character_is_one_problem_with_its_line(
    text: str, message: str
) -> None:
    (problem,) = _problems(text)
    assert problem.startswith("web.yaml:")
    assert message in problem


@pytest.mark.parametrize(
    "more",
    [
        "".join(f"groupz{number}: 1\n" for number in range(3_000)),
        "".join(f"  h{number}: {{profil: web, min: x}}\n" for number in range(3_000)),
        "".join(f"  h{number}: {{profile: wob, min: 1, max: 3}}\n" for number in range(3_000)),
        "groups: {}\n" * 3_000,
    ],
    ids=["unknown-keys", "wrong-groups", "wrong-references", "double-keys"],
)
def test_of_thousands_of_problems_the_last_one_says_that_there_may_be_more(more: str) -> None:
    problems = _problems(DECLARATION + more)
    assert 500 < len(problems) <= bounds.MOST_PROBLEMS + 1
    assert "there may be more problems than these" in problems[-1]


def test_as_text_a_hundred_problems_are_shown_and_the_others_counted() -> None:
    with pytest.raises(DeclarationError) as caught:
        parse(DECLARATION + "groups: {}\n" * 300, "web.yaml")
    shown = str(caught.value).splitlines()
    assert len(shown) == bounds.MOST_SHOWN + 1
    assert shown[-1] == "and 200 more problems"


def test_a_file_that_never_ends_is_refused_for_its_length() -> None:
    with pytest.raises(DeclarationError, match="/dev/zero:1: longer than 16 MiB"):
        load(Path("/dev/zero"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(_EXAMPLES), SPOILS | st.tuples(_ODD_YAML, st.floats(0, 1)))
def test_of_any_bytes_only_problems_with_places_leave_the_load(tmp_path: Path, body: bytes, spoil: object) -> None:
    if isinstance(spoil, tuple):
        odd, share = spoil
        place = int(share * len(body))
        content = body[:place] + odd.encode() + body[place:]
    else:
        content = spoil(body)  # type: ignore[operator]  # the other strategy draws functions
    file = tmp_path / "web.yaml"
    file.write_bytes(content)
    for problem in _found(file):
        assert str(problem).encode().startswith(f"{file}:{problem.line}: ".encode())
        assert 1 <= problem.line <= content.count(b"\n") + content.count(b"\r") + 2


def _found(file: Path) -> tuple[Problem, ...]:
    try:
        load(file)
    except DeclarationError as refused:
        return refused.problems
    return ()
