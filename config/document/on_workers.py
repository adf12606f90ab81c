"""The key ``on``: which workers reach a cloud, a balancer or a source."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import PlainValidator

from config.document.declared import key, worded
from config.units import WORKER_NAME, WORKER_NAME_IN_WORDS, WorkerName


def read_workers(value: object) -> tuple[WorkerName, ...]:
    """Read the name of a worker, or a list of names.

    Raises:
        ValueError: says what was expected.

    >>> read_workers("box1"), read_workers(["box1", "box2"])
    (('box1',), ('box1', 'box2'))
    """
    names = value if isinstance(value, list) else [value]
    read = tuple(WorkerName(name) for name in names if isinstance(name, str) and re.fullmatch(WORKER_NAME, name))
    if not names or len(read) < len(names):
        raise ValueError(f"the name of a worker, or a list of names: {WORKER_NAME_IN_WORDS}")
    if len(set(read)) < len(read):
        raise ValueError("one that names each worker once")
    return read


_ONE = {"type": "string", "pattern": f"^{WORKER_NAME}$"}
Workers = Annotated[
    tuple[WorkerName, ...],
    PlainValidator(read_workers),
    worded(
        "name of a worker, or list of them",
        "1 to 63 characters each",
        anyOf=[_ONE, {"type": "array", "minItems": 1, "uniqueItems": True, "items": _ONE}],
    ),
]


def on_workers() -> Any:  # noqa: ANN401 the type of pydantic's Field
    """Return the key, as every entry that can have it has it."""
    return key(
        "The workers that reach it (run --worker NAME): no other one takes over.",
        "box1",
        left_out="every worker reaches it",
    )
