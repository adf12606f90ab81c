"""`make bench`: run every benchmark of this folder and print its figures. Trust ratios more than milliseconds."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from pathlib import Path


def main() -> None:
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    chosen = sys.argv[1:] or sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    for name in chosen:
        print(f"\n{name}")
        for what, figure, unit in importlib.import_module(f"benchmarks.{name}").run():
            print(f"  {what:<78} {figure:>12,.3f} {unit}", flush=True)


if __name__ == "__main__":
    main()
