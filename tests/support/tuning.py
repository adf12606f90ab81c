"""Recordings of a simulated fleet, and groups that are tuned on them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from config.document.places import read_places
from config.load import parse
from config.model.catalogue import Catalogue
from config.units import CounterId
from handler.replay.load import Feed, SyntheticLoad, replay_load
from handler.replay.members import always
from handler.replay.reading import ReplaySpan, read_series
from handler.replay.scrapes import ticks_by_group
from handler.tuning.parameters import Parameter
from handler.tuning.preparing import DeclaredFile, Recording, ground_of
from handler.tuning.trials import Fitting, TrialGround
from tests.support.replay import MODEL, START, STEP, WEB, Row, written

CAPACITY, BOOT = 100.0, 60.0
SHARED = MODEL.replace("range: [0, 100]}", "range: [0, 100], shared: true}").replace("max: 6", "max: 9")
FITTING = Fitting(boot=BOOT, drain=60.0)


def file_of(text: str = SHARED) -> DeclaredFile:
    return DeclaredFile(text=text, reading=read_places(text, "web.yaml"), catalogue=parse(text, "web.yaml"))


def a_load(hours: float, *, seed: int = 1) -> SyntheticLoad:
    """A day of so many hours, which rises and falls between 50 and 450, with some noise."""
    at, draw = np.arange(0.0, hours * 3600.0, 60.0), np.random.default_rng(seed)
    rate = 250.0 + 200.0 * np.sin(2 * math.pi * at / (hours * 3600.0)) + draw.normal(0.0, 10.0, len(at))
    feeds = {CounterId("cpu"): Feed.UTILISATION}
    return SyntheticLoad(at=START + at, rate=np.maximum(rate, 1.0), capacity=CAPACITY, boot=always(BOOT), feeds=feeds)


def polled(catalogue: Catalogue, load: SyntheticLoad) -> Iterator[Row]:
    """What polls of the fleet that this declaration makes would have recorded."""
    path = replay_load(catalogue, WEB, load).path
    assert path is not None
    rates = load.rate[np.searchsorted(load.at, START + STEP * np.arange(len(path.serving)), side="right") - 1]
    for tick, (rate, serving) in enumerate(zip(rates.tolist(), path.serving.tolist(), strict=True)):
        for member in range(serving):
            yield STEP * tick, f"m{member}", min(100.0 * rate / (serving * CAPACITY), 100.0)


def recorded(folder: Path, load: SyntheticLoad, text: str = SHARED) -> Path:
    return written(folder / "series.csv", polled(parse(text, "web.yaml"), load))


def ground(series: Path, text: str = SHARED, only: Sequence[str] = (), limit: float | None = None) -> TrialGround:
    """The group, with those of its parameters that are named; none: with all of them."""
    file = file_of(text)
    samples, _ = read_series(series, file.catalogue, (WEB,), ReplaySpan())
    recording = Recording(ticks=ticks_by_group(file.catalogue, samples), courses={})

    def chosen(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        return tuple(each for each in parameters if each.name in only) if only else parameters

    return ground_of(file, WEB, recording, chosen, FITTING, limit)
