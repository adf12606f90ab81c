"""``trimtab run FILE... --worker NAME``: one process that is a worker of several installations, its shards.

Each shard is whole in itself: a file, a store, a lease with an epoch, a state directory, and sockets. They share the
process, and no more: one that is refused or fails is tried again, and the others go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import uvloop

from collector.clients.connecting import own_name_threads
from config.errors import Refused, TrimtabError
from config.units import Monotonic, Seconds
from handler import logs
from handler.daemon.run import Signals, prepared
from handler.daemon.worker import CannotAct, WorkerOptions, working
from handler.leasing.workers import priority_for
from handler.runtime import clock
from handler.runtime.directory import StateDirectory
from handler.runtime.loops import until_set
from handler.runtime.ownership import take_directory

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
PREFERRED = 1000
"""The priority of a worker for a shard that the command says it is to have: above all that its name could give it."""
_AGAIN: Seconds = 5.0
"""After which a shard that has ended is tried again; then after twice as long, and so on."""
_AGAIN_AT_MOST: Seconds = 60.0
_THREADS: contextvars.ContextVar[Executor | None] = contextvars.ContextVar("threads", default=None)
"""Those of the shard that the context is of."""


def shards_of(files: Sequence[Path], worker: WorkerOptions, preferred: Sequence[str]) -> tuple[WorkerOptions, ...]:
    """Return what a command says of its worker of each shard, which goes by the name of its file without suffix.

    Args:
        files: one for each.
        worker: what holds for all; its file is none of theirs, and its state directory has theirs below it.
        preferred: names of shards that this worker is to have.

    Raises:
        Refused: two files have one name, or no file has a preferred name.
    """
    names = Counter(file.stem for file in files)
    twice = next((name for name, times in names.items() if times > 1), None)
    if twice is not None:
        raise Refused(f"two files are called {twice}: each shard goes by the name of its file, on every machine")
    unknown = next((name for name in preferred if name not in names), None)
    if unknown is not None:
        raise Refused(f"--prefer {unknown}: no file has this name; there are {', '.join(sorted(names))}")
    return tuple(_shard(file, worker, file.stem in preferred) for file in files)


def _shard(file: Path, worker: WorkerOptions, is_preferred: bool) -> WorkerOptions:
    name = file.stem
    priority = PREFERRED if is_preferred else priority_for(worker.name, name)
    return replace(worker, shard=name, file=file, state=worker.state / name, priority=priority, wants_it_back=True)


async def run_shards_until_signal(shards: Sequence[WorkerOptions]) -> None:
    """Be a worker of each shard until INT or TERM; HUP reloads all of which this process has the lease.

    Raises:
        Refused: the directory that is to have the state of all cannot be used, or is one daemon's own.
    """
    limit, signals = prepared()
    state = shards[0].state.parent
    take_directory(state, shards=[shard.shard for shard in shards])
    _refuse_own(state)
    own = [Signals(stop=signals.stop, reload=asyncio.Event()) for _ in shards]

    def reload() -> None:
        for each in own:
            each.reload.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)
    share = limit // len(shards)
    await asyncio.gather(*(_kept(shard, each, share) for shard, each in zip(shards, own, strict=True)))


def _refuse_own(state: Path) -> None:
    if StateDirectory(state).known_installation() is not None:
        raise Refused(
            f"{state} is the state directory of one daemon: move what is in it into a directory below that is called "
            "as its file, without suffix, or name another one with --state"
        )


async def _kept(shard: WorkerOptions, signals: Signals, limit: int) -> None:
    """Be a worker of one shard until the process is to stop, however often that fails."""
    pause, options = _AGAIN, shard
    with logs.about(shard=shard.shard), own_threads(shard.shard):
        while not signals.stop.is_set():
            began = _steady()
            try:
                await working(options, signals, limit)
            except CannotAct as error:
                trouble = str(error)
                options = replace(options, lost_at=_steady())  # else it would get the lease back, and fail again
            except TrimtabError as error:
                trouble = str(error)
            except Exception as error:  # a defect costs this shard a moment, and not the others their leases
                logging.getLogger("trimtab").debug("%s", logs.logfmt("traceback"), exc_info=True)
                trouble = f"{type(error).__name__}: {error}"
                options = replace(options, lost_at=_steady())  # it may have had the lease, too
            else:
                continue
            pause = _AGAIN if _steady() - began > _AGAIN_AT_MOST else pause
            logs.warn("shard_ended", error=trouble, again_s=pause)
            await until_set(signals.stop, pause)
            pause = min(2 * pause, _AGAIN_AT_MOST)


def _steady() -> Monotonic:
    return clock.moment().steady


@contextlib.contextmanager
def own_threads(shard: str) -> Iterator[None]:
    """Give what the block begins threads of its own in a `ShardLoop`.

    A shard whose database or name server hangs takes its own alone.
    """
    threads = ThreadPoolExecutor(thread_name_prefix=shard)
    token = _THREADS.set(threads)
    try:
        with own_name_threads():
            yield
    finally:
        _THREADS.reset(token)
        threads.shutdown(wait=False)


class ShardLoop(uvloop.Loop):
    """An event loop whose threads log for the shard that they work for, and are its own."""

    def run_in_executor(  # type: ignore[override]  # its stub has a coroutine
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """As that of every loop; the function runs in the context of the call, by default in a thread of its shard."""
        work = contextvars.copy_context().run
        return super().run_in_executor(executor or _THREADS.get(), work, func, *args)  # type: ignore[return-value]
