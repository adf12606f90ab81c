"""Import optional libraries: each is needed for one kind of cloud only."""

from __future__ import annotations

import importlib
from types import ModuleType

from config.causes import FailureCause
from config.errors import Permanent


def library(name: str, *, of: str, extra: str, needs: str) -> ModuleType:
    """Import the library that one kind of cloud needs.

    Args:
        name: the module.
        of: the subject of the error.
        extra: the extra of trimtab that installs it.
        needs: the requirement, as `pip` takes it.

    Raises:
        Permanent: the library is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        remedy = f"install the extra {extra} of trimtab (pip install '{needs}')"
        raise Permanent(f"{of}: the library {needs} is missing: {remedy}", cause=FailureCause.LIBRARY) from None
