"""Write every dashboard as JSON, or (``--check``) say which ones are stale."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from grafana.build import clouds, collector, fleet, group, members, trimtab

FOLDER = Path(__file__).parent.parent / "dashboards"
_DASHBOARDS = {
    "fleet": fleet.dashboard,
    "group": group.dashboard,
    "members": members.dashboard,
    "collector": collector.dashboard,
    "clouds": clouds.dashboard,
    "trimtab": trimtab.dashboard,
}


def texts() -> dict[Path, str]:
    """Return path → JSON with sorted keys, so that a change shows as its own lines and nothing else."""
    return {FOLDER / f"{name}.json": _text(build()) for name, build in _DASHBOARDS.items()}


def stale(committed: dict[Path, str]) -> list[Path]:
    """Return the files that differ from the code."""
    return [path for path, text in committed.items() if not path.exists() or path.read_text() != text]


def _text(dashboard: Dashboard) -> str:
    for number, panel in enumerate(dashboard.panels or (), start=1):
        panel.id_val = number  # links to one panel survive a rebuild
    return json.dumps(dashboard, cls=JSONEncoder, indent=2, sort_keys=True) + "\n"


def main(arguments: list[str]) -> int:
    """Write, or check."""
    wanted = texts()
    late = stale(wanted)
    if arguments == ["--check"]:
        for path in late:
            sys.stderr.write(f"grafana/dashboards/{path.name} is stale: run `make dashboards`\n")
        return 1 if late else 0
    FOLDER.mkdir(exist_ok=True)
    for path in late:
        path.write_text(wanted[path])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
