"""What errors mean once a cloud has accepted a call that makes something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from config.errors import DriverError, Permanent, Transient


@contextmanager
def after_acceptance(*, accepted: bool = True) -> Iterator[None]:
    """Raise permanent errors as transient ones: what the cloud has accepted may be there, so nothing is written off.

    ``accepted``: whether the cloud has; if not, errors stay as they are.

    >>> with after_acceptance():
    ...     raise Permanent("prod: GET /servers/5b3f: refused")
    Traceback (most recent call last):
    config.errors.Transient: prod: GET /servers/5b3f: refused
    """
    try:
        yield
    except Permanent as error:
        if not accepted:
            raise
        raise passing(error) from error


def passing(error: DriverError) -> DriverError:
    """Return the error as a transient one; its message, cause and remedy stay."""
    if isinstance(error, Transient):
        return error
    later = Transient(str(error), cause=error.cause)
    later.remedy = error.remedy
    return later
