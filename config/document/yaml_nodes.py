"""YAML text → a graph of nodes, each with its line and column.

# Note [Two readers of YAML]

libyaml reads thirty times as fast as ruamel.yaml, and both give the same events. ruamel.yaml says better what is
wrong, keeps to YAML 1.2 where libyaml is older (a key that is empty, odd line breaks), and is asked about texts that
libyaml refuses or could misread. Only a text that is too long for it gets libyaml's own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias

import yaml
from ruamel.yaml import YAML
from ruamel.yaml import events as ruamel
from ruamel.yaml.error import YAMLError
from ruamel.yaml.resolver import Resolver
from yaml.cyaml import CParser

from config.bounds import DEEPEST_VALUE
from config.errors import DeclarationError, Problem

STANDARD: Final = "tag:yaml.org,2002:"
MERGE: Final = f"{STANDARD}merge"
_LONGEST_EXPLAINED: Final = 256 * 1024
"""Characters; ruamel.yaml takes seconds for as many."""
_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_READ_OTHERWISE: Final = re.compile("[\x85\u2028\u2029\ufeff]|!\\S*[ \\t]+&")
"""Line breaks of YAML 1.1, which libyaml takes for such, the mark of byte order, and a tag before an anchor: libyaml
has the place of the anchor."""

_ENDS: Final = (yaml.CollectionEndEvent, ruamel.CollectionEndEvent)
_ALIASES: Final = (yaml.AliasEvent, ruamel.AliasEvent)
_DOCUMENTS: Final = (yaml.DocumentStartEvent, ruamel.DocumentStartEvent)
_Mark: TypeAlias = Any  # both libraries' have a line and a column, from 0
_Event: TypeAlias = Any


@dataclass(slots=True)
class ScalarNode:
    """A word, a number, or what stands for nothing."""

    line: int
    column: int
    tag: str
    value: str


@dataclass(slots=True)
class SequenceNode:
    """A list."""

    line: int
    column: int
    tag: str
    items: list[Node]


@dataclass(slots=True)
class MappingNode:
    """Keys and values by turns, as they stand in the text."""

    line: int
    column: int
    tag: str
    items: list[Node]

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """Every key with its value; a key may stand there twice."""
        return zip(self.items[::2], self.items[1::2], strict=True)


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode
"""Lines and columns are counted from 1. A node that an alias names stands in the graph several times."""


def compose(text: str, file: str) -> Node | None:
    """Read one document; ``None``: the text holds none.

    Raises:
        DeclarationError: with one problem, where the text is no YAML, or is nested deeper than `DEEPEST_VALUE`.
    """
    if strange := _UNPRINTABLE.search(text):
        line = text.count("\n", 0, strange.start()) + 1
        column = strange.start() - text.rfind("\n", 0, strange.start())
        raise refusal(file, line, column, f"the character {strange.group()!a} is not allowed in YAML")
    short = len(text) <= _LONGEST_EXPLAINED
    if short and _READ_OTHERWISE.search(text):
        return _explained(text, file)
    try:
        events = _read(text)
        return _graph(_none_empty(events) if short else events, file)
    except (yaml.YAMLError, _NotOneDocument, _Elsewhere) as error:
        if short:
            return _explained(text, file)
        raise _not_yaml(error, file) from error


def refusal(file: str, line: int, column: int, message: str) -> DeclarationError:
    """Refuse a file as a whole, for one cause at one place."""
    return DeclarationError((Problem(file=file, line=line, column=column, message=message),))


def _read(text: str) -> Iterator[_Event]:
    parser = CParser(text)
    return iter(parser.get_event, None)


class _Elsewhere(Exception):
    """The two readers give this value different columns."""


def _none_empty(events: Iterable[_Event]) -> Iterator[_Event]:
    for event in events:
        if isinstance(event, yaml.ScalarEvent) and not event.value and event.implicit[0]:
            raise _Elsewhere
        yield event


def _explained(text: str, file: str) -> Node | None:
    try:
        return _graph(YAML(typ="safe", pure=True).parse(text), file)
    except (YAMLError, _NotOneDocument, OverflowError, ValueError) as error:
        raise _not_yaml(error, file) from error


def _not_yaml(error: Exception, file: str) -> DeclarationError:
    """Say an error of either library, or one of `_graph`, at its place."""
    begun_at, context = getattr(error, "context_mark", None), getattr(error, "context", None)
    mark = getattr(error, "problem_mark", None) or begun_at
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    message = (
        str(getattr(error, "problem", None) or context or error)
        .removeprefix("but ")
        .replace("\x00", "")
        .replace("<stream end>", "the end of the file")
    )
    if r"'\t'" in message:
        return refusal(file, line, column, "a tab cannot indent YAML: use spaces")
    begun = f" ({context}, begun on line {begun_at.line + 1})" if begun_at and context else ""
    return refusal(file, line, column, f"not YAML: {message}{begun}")


class _NotOneDocument(Exception):
    """What is wrong with a graph, in the words and with the marks of ruamel.yaml's own errors."""

    def __init__(self, problem: str, at: _Mark, context: str = "", begun_at: _Mark = None) -> None:
        super().__init__(problem)
        self.problem, self.problem_mark = problem, at
        self.context, self.context_mark = context, begun_at


def _graph(events: Iterable[_Event], file: str) -> Node | None:
    graph = _Graph(file=file)
    begin, end, start = graph.begin, graph.begun.pop, _STARTED.get
    for event in events:
        make = start(type(event))
        if make is not None:
            begin(event, make(event))
        elif isinstance(event, _ENDS):
            end()
        elif isinstance(event, _ALIASES):
            graph.follow(event)
        elif isinstance(event, _DOCUMENTS) and graph.root is not None:
            raise _second_document(graph.root, event)
    return graph.root


@dataclass(slots=True, kw_only=True)
class _Graph:
    """Puts nodes into one another, without recursion: a text may begin ten thousand lists."""

    file: str
    root: Node | None = None
    begun: list[SequenceNode | MappingNode] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)

    def begin(self, event: _Event, node: Node) -> None:
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        self._put(node)
        if not isinstance(node, ScalarNode):
            self.begun.append(node)
            if len(self.begun) > DEEPEST_VALUE:
                message = f"nested too deeply: {DEEPEST_VALUE} levels are allowed"
                raise refusal(self.file, node.line, node.column, message)

    def follow(self, event: _Event) -> None:
        if event.anchor not in self.anchors:
            raise _NotOneDocument(f"found undefined alias {event.anchor!r}", event.start_mark)
        self._put(self.anchors[event.anchor])

    def _put(self, node: Node) -> None:
        if self.begun:
            self.begun[-1].items.append(node)
        else:
            self.root = node


def _scalar_node(event: _Event) -> ScalarNode:
    mark, tag, value = event.start_mark, event.tag, event.value
    if tag is None or tag == "!":
        tag = _tag_of(value, plain=event.implicit[0])
    return ScalarNode(mark.line + 1, mark.column + 1, tag, value)


def _mapping_node(event: _Event) -> MappingNode:
    mark, tag = event.start_mark, event.tag
    return MappingNode(mark.line + 1, mark.column + 1, f"{STANDARD}map" if tag in {None, "!"} else tag, [])


def _sequence_node(event: _Event) -> SequenceNode:
    mark, tag = event.start_mark, event.tag
    return SequenceNode(mark.line + 1, mark.column + 1, f"{STANDARD}seq" if tag in {None, "!"} else tag, [])


_STARTED: Final[Mapping[type, Callable[[_Event], Node]]] = {
    yaml.ScalarEvent: _scalar_node,
    ruamel.ScalarEvent: _scalar_node,
    yaml.MappingStartEvent: _mapping_node,
    ruamel.MappingStartEvent: _mapping_node,
    yaml.SequenceStartEvent: _sequence_node,
    ruamel.SequenceStartEvent: _sequence_node,
}
"""The events that begin a node, by class: a long text has many."""


def _second_document(root: Node, event: _Event) -> _NotOneDocument:
    begun_at = yaml.Mark(None, 0, root.line - 1, root.column - 1, None, None)
    context = "expected a single document in the stream"
    return _NotOneDocument("found another document", event.start_mark, context, begun_at)


_IMPLICIT: Final = Resolver().yaml_implicit_resolvers
"""The core schema of YAML 1.2: what a plain scalar is, by its first character and its form."""


@lru_cache(maxsize=4096)
def _tag_of(value: str, *, plain: bool) -> str:
    if plain:
        for tag, form in _IMPLICIT.get(value[:1], ()):
            if form.match(value):
                return str(tag)
    return f"{STANDARD}str"
