"""What a file may not declare that several daemons go by, and which of them may act by it: those that reach all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from config.checks.findings import Finding, problem_of
from config.errors import DeclarationError, Problem, Refused
from config.model.access import SecretRef
from config.model.balancers import HaproxyBalancer, SharedListener
from config.model.catalogue import Catalogue
from config.model.clouds import LibvirtCloud, ProcessCloud
from config.model.where import dotted
from config.units import WORKER_NAME, WORKER_NAME_IN_WORDS, WorkerName

_NAMED_AT_MOST: Final = 3
"""Entries that a bar names: it is one line."""

_NAME_IT: Final = "write on: NAME, the worker of that machine, or run without --worker"
_OF_LIBVIRT: Final = "write qemu+tls://HOST/system or qemu+ssh://HOST/system; or on: NAME, the worker of that machine"
_OF_A_SOCKET: Final = (
    "have HAProxy listen on an address that all workers reach (stats socket ipv4@HOST:PORT level admin), and write "
    "HOST:PORT here; or write on: NAME, the worker of that machine"
)
_Entry: TypeAlias = tuple[str, str]
"""Section and name."""


def tied_to_machine(catalogue: Catalogue, worker: WorkerName | None = None) -> tuple[Problem, ...]:
    """Return a problem for each place that workers could not go on with, and for a store in a file.

    ``worker`` is the one that is to act by it; ``None``: any of those that it names.
    """
    findings = (*_findings(catalogue), *elsewhere(catalogue, worker))
    return tuple(sorted(problem_of(catalogue, finding) for finding in findings))


def refuse_tied(catalogue: Catalogue, worker: WorkerName | None = None) -> None:
    """Refuse a declaration that other workers could not go on with, or this one.

    Raises:
        DeclarationError: one problem for each place.
    """
    problems = tied_to_machine(catalogue, worker)
    if problems:
        raise DeclarationError(problems)


def _findings(catalogue: Catalogue) -> Iterator[Finding]:
    if catalogue.store is None:
        yield Finding(
            ("store",), "workers need a store that all of them reach: declare PostgreSQL here, or run without --worker"
        )
    if catalogue.writable:
        yield Finding(
            ("writable",),
            "each worker has its own copy of the file, and a change of one would bar the others: leave it out",
        )
    yield from tied_places(catalogue)


def tied_places(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield what only one machine could reach, and no ``on`` says which.

    Another machine would list none of these members, take them for gone, and make all of them anew.
    """
    for entry, why, remedy in _of_one_machine(catalogue):
        if entry not in catalogue.on_workers:
            yield Finding(entry, f"{why}: {remedy}")


def _of_one_machine(catalogue: Catalogue) -> Iterator[tuple[_Entry, str, str]]:
    """Yield each entry that belongs to one machine, why that is so, and what to do where no ``on`` says which."""
    yield from _clouds_of_one_machine(catalogue)
    for balancer in catalogue.balancers.values():
        if isinstance(balancer, SharedListener):
            words = "a shared listener belongs to one machine, which no other worker reaches"
            yield ("balancers", balancer.id), words, _NAME_IT
        elif isinstance(balancer, HaproxyBalancer):
            for socket in (each for each in balancer.sockets if each.startswith("/")):
                words = f"{socket} is a socket of each worker's own machine"
                yield ("balancers", balancer.id), words, _OF_A_SOCKET


def _clouds_of_one_machine(catalogue: Catalogue) -> Iterator[tuple[_Entry, str, str]]:
    for cloud in catalogue.clouds.values():
        if isinstance(cloud, ProcessCloud):
            yield ("clouds", cloud.id), "its members are processes of one machine, which no other worker sees", _NAME_IT
        elif isinstance(cloud, LibvirtCloud):
            for uri in (host.uri for host in cloud.hosts if host.is_local):
                yield ("clouds", cloud.id), f"{uri} is libvirt on each worker's own machine", _OF_LIBVIRT


# Which workers reach everything.


def worker_named(text: str, option: str) -> WorkerName:
    """Read the name of a worker that an option of a command has.

    Raises:
        Refused: it is none.
    """
    if not re.fullmatch(WORKER_NAME, text):
        raise Refused(f"{option} {text[:40]!r}: expected {WORKER_NAME_IN_WORDS}")
    return WorkerName(text)


def on_several_machines(catalogue: Catalogue) -> Iterator[Finding]:
    """Find entries that belong to one machine, and name several workers."""
    found = {entry: why for entry, why, _ in _of_one_machine(catalogue)}
    for entry, why in found.items():
        names = catalogue.on_workers.get(entry, ())
        if len(names) > 1:
            message = f"{why}, and {_words(names, 'and')} are on different ones: name one"
            yield Finding((*entry, "on"), message, (entry,))


def without_a_worker(catalogue: Catalogue) -> Iterator[Finding]:
    """Find the entry that leaves no worker which reaches it and all before it: no worker could ever act."""
    left: frozenset[WorkerName] | None = None
    narrower: list[_Entry] = []
    for entry, names in catalogue.on_workers.items():
        if left is not None and left.isdisjoint(names):
            apart = [each for each in narrower if not {*catalogue.on_workers[each]} & {*names}]
            yield _contradiction(catalogue, entry, apart[:1] or narrower)
            return
        if left is None or not left <= {*names}:
            left = frozenset(names) if left is None else left & {*names}
            narrower.append(entry)


def _contradiction(catalogue: Catalogue, entry: _Entry, others: list[_Entry]) -> Finding:
    message = (
        f"no worker could ever act: this is on {_words(catalogue.on_workers[entry], 'or')}, and "
        f"{', '.join(_place(catalogue, each) for each in others)}; one worker acts for all groups, so name one in all "
        "of them, or divide the file between two installations"
    )
    return Finding((*entry, "on"), message, tuple((*each, "on") for each in others))


def _place(catalogue: Catalogue, entry: _Entry) -> str:
    site = catalogue.sites.get((*entry, "on"))
    where = "" if site is None else f" ({site.file}:{site.line})"
    return f"{dotted(entry)} on {_words(catalogue.on_workers[entry], 'or')}{where}"


def elsewhere(catalogue: Catalogue, worker: WorkerName | None) -> Iterator[Finding]:
    """Yield each entry that a worker does not reach, by what the file says; none for no worker."""
    for entry, names in _beyond(catalogue, worker).items():
        yield Finding(
            (*entry, "on"),
            f"it is on {_words(names, 'or')}, so worker {worker} could not act by this file: if that one acts now, "
            "have another one take over first (trimtab cluster hand-over)",
        )


def bar_of(catalogue: Catalogue, worker: WorkerName) -> str:
    """Return why a worker does not take over with a file, in one line; empty: it reaches all that the file names.

    >>> from config.load import parse
    >>> bar_of(parse("clouds: {local: {process: {}, on: box1}}", "web.yaml"), WorkerName("box2"))
    'clouds.local is on box1, and this worker is box2'
    """
    beyond = _beyond(catalogue, worker)
    if not beyond:
        return ""
    named = [f"{dotted(entry)} is on {_words(names, 'or')}" for entry, names in beyond.items()]
    more = len(named) - _NAMED_AT_MOST
    shown = ", ".join(named[:_NAMED_AT_MOST]) + (f", {more} more are elsewhere, too" if more > 0 else "")
    return f"{shown}, and this worker is {worker}"


def _beyond(catalogue: Catalogue, worker: WorkerName | None) -> Mapping[_Entry, tuple[WorkerName, ...]]:
    if worker is None:
        return {}
    return {entry: names for entry, names in catalogue.on_workers.items() if worker not in names}


def _words(names: tuple[WorkerName, ...], joint: str) -> str:
    *first, last = names
    return f"{', '.join(first)} {joint} {last}" if first else last


# A file that is applied.


def refuse_unfit(
    catalogue: Catalogue, seal: SecretRef | None, *, of_workers: bool, worker: WorkerName | None = None
) -> None:
    """Refuse a file that daemons over one store could not all go by.

    Args:
        catalogue: that the file would lead to.
        seal: where each machine's own file says that the key of sealed secrets is.
        of_workers: daemons on several machines go by it.
        worker: the one that acts; ``None``: any of those that the file names may.

    Raises:
        DeclarationError: one problem for each place.
    """
    of_machines = (*tied_places(catalogue), *elsewhere(catalogue, worker)) if of_workers else ()
    findings = [*_unfit(catalogue, seal), *of_machines]
    if findings:
        raise DeclarationError(tuple(sorted(problem_of(catalogue, each) for each in findings)))


def _unfit(catalogue: Catalogue, seal: SecretRef | None) -> Iterator[Finding]:
    if catalogue.writable:
        yield Finding(
            ("writable",),
            "an applied file is in the store, and no daemon writes into it: leave it out, and apply again",
        )
    if catalogue.seal != seal:
        yield Finding(
            ("seal",),
            "each machine's own file says something else of the key, under which this file itself is sealed: write the "
            "same into both",
        )
