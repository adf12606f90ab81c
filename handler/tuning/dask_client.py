"""A connection to a dask scheduler whose machines have our releases, or a refusal that says what is missing."""

from __future__ import annotations

import importlib.metadata
import logging
import platform
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from config.errors import Refused
from config.units import Seconds
from handler.tuning.parcels import LIBRARIES, minor, releases_here

if TYPE_CHECKING:
    from distributed import Client

ANSWERS: Seconds = 10.0
"""For how long the scheduler may take to answer."""
WITHOUT_WORKERS: Seconds = 30.0
"""For how long it may be without any."""
_ADDRESS = re.compile(r"(tcp|tls)://[^/\s]+:\d+")


@contextmanager
def connected(scheduler: str) -> Iterator[Client]:
    """Provide a connection to a scheduler; whatever is still to be done for it ends with the block.

    Args:
        scheduler: its address, ``tcp://HOST:PORT`` or ``tls://HOST:PORT``; the certificates of the latter are those of
            dask's own configuration.

    Raises:
        Refused: dask is not installed, the scheduler does not answer or has no workers, or one of its machines has
            another release of what must be the same; within the block also if the scheduler goes.
    """
    if not _ADDRESS.fullmatch(scheduler):
        raise Refused(f"--scheduler {scheduler}: expected tcp://HOST:PORT or tls://HOST:PORT")
    try:
        from distributed import CancelledError
    except ImportError as error:
        raise Refused("--scheduler needs dask: pip install 'trimtab[dask]'") from error
    for name in ("distributed", "distributed.client"):  # they print tracebacks of what is raised here as well
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = _client(scheduler)
        try:
            _require_workers(client, scheduler)
            _require_releases(client)
            yield client
        finally:
            client.close(timeout=ANSWERS)
    except CancelledError as error:
        raise Refused(f"the dask scheduler at {scheduler} is gone, or has cancelled what it was to do") from error
    except OSError as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise Refused(f"the dask scheduler at {scheduler} does not answer: {reason}") from error


def without_workers(scheduler: str) -> Refused:
    """Return the refusal to wait longer for workers."""
    return Refused(f"the dask scheduler at {scheduler} has had no workers for {WITHOUT_WORKERS:g} s: start dask worker")


def _client(scheduler: str) -> Client:
    from distributed import Client, Security
    from distributed.versions import VersionMismatchWarning

    security = Security()
    if scheduler.startswith("tls:") and security.get_connection_args("client")["ssl_context"] is None:
        raise Refused(
            f"--scheduler {scheduler}: dask has no certificates: name them in its configuration "
            "(distributed.comm.tls.ca-file, and cert and key of distributed.comm.tls.client)"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)  # what must be the same is asked for below
        return Client(scheduler, timeout=ANSWERS, security=security, set_as_default=False, name="trimtab-tune")


def _require_workers(client: Client, scheduler: str) -> None:
    try:
        client.wait_for_workers(1, timeout=WITHOUT_WORKERS)
    except TimeoutError:
        raise without_workers(scheduler) from None


def _require_releases(client: Client) -> None:
    """Make sure that the scheduler and its workers have our releases; workers that come later look for themselves.

    What they are asked is of Python's own library, so that machines without Trimtab can answer, too.
    """
    here = releases_here()
    different = list(_different(client, "Python", here.python, platform.python_version))
    for name, release in zip(LIBRARIES, here.libraries, strict=True):
        different += _different(client, name, release, partial(importlib.metadata.version, name))
    if different:
        raise Refused("\n".join([*different, "install the same there, with trimtab[dask], and start dask again"]))


def _different(client: Client, name: str, here: str, release: Callable[[], str]) -> Iterator[str]:
    """Yield where another release is, or none."""
    try:
        found: dict[str, object] = {"the scheduler": client.run_on_scheduler(release)}
    except ImportError:
        found = {"the scheduler": None}
    workers = client.run(release, on_error="return")
    found |= {f"worker {address}": each for address, each in workers.items() if not isinstance(each, OSError)}
    for place, each in found.items():
        there = each if isinstance(each, str) else "none"
        if (minor(there) if name == "Python" else there) != here:
            yield f"{place} has another release of {name} than this machine: {there} instead of {here}"
