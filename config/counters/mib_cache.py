"""Parsed MIBs as bytes, and back. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from config.counters.mib_syntax import Leaf, Module

_FORMAT = 1
"""Of the bytes, and of what `config.counters.mib_syntax` takes out of a MIB: a change of either raises it by 1."""


def dump_modules(modules: Iterable[Module]) -> bytes:
    """Write modules as JSON."""
    return json.dumps({"format": _FORMAT, "modules": [_plain(module) for module in modules]}).encode()


def load_modules(content: bytes) -> tuple[Module, ...]:
    """Read what `dump_modules` wrote.

    Raises:
        ValueError: it is something else, or of another version.
    """
    try:
        plain = json.loads(content)
        if plain["format"] != _FORMAT:
            raise ValueError("another format")
        return tuple(_module(module) for module in plain["modules"])
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError("not a kept MIB") from error


def _plain(module: Module) -> dict[str, object]:
    return {
        "name": module.name,
        "imports": dict(module.imports),
        "nodes": dict(module.nodes),
        "types": dict(module.types),
        "rows": sorted(module.rows),
        "leaves": [[leaf.name, leaf.syntax, leaf.span, leaf.units, leaf.description] for leaf in module.leaves],
    }


def _module(plain: dict[str, Any]) -> Module:
    return Module(
        name=plain["name"],
        imports=plain["imports"],
        nodes={symbol: (parent, arcs) for symbol, (parent, arcs) in plain["nodes"].items()},
        types=plain["types"],
        rows=frozenset(plain["rows"]),
        leaves=tuple(
            Leaf(name=name, syntax=syntax, span=_span(span), units=units, description=description)
            for name, syntax, span, units, description in plain["leaves"]
        ),
    )


def _span(plain: list[int] | None) -> tuple[int, int] | None:
    if plain is None:
        return None
    least, greatest = plain
    return least, greatest
