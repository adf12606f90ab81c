"""Write the golden files anew: only when what is written is meant to change; never for a rename or a move."""

from __future__ import annotations

from tests.golden.kept import FILES, KEPT


def main() -> None:
    """Write every file."""
    for name, made in KEPT.items():
        path = FILES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made(), encoding="utf-8")


if __name__ == "__main__":
    main()
