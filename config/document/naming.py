"""Display names in references: an entity of the API may name another by its display name, and is kept with its id."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from config.document.places import Plain
from config.model.sections import Section

_COUNTER, _CONDITION, _POLICY, _PROFILE = Section.COUNTERS, Section.CONDITIONS, Section.POLICIES, Section.PROFILES
_NAMES: Final[Mapping[Section, Mapping[tuple[str, ...], Section]]] = {
    Section.COUNTERS: {},
    Section.CONDITIONS: {("counter",): _COUNTER},
    Section.POLICIES: {
        ("when",): _CONDITION,
        ("by",): _CONDITION,
        ("target", "counter"): _COUNTER,
        ("pass_through", "counter"): _COUNTER,
    },
    Section.PROFILES: {},
    Section.GROUPS: {("profile",): _PROFILE, ("policies",): _POLICY},
}
"""Keys whose value, or each item of it, names an entity of a section that the API can declare."""
_WORD = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def with_ids(section: Section, body: Mapping[str, Plain], id_of: Callable[[Section, str], str]) -> dict[str, Plain]:
    """Return a document in which references are ids.

    Args:
        section: that it belongs to.
        body: the document, which is left as it is.
        id_of: returns the id for a name in a section, or the name itself where it stands for no entity of the API.
    """
    found = dict(body)
    for path, named in _NAMES[section].items():
        _rewrite(found, path, lambda name, named=named: id_of(named, name))  # type: ignore[misc]
    if section is Section.CONDITIONS:
        _rewrite(found, ("expression",), lambda text: _WORD.sub(lambda word: id_of(_COUNTER, word[0]), text))
    return found


def _rewrite(body: dict[str, Plain], path: tuple[str, ...], renamed: Callable[[str], str]) -> None:
    value = body.get(path[0])
    if len(path) > 1 and isinstance(value, dict):
        inner = body[path[0]] = dict(value)
        _rewrite(inner, path[1:], renamed)
    elif isinstance(value, str):
        body[path[0]] = renamed(value)
    elif isinstance(value, list):
        body[path[0]] = [renamed(each) if isinstance(each, str) else each for each in value]
