"""`trimtab counters`: the counters that have names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handler.cli.terminal import PROBLEMS, AsJson, fail, print_json, show

if TYPE_CHECKING:
    from config.counters.listing import CounterName
    from config.counters.objects import KnownObject


def counters(
    word: Annotated[
        str, typer.Argument(metavar="[WORD]", help="Only counters with this in their name, unit or description.")
    ] = "",
    mibs: Annotated[
        list[Path] | None, typer.Option("--mibs", metavar="DIR", help="Also the objects of a folder of MIBs.")
    ] = None,
    json: AsJson = False,
) -> None:
    """List counters that have a name: of CloudStack, SNMP, HAProxy and NetScaler."""
    from config.counters.listing import listed, matching

    found = list(matching(listed(_objects(mibs or (), json=json)), word))
    if not found:
        _nothing(word, json=json)
    if json:
        print_json([_plain(entry) for entry in found])
        return
    from handler.cli.tables import counters_page

    show(counters_page([_plain(entry) for entry in found]))


def _objects(folders: Sequence[Path], *, json: bool) -> Sequence[KnownObject]:
    if not folders:
        return ()
    import os

    from config.counters.mibs import read_objects
    from config.settings import cache_directory

    cache = cache_directory(os.environ)
    paths = [str(folder.absolute()) for folder in folders]
    objects, faults = read_objects(paths, None if cache is None else cache / "mibs")
    if faults:
        fail("\n".join(fault.message for fault in faults), PROBLEMS, json=json)
    return objects


def _nothing(word: str, *, json: bool) -> None:
    from config.counters.listing import listed
    from config.model.where import nearest_of

    near = nearest_of(word, (entry.name.rpartition("::")[2].removesuffix(".0") for entry in listed()))
    hinted = f"; the nearest is {near}" if near else ""
    fail(f"no counter has {word!r} in its name, unit or description{hinted}", PROBLEMS, json=json)


def _plain(entry: CounterName) -> dict[str, Any]:
    shape = entry.shape
    return {
        "group": entry.group,
        "source": entry.key,
        "name": entry.name,
        "table": entry.table,
        "per": [each.value for each in entry.per],
        "kind": shape.kind.value,
        "unit": shape.unit,
        "description": shape.description,
    }
