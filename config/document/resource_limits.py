"""The limits of members that are processes, as they are written.

`memory` is ``RLIMIT_DATA`` and not ``RLIMIT_AS``: since Linux 4.7 it counts what a process may write to for itself,
however allocated, while the address space also counts what is only reserved, of which the runtimes of Go, Java and
JavaScript take gigabytes at their start.

Source: setrlimit(2), setpriority(2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar

from pydantic import Field, PlainValidator, WithJsonSchema

from config.document.declared import NO_UNIT, SIZE_PATTERN, Declared, key, worded
from config.document.quantities import size_of
from config.document.scalars import Given, PositiveSpan
from config.model.recipes import ResourceLimits

_MOST_FILES = 2**20
_AS_TRIMTAB = "the limit of Trimtab itself"


def _size(least: str) -> WithJsonSchema:
    return worded("size with a unit", f"from {least}", type="string", pattern=SIZE_PATTERN)


def at_least(least: str) -> Callable[[object], int]:
    """Read a size in bytes that lets a program start at all.

    >>> at_least("1MiB")("2 MiB")
    2097152
    """

    def read(value: object) -> int:
        size = size_of(value)
        if size < size_of(least):
            raise ValueError(f"at least {least}")
        return size

    return read


class ResourceLimitsDocument(Declared):
    """What a member, and each process that it starts, may use, each for itself."""

    refused: ClassVar[Mapping[str, str]] = {
        "processes": "the kernel counts all processes and threads of the user on this machine, not those of a member: "
        "write TasksMax= into the unit of Trimtab",
        "address_space": "write memory: it does not count what is only reserved",
    }

    memory: Annotated[Annotated[int, PlainValidator(at_least("16MiB")), _size("16MiB")] | None, Given] = key(
        "Memory that it may write to for itself (RLIMIT_DATA).", "512MiB", left_out=_AS_TRIMTAB
    )
    cpu_time: Annotated[PositiveSpan | None, Given] = key(
        "Processor time until it is asked to end (RLIMIT_CPU): a bound for a program that spins.",
        "12h",
        left_out=_AS_TRIMTAB,
    )
    open_files: Annotated[Annotated[int, Field(ge=16, le=_MOST_FILES)] | None, Given] = key(
        "Descriptors that it may have open (RLIMIT_NOFILE).", 1024, left_out=_AS_TRIMTAB, unit="descriptors"
    )
    file_size: Annotated[Annotated[int, PlainValidator(at_least("1MiB")), _size("1MiB")] | None, Given] = key(
        "Size of any file that it writes, its log included (RLIMIT_FSIZE).", "1GiB", left_out=_AS_TRIMTAB
    )
    core: Annotated[Annotated[int, PlainValidator(at_least("1MiB")), _size("1MiB")] | None, Given] = key(
        "Size of a core file (RLIMIT_CORE), which holds the environment.", "1GiB", left_out="none is written"
    )
    nice: Annotated[Annotated[int, Field(ge=0, le=19)] | None, Given] = key(
        "The higher, the less of a busy processor it gets.", 10, left_out="that of Trimtab", unit=NO_UNIT
    )

    @property
    def limits(self) -> ResourceLimits:
        """The model."""
        return ResourceLimits(
            memory=self.memory,
            cpu_time=None if self.cpu_time is None else float(math.ceil(self.cpu_time)),
            open_files=self.open_files,
            file_size=self.file_size,
            core=self.core or 0,
            nice=self.nice,
        )
