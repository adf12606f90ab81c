from __future__ import annotations

import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markupsafe import Markup

from handler.web.pages import layout
from handler.web.pages.charts import Stroke
from handler.web.pages.frame import Badge
from handler.web.pages.layout import PageTemplate, joined
from handler.web.pages.overview import FleetSummary, Tally

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]))
TEMPLATES = Path(layout.__file__).with_name("templates")
PROJECT = Path(__file__).parents[4]


class _Seen(HTMLParser):
    def __init__(self, markup: Markup) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""
        self.feed(str(markup))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


@given(TEXT)
def test_whatever_the_text_it_stays_text(text: str) -> None:
    seen = _Seen(PageTemplate("frame.html")("not_here", text))
    assert (seen.tags, seen.text) == (["h1", "p"], f"Not here{text}")


@given(TEXT.filter(bool))
def test_whatever_the_text_an_attribute_stays_an_attribute(text: str) -> None:
    seen = _Seen(PageTemplate("chart.html")("sparkline", [Stroke(text, text, "")]))
    assert (seen.tags, seen.attributes["d"], seen.attributes["class"]) == (["svg", "path"], text, f"line {text}")


def test_markup_is_escaped_once_however_deep_it_lies() -> None:
    tally = Tally(Badge("<", "x"), "a & b", "/")
    assert _Seen(PageTemplate("overview.html")("summary", FleetSummary("1 & 2", (tally,)))).text == "1 & 2< x a & b"


def test_a_name_that_no_value_has_is_an_error_and_not_an_empty_place() -> None:
    with pytest.raises(UndefinedError, match="has no attribute"):
        PageTemplate("frame.html")("badge", Stroke("x", "", ""))


@pytest.mark.parametrize(
    ("written", "page"),
    [
        ("<p>\n  one\n  two\n</p>", "<p>one two</p>"),
        ('<a\n  class="x"\n  id="y">', '<a class="x" id="y">'),
        ("<b>one</b> <i>two</i>", "<b>one</b> <i>two</i>"),
        ("\n  <li>", "<li>"),
        ("</li>\n", "</li>"),
    ],
    ids=["words", "attributes", "one line", "begin", "end"],
)
def test_line_breaks_of_a_template_are_for_its_reader(written: str, page: str) -> None:
    assert joined(written) == page


def test_an_installed_trimtab_has_every_template(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(PROJECT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as held:
        packed = {name for name in held.namelist() if name.startswith("handler/web/pages/templates/")}
    assert packed == {f"handler/web/pages/templates/{path.name}" for path in TEMPLATES.iterdir()}
    assert len(packed) > 3
