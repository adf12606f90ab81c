"""pysnmp, without doing over again what takes it half a second for every engine: the same code, compiled once.

It compiles twenty modules of MIBs twice whenever an engine is made, and hashes a megabyte for each password.
Importing this is enough.
"""

from __future__ import annotations

import functools
from pathlib import Path
from types import CodeType, SimpleNamespace

from pysnmp.proto.secmod.rfc3414 import localkey  # type: ignore[import-untyped]
from pysnmp.smi import builder  # type: ignore[import-untyped]


@functools.cache
def _compiled(path: str) -> CodeType:
    return compile(Path(path).read_text(), path, "exec")


def _run_path(path: str, given: dict[str, object]) -> None:
    exec(_compiled(path), {**given, "__name__": "<run_path>", "__file__": path})  # noqa: S102 a module of pysnmp's


builder.compile = functools.cache(compile)
builder.runpy = SimpleNamespace(run_path=_run_path)
localkey.hash_passphrase = functools.cache(localkey.hash_passphrase)
