"""HTML as a browser understands it: the order of attributes, the way of escaping and line breaks make no difference."""

from __future__ import annotations

import re
from html.parser import HTMLParser


class _Normal(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._text = ""

    def handle_decl(self, decl: str) -> None:
        self._line(f"<!{decl}>")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        written = (f" {name}" if value is None else f" {name}={value!r}" for name, value in sorted(attrs))
        self._line(f"<{tag}{''.join(written)}>")

    def handle_endtag(self, tag: str) -> None:
        self._line(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._text += data

    def close(self) -> None:
        super().close()
        self._flush()

    def _line(self, line: str) -> None:
        self._flush()
        self.lines.append(line)

    def _flush(self) -> None:
        """Text with single spaces; that there is one at an end shows, since it holds words apart."""
        text, self._text = re.sub(r"\s+", " ", self._text), ""
        if text.strip():
            self.lines.append(f'"{text}"')


def normal_html(markup: str) -> str:
    """Write markup one element, end or text on a line.

    >>> normal_html("<p class='b' id=a>x &amp;\\n <b>y</b>\\n</p>")
    '<p class=\\'b\\' id=\\'a\\'>\\n"x & "\\n<b>\\n"y"\\n</b>\\n</p>\\n'
    """
    normal = _Normal()
    normal.feed(markup)
    normal.close()
    return "".join(f"{line}\n" for line in normal.lines)
