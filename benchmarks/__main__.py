"""`make bench`: run every benchmark of this folder and print its figures. Trust ratios more than milliseconds.

A benchmark that fails is named, with its error, and the others still run; the exit code is 1 then.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
import traceback
from pathlib import Path


def names() -> list[str]:
    """Every benchmark, by module name."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def main() -> int:
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    failed = []
    for name in sys.argv[1:] or names():
        print(f"\n{name}")
        try:
            for what, figure, unit in importlib.import_module(f"benchmarks.{name}").run():
                print(f"  {what:<78} {figure:>12,.3f} {unit}", flush=True)
        except Exception:  # noqa: BLE001 the other benchmarks are measured all the same
            traceback.print_exc()
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
