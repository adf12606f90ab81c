"""Which benchmarks there are: those that a goal names, and further ones, which run only where they are asked for."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parents[1]


def with_goals() -> list[str]:
    """Every benchmark that has a goal, by module name: these are the modules of the folder ``benchmarks`` itself."""
    return _stems(_HERE)


def further() -> list[str]:
    """Every other benchmark, by module name: these are the modules of ``benchmarks/further``."""
    return _stems(_HERE / "further")


def names() -> list[str]:
    """Every benchmark, by module name."""
    return sorted((*with_goals(), *further()))


def module_of(name: str) -> str:
    """Return the module of a benchmark, as it is imported."""
    return f"benchmarks.further.{name}" if name in further() else f"benchmarks.{name}"


def _stems(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("[a-z]*.py"))
