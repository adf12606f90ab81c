"""Lay values out as HTML with this folder's templates: each is compiled once, and escapes every value.

A template has only layout: pure functions make the frozen values that it shows. An unknown name in a template is an
error, never an empty place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup

_BREAK = re.compile(r"\s*\n\s*")


class _Joined(Extension):
    """Drops a template's line breaks: pages are half as long without them, and `:empty` means empty."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Join lines, and keep their numbers for errors."""
        for token in stream:
            yield Token(token.lineno, token.type, joined(token.value)) if token.type == "data" else token


def joined(text: str) -> str:
    r"""Join lines: with a space inside a tag or between words, with nothing beside a tag.

    >>> joined('<ul>\n  <li class="x"\n    id="y">two\n  words</li>\n</ul>\n')
    '<ul><li class="x" id="y">two words</li></ul>'
    """
    return _BREAK.sub(lambda found: " " if _within(text, found) else "", text)


def _within(text: str, found: re.Match[str]) -> bool:
    before, after = text[: found.start()], text[found.end() :]
    return bool(before and after) and not before.endswith(">") and not after.startswith("<")


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    autoescape=True,
    undefined=StrictUndefined,
    auto_reload=False,
    extensions=[_Joined],
)


class PageTemplate:
    """One file of macros."""

    def __init__(self, name: str) -> None:
        self._macros = _ENVIRONMENT.get_template(name).module

    def __call__(self, macro: str, *values: object) -> Markup:
        """Lay values out by one macro."""
        laid_out: Markup = getattr(self._macros, macro)(*values)
        return laid_out
