"""The `trimtab` command: what the application offers, and the demo, which stands upon it and is unknown to it."""

from __future__ import annotations

import gc
import os
import sys

gc.set_threshold(50_000, 10, 10)  # what modules make stays: to look for cycles in it takes a tenth of a start

try:
    from handler.cli.completion import VARIABLE, prepare
    from handler.cli.main import app
    from handler.demo.command import demo
except KeyboardInterrupt:  # Ctrl-C before any command has begun
    sys.exit(130)

app.command()(demo)


def main() -> None:
    """Entry point: of a person, or of a shell that completes what a person types."""
    if VARIABLE in os.environ:
        prepare()
    app()


if __name__ == "__main__":
    main()
