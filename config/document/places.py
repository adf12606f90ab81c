"""YAML text → plain values, and the place of each of them.

The text is read as YAML 1.2: ``on`` and ``yes`` are words, ``012`` is twelve. Anchors, aliases and merge keys work.
Tags of one's own do not. A key that stands twice is a problem, and so is a text that unfolds without end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from config.bounds import DEEPEST_VALUE, MOST_DIGITS, MOST_VALUES
from config.document.yaml_nodes import MERGE, STANDARD, MappingNode, Node, ScalarNode, SequenceNode, compose, refusal
from config.errors import Problem
from config.model.catalogue import Site
from config.model.where import Where, dotted

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"

_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedText:
    """What a text says, and where it says it."""

    file: str
    data: dict[str, Plain]
    keys: Mapping[Where, Site]
    """Where each key of a mapping stands."""
    values: Mapping[Where, Site]
    """Where each value begins."""
    problems: tuple[Problem, ...]
    """Faults that leave the rest readable: keys that stand twice, unknown tags."""

    def site(self, where: Where) -> Site:
        """The place of a value, or of the nearest thing around it that has a place."""
        for length in range(len(where), -1, -1):
            if where[:length] in self.values:
                return self.values[where[:length]]
        return Site(file=self.file, line=1, column=1)

    def key_site(self, where: Where) -> Site:
        """The place of a key, or else of its value."""
        return self.keys.get(where) or self.site(where)

    def problem(self, site: Site, message: str) -> Problem:
        """A problem at a place."""
        return Problem(file=site.file, line=site.line, column=site.column, message=message)


def read_places(text: str, file: str) -> ParsedText:
    """Read a YAML text with a mapping at the top level.

    Raises:
        DeclarationError: with one problem, where the text is no YAML, is empty, or is no mapping.
    """
    root = compose(text, file)
    if root is None or (isinstance(root, ScalarNode) and root.value == ""):
        raise refusal(file, 1, 1, "the file is empty: expected sections such as counters, conditions and groups")
    if not isinstance(root, MappingNode):
        raise refusal(
            file, root.line, root.column, "expected sections such as counters, conditions and groups at the top level"
        )
    unfolding = _Unfolding(file=file)
    data = unfolding.mapping(root, ())
    return ParsedText(
        file=file,
        data=data,
        keys=unfolding.keys,
        values=unfolding.values,
        problems=tuple(dict.fromkeys(unfolding.problems)),
    )


def walked(value: Plain, where: Where) -> Iterator[tuple[Where, Plain]]:
    """Yield a value and every value inside it, each with its place."""
    yield where, value
    if isinstance(value, dict):
        for name, each in value.items():
            yield from walked(each, (*where, name))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from walked(each, (*where, str(number)))


@dataclass(slots=True, kw_only=True)
class _Unfolding:
    """A walk over the graph of nodes that writes down values and their places."""

    file: str
    keys: dict[Where, Site] = field(default_factory=dict)
    values: dict[Where, Site] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    visits: int = 0

    def value(self, node: Node, where: Where) -> Plain:
        self.values[where] = self._site(node)
        self._count(node, depth=len(where))
        self._refuse_tag(node)
        match node:
            case ScalarNode():
                self._refuse_half(node)
                return _scalar(node)
            case MappingNode():
                return self.mapping(node, where)
            case SequenceNode():
                return [self.value(item, (*where, str(index))) for index, item in enumerate(node.items)]

    def mapping(self, node: MappingNode, where: Where) -> dict[str, Plain]:
        """Keys in their order; a written key wins over one from a merge key."""
        result: dict[str, Plain] = {}
        merges = False
        for key, value in node.pairs():
            if key.tag == MERGE:
                merges = True
            elif not isinstance(key, ScalarNode):
                self._add(key, f"{dotted(where) or 'the file'}: a key must be a word, not a list or a mapping")
            elif key.value in result:
                first = self.keys[(*where, key.value)].line
                self._add(key, f"{dotted((*where, key.value))} appears twice; it is first on line {first}")
            else:
                self._refuse_half(key)
                place = (*where, key.value)
                self.keys[place] = self._site(key)
                result[key.value] = self.value(value, place)
        if merges:
            self._merge(node, where, result, depth=len(where))
        return result

    def _merge(self, node: MappingNode, where: Where, into: dict[str, Plain], *, depth: int) -> None:
        """Follow the merge keys of a mapping; the nearer value wins."""
        for source in _merged(node):
            self._count(source, depth=depth)
            if not isinstance(source, MappingNode):
                self._add(source, f"{dotted(where) or 'the file'}: only a mapping can be merged with <<")
                continue
            for key, value in source.pairs():
                if not isinstance(key, ScalarNode) or key.tag == MERGE:
                    continue
                if key.value in into:
                    self._count(key, depth=depth)
                else:
                    self._refuse_half(key)
                    self.keys[(*where, key.value)] = self._site(key)
                    into[key.value] = self.value(value, (*where, key.value))
            self._merge(source, where, into, depth=depth + 1)

    def _count(self, node: Node, *, depth: int) -> None:
        """Give up on what unfolds without end."""
        self.visits += 1
        if depth > DEEPEST_VALUE or self.visits > MOST_VALUES:
            why = "nested too deeply" if depth > DEEPEST_VALUE else f"unfolds to more than {MOST_VALUES} values"
            raise refusal(self.file, node.line, node.column, f"{why}: is an alias inside its own anchor?")

    def _refuse_half(self, node: ScalarNode) -> None:
        r"""Refuse ``\ud800``: no file, answer or log can hold half of a character."""
        if not node.value.isascii() and _HALF.search(node.value):
            message = "half of a character (a lone surrogate) stands in this text: write the whole character instead"
            raise refusal(self.file, node.line, node.column, message)

    def _refuse_tag(self, node: Node) -> None:
        if not node.tag.startswith(STANDARD):
            self._add(node, f"the tag {node.tag!a} is not supported here: remove it")

    def _add(self, node: Node, message: str) -> None:
        self.problems.append(Problem(file=self.file, line=node.line, column=node.column, message=message))

    def _site(self, node: Node) -> Site:
        return Site(file=self.file, line=node.line, column=node.column)


def _merged(node: MappingNode) -> Iterator[Node]:
    """What a mapping's merge keys name, nearest first."""
    for key, value in node.pairs():
        if key.tag == MERGE:
            yield from value.items if isinstance(value, SequenceNode) else [value]


def _scalar(node: ScalarNode) -> Plain:
    """A scalar by the core schema of YAML 1.2; what only looks like a number stays a word. Unknown tags are ignored."""
    text = node.value
    known = node.tag.startswith(STANDARD)
    for name in (node.tag.removeprefix(STANDARD),) if known else ("bool", "int", "float"):
        try:
            return _SCALARS[name](text)
        except (ValueError, KeyError):
            continue
    return text


def _whole(text: str) -> int:
    compact = text.replace("_", "").lower()
    if len(compact) > MOST_DIGITS:
        raise ValueError(compact)
    return int(compact, 0 if any(mark in compact for mark in ("0x", "0o", "0b")) else 10)


def _real(text: str) -> float:
    return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))


_SCALARS: Mapping[str, Callable[[str], Plain]] = {
    "str": str,
    "null": lambda _: None,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    "int": _whole,
    "float": _real,
}
