"""The `trimtab` command: what the application offers, and the demo, which stands upon it and is unknown to it."""

from __future__ import annotations

import sys

try:
    from handler.app.cli import app
    from handler.demo.command import demo
except KeyboardInterrupt:  # Ctrl-C before any command has begun
    sys.exit(130)

app.command()(demo)


def main() -> None:
    """Entry point."""
    app()


if __name__ == "__main__":
    main()
