"""libyaml and ruamel.yaml read the same into the same: values, lines, columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from config.document import yaml_nodes
from config.document.places import ParsedText, read_places
from config.errors import DeclarationError
from tests.support.bad_declarations import cases
from tests.support.config import DECLARATION

_TEXTS = {
    **{path.stem: path.read_bytes() for path in sorted(Path("config/examples").glob("*.yaml"))},
    **{case.name: case.content for case in cases()},
}
_WORDS = (
    *(
        "a",
        "b: ",
        "- ",
        "{c: d}",
        "[e, f]",
        "{g: [h]}",
        "\n",
        "\n  ",
        " # said\n",
        "'q'",
        '"d\\x41"',
        "&x ",
        "*x",
        "<<: *x",
    ),
    *(
        "yes",
        "on",
        "012",
        "0o17",
        "0x1F",
        "1:30",
        "1_000",
        "1e3",
        ".5",
        "-.inf",
        ".nan",
        "true",
        "~",
        "null",
        "2001-01-01",
    ),
    *("!!str ", "!!int ", "!x ", "|\n  ", ">-\n  ", "http://a/b", "::", "é", "😀", ","),
)


def _read(text: str) -> ParsedText | str:
    try:
        return read_places(text, "web.yaml")
    except DeclarationError:
        return "refused"


def _by(reader: str, text: str) -> ParsedText | str:
    with pytest.MonkeyPatch.context() as patch:
        if reader == "libyaml":
            patch.setattr(yaml_nodes, "_LONGEST_EXPLAINED", 0)
        else:
            patch.setattr(yaml_nodes, "_READ_OTHERWISE", yaml_nodes.re.compile(""))
        return _read(text)


@pytest.mark.parametrize("content", _TEXTS.values(), ids=_TEXTS)
def test_both_readers_give_the_same_values_at_the_same_places(content: bytes) -> None:
    text = content.decode(errors="replace").replace("window: }", "window: 5m}")
    assert repr(_by("libyaml", text)) == repr(_by("ruamel", text))


@given(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=12).map("".join))
@example("!!str &x <<: *x")
def test_a_small_text_is_read_as_by_ruamel(text: str) -> None:
    assert repr(_read(text)) == repr(_by("ruamel", text))


def test_a_long_text_with_a_fault_is_refused_at_its_line_within_a_moment() -> None:
    groups = "".join(f"  g{number}: {{profile: web, min: 1, max: 2}}\n" for number in range(8_000))
    text = DECLARATION + groups + "  last: {profile: web\n"
    with pytest.raises(DeclarationError, match="not YAML: did not find expected ',' or '}'") as caught:
        read_places(text, "web.yaml")
    assert caught.value.problems[0].line == text.count("\n") + 1
