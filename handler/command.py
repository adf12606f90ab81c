"""The `trimtab` command: what the application offers, and the demo, which stands upon it and is unknown to it."""

from __future__ import annotations

from handler.app.cli import app
from handler.demo.command import demo

app.command()(demo)


def main() -> None:
    """Entry point."""
    app()


if __name__ == "__main__":
    main()
