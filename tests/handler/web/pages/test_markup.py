from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from handler.web.pages.markup import Html, join, tag

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


class _Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: dict[str, str | None] = {}
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= dict(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(markup: Html) -> _Seen:
    seen = _Seen()
    seen.feed(markup)
    seen.close()
    return seen


@given(TEXT, TEXT)
def test_whatever_the_text_it_stays_text_and_the_attribute_an_attribute(text: str, title: str) -> None:
    seen = parsed(tag("p", text, title=title))
    assert (seen.tags, seen.text, seen.attributes) == (["p"], text, {"title": title})


def test_markup_is_escaped_once_however_deep_it_lies() -> None:
    assert tag("ul", [tag("li", "a & b"), None, [tag("li", "<")]]) == "<ul><li>a &amp; b</li><li>&lt;</li></ul>"


def test_text_that_is_put_to_markup_by_hand_is_text_again() -> None:
    assert join(tag("b", "x") + "<i>") == "&lt;b&gt;x&lt;/b&gt;&lt;i&gt;"


def test_attributes_are_named_as_html_names_them_and_may_be_left_out() -> None:
    assert tag("a", class_="x", aria_label="y", tabindex=0, hidden=True, title=None, open=False) == (
        '<a class="x" aria-label="y" tabindex="0" hidden></a>'
    )


def test_a_void_element_has_no_end() -> None:
    assert tag("meta", charset="utf-8") == '<meta charset="utf-8">'
