"""Plugins as they really come: built into a wheel, unpacked where Python finds them, with their entry point."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path


def built(home: Path, files: dict[str, str]) -> Path:
    """Build a distribution from its files, and unpack it as an installer does; gives the folder for ``sys.path``."""
    project, site = home / "project", home / "site"
    for name, text in files.items():
        file = project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    build = "import hatchling.build as backend; print(backend.build_wheel('.'))"
    done = subprocess.run([sys.executable, "-c", build], cwd=project, check=True, capture_output=True, text=True)
    with zipfile.ZipFile(project / done.stdout.split()[-1]) as wheel:
        wheel.extractall(site)
    return site


def a_plugin(site: Path, name: str, body: str) -> Path:
    """The same without the build: a plugin that is the class ``Plugin`` of this module, as an installer leaves it."""
    records = site / f"trimtab_{name}-1.0.dist-info"
    records.mkdir(parents=True)
    (records / "METADATA").write_text(f"Metadata-Version: 2.1\nName: trimtab-{name}\nVersion: 1.0\n")
    (records / "entry_points.txt").write_text(f"[trimtab.sources]\n{name} = trimtab_{name}:Plugin\n")
    head = "import asyncio\nimport time\n\nfrom config.model.access import SecretRef\n\n\n"
    (site / f"trimtab_{name}.py").write_text(head + body)
    return site
