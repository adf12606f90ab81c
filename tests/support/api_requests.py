"""Hooks for schemathesis: requests at random that reach what is there, and values that only an answer can give."""

from __future__ import annotations

import itertools
import os
from typing import Any

import schemathesis

_FRESH = itertools.count()
_THERE = {"group": "web", "policy": "out", "name": "pager"}
"""What the daemon has, by the parameter that names it."""
TOKEN = "TRIMTAB_API_TOKEN"
"""The variable with the bearer token of the role; without it requests are anonymous."""

if TOKEN in os.environ:

    @schemathesis.auth()
    class Bearer:
        """Shows the token."""

        def get(self, case: Any, context: Any) -> str:
            return os.environ[TOKEN]

        def set(self, case: Any, data: str, context: Any) -> None:
            case.headers = {**(case.headers or {}), "Authorization": f"Bearer {data}"}


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Name what is there in half of the requests."""
    if path_parameters and len(repr(path_parameters)) % 2:
        return {name: _THERE.get(name, value) for name, value in path_parameters.items()}
    return path_parameters


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Give each request a key of its own, and no cursor or tag that no answer has had: they are tried elsewhere."""
    for name in [name for name in case.headers or () if name.lower() in {"idempotency-key", "if-match"}]:
        del case.headers[name]
        if name.lower() == "idempotency-key":
            case.headers[name] = f"key-{next(_FRESH)}"
    if case.query:
        case.query.pop("cursor", None)
