"""HTML as nested calls. Text is escaped because only `tag` makes `Html`; there is no way to forget it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_VOID = frozenset({"meta", "link", "br"})


class Html(str):
    """Markup that needs no more escaping."""

    __slots__ = ()


Content = Html | str | int | None | Sequence["Content"]
Attribute = str | int | bool | None


def tag(name: str, /, *children: Content, **attributes: Attribute) -> Html:
    """One element.

    Args:
        name: of the element.
        children: nested; text is escaped, ``None`` is nothing.
        attributes: ``_`` becomes ``-``, a last ``_`` falls away; ``None`` and ``False`` leave it out, ``True`` is bare.

    >>> tag("a", "<", class_="x", data_at=3, hidden=True, title=None)
    '<a class="x" data-at="3" hidden>&lt;</a>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(content: Content) -> Html:
    """Put content into one piece.

    >>> join(["a", None, 3, ["&", tag("br")]])
    'a3&amp;<br>'
    """
    match content:
        case None:
            return Html()
        case Html():
            return content
        case str():
            return Html(escape(content))
        case int():
            return Html(str(content))
        case _:
            return Html("".join(join(child) for child in content))


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
