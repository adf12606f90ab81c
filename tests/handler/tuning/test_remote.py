"""Settings that are tried by a real dask scheduler and its workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import dask
import pytest
from distributed import LocalCluster

from config.errors import Refused
from handler.tuning import dask_client, parcels, remote
from handler.tuning.parcels import packed, releases_here, unpacked
from handler.tuning.remote import trying_at
from handler.tuning.searching import by_search
from handler.tuning.trials import TrialGround
from handler.tuning.trying import trying
from tests.support.replay import WEB, flat, written
from tests.support.tuning import SHARED, a_load, ground, recorded

ABOVE, WINDOW = "conditions.busy.above", "conditions.busy.window"
WORKER = (sys.executable, "-m", "distributed.cli.dask_worker")


@contextmanager
def a_scheduler(workers: int) -> Iterator[str]:
    """A scheduler on loopback, with so many workers that are threads of this process."""
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address


@contextmanager
def a_worker(scheduler: str) -> Iterator[None]:
    """A worker process, which has no file of ours but the code."""
    process = subprocess.Popen(
        [*WORKER, scheduler, "--nthreads", "1", "--no-nanny", "--no-dashboard"], stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def uncounted(_: int) -> None:
    """Shows nothing."""


def untold(done: int, of: int) -> None:
    """Shows nothing."""


@pytest.fixture
def small(tmp_path: Path) -> TrialGround:
    return ground(written(tmp_path / "s.csv", flat(90, 10)), only=[ABOVE])


def test_a_worker_finds_what_is_found_here(tmp_path: Path) -> None:
    text = SHARED.replace("above: 80", "window: 60s, above: 80")
    there = ground(recorded(tmp_path, a_load(1), text), text, only=[ABOVE, WINDOW])
    parameters = {WEB: there.tuned.parameters}
    with trying({WEB: there}, 1) as tried:
        here = by_search(parameters, 20, tried, untold)[WEB]

    with a_scheduler(0) as scheduler, a_worker(scheduler), trying_at(scheduler, {WEB: there}) as tried:
        found = by_search(parameters, 20, tried, untold)[WEB]

    assert list(found.items()) == list(here.items())
    assert len(found) > 5


def test_settings_of_which_workers_die_are_given_up(small: TrialGround, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "tried_there", lambda *_: os._exit(1))

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        a_scheduler(0) as scheduler,
        a_worker(scheduler),
        pytest.raises(Refused, match="group web: workers died 1 times of the same settings"),
        trying_at(scheduler, {WEB: small}) as tried,
    ):
        tried([(WEB, (80.0,))], uncounted)


def test_a_worker_of_another_release_is_named_before_anything_is_sent(
    small: TrialGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(releases_here(), libraries=("9.9", *releases_here().libraries[1:]))
    monkeypatch.setattr(dask_client, "releases_here", lambda: other)

    with (
        a_scheduler(1) as scheduler,
        pytest.raises(Refused, match=r"worker tcp://.* has another release of trimtab than this machine: .* of 9\.9"),
        trying_at(scheduler, {WEB: small}),
    ):
        pass


def test_a_worker_that_comes_later_refuses_what_another_release_sends(
    small: TrialGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = packed(small.recording)
    monkeypatch.setattr(parcels, "releases_here", lambda: replace(releases_here(), python="3.99"))

    with pytest.raises(Refused, match=r"has other releases than the command \(Python 3\.99"):
        unpacked(sent)


def test_a_scheduler_without_workers_is_not_waited_for_for_ever(
    small: TrialGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_client, "WITHOUT_WORKERS", 0.1)

    with (
        a_scheduler(0) as scheduler,
        pytest.raises(Refused, match=r"has had no workers for 0\.1 s: start dask worker"),
        trying_at(scheduler, {WEB: small}),
    ):
        pass


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        ("tcp://127.0.0.1:1", "the dask scheduler at tcp://127.0.0.1:1 does not answer: "),
        ("tls://127.0.0.1:1", "dask has no certificates: name them in its configuration"),
        ("127.0.0.1:8786", "--scheduler 127.0.0.1:8786: expected tcp://HOST:PORT or tls://HOST:PORT"),
    ],
)
def test_a_scheduler_that_cannot_be_asked_is_refused(
    scheduler: str, message: str, small: TrialGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_client, "ANSWERS", 0.2)

    with pytest.raises(Refused, match=message), trying_at(scheduler, {WEB: small}):
        pass


def test_without_dask_it_is_said_how_to_install_it(small: TrialGround, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(Refused, match=r"pip install 'trimtab\[dask\]'"), trying_at("tcp://there:8786", {WEB: small}):
        pass
