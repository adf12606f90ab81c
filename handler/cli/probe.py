"""`trimtab probe`: read counters now, through the daemon or, without one, straight from an address."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handler.cli.progress import waiting
from handler.cli.terminal import DONE, PROBLEMS, USAGE, AsJson, State, fail, get, print_json, refusals, show

if TYPE_CHECKING:
    from config.model.catalogue import Catalogue
    from config.units import GroupId

_ADDRESS = re.compile(r"localhost|.*[.:].*")
"""An address: a group's name has no dot and no colon."""


def probe(  # noqa: PLR0913, PLR0917  # an option each
    place: Annotated[str, typer.Argument(metavar="GROUP|ADDRESS", help="A group of the daemon, or an address.")],
    counters: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COUNTER]...", help="Declared counters; for an address without --file, SNMP objects."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Read this file's counters from the address.")
    ] = None,
    group: Annotated[str | None, typer.Option(help="With --file: as a member of this group.")] = None,
    community: Annotated[str, typer.Option(metavar="VAR", help="The variable with the SNMP community.")] = "",
    version: Annotated[str, typer.Option(help="SNMP version, 1 or 2c; for 3 write a file.")] = "2c",
    port: Annotated[int, typer.Option(min=1, max=65535, help="UDP port of the agent.")] = 161,
    state: State = None,
    json: AsJson = False,
) -> None:  # fmt: skip
    """Read counters now: value, type, age and round-trip time, or the problem and its fix."""
    wanted = list(counters or ())
    if not _ADDRESS.fullmatch(place):
        if file is not None or group is not None:
            fail(f"--file and --group need an address; {place} is a group of the daemon", USAGE, json=json)
        from urllib.parse import urlencode

        query = f"?{urlencode([('counter', counter) for counter in wanted])}" if wanted else ""
        _show(get(state, json, "groups", place, "probe", query=query), json=json)
        return
    with refusals(json):
        catalogue = _of_file(file) if file is not None else _of_objects(wanted, community, version, port, json=json)
        chosen = _group(catalogue, group, json=json)
        with waiting(f"asking {place}"):
            found = _asked(
                catalogue, chosen, place, wanted if file is not None else list(catalogue.counters), json=json
            )
    _show(found, json=json)


def _of_file(file: Path) -> Catalogue:
    from config.load import load

    return load(file)


def _of_objects(names: list[str], community: str, version: str, port: int, *, json: bool) -> Catalogue:
    """Return a catalogue of these objects alone, so that mistakes get the same messages."""
    if not names:
        fail("which SNMP objects? UCD-SNMP-MIB::ssCpuUser.0 for example; trimtab counters lists them", USAGE, json=json)
    from json import dumps

    from config.load import parse

    snmp: dict[str, object] = {"port": port, "version": version}
    if community:
        snmp["community"] = {"env": community}
    declared = {
        "counters": {f"c{place}": _object(name) for place, name in enumerate(names)},
        "clouds": {"none": {"process": {}}},
        "profiles": {"any": {"cloud": "none", "command": ["true"], "snmp": snmp}},
        "groups": {"any": {"profile": "any", "min": 0, "max": 0}},
    }
    return parse(dumps(declared), "the command line")


def _object(name: str) -> dict[str, object]:
    """Declare an object; a name without an instance means the sum of its column."""
    whole = "." not in name.rpartition("::")[2]
    return {"snmp": name, "rows": "sum"} if whole else {"snmp": name}


def _group(catalogue: Catalogue, group: str | None, *, json: bool) -> GroupId:
    from config.units import GroupId

    if group is None and len(catalogue.groups) == 1:
        return next(iter(catalogue.groups))
    if group is None or GroupId(group) not in catalogue.groups:
        fail(f"as a member of which group? --group {' or '.join(catalogue.groups)}", USAGE, json=json)
    return GroupId(group)


def _asked(catalogue: Catalogue, group: GroupId, address: str, names: list[str], *, json: bool) -> list[Any]:
    import asyncio

    from collector.targets import MemberTarget, Roster, measured_counters
    from config.units import CounterId, MemberName
    from handler.daemon import wiring
    from handler.operations import probing
    from handler.runtime import clock
    from handler.web.render import probed_plain

    unknown = [name for name in names if CounterId(name) not in catalogue.counters]
    if unknown:
        fail(f"there is no counter {unknown[0]}; the file has {', '.join(catalogue.counters)}", PROBLEMS, json=json)
    counters = [CounterId(name) for name in names] or list(measured_counters(catalogue, group))
    member = MemberTarget(name=MemberName(address), address=address, counted=True)

    async def ask() -> list[Any]:
        secret = wiring.secret_reader()
        secret.use(catalogue)
        poller = wiring.poller(secret)
        try:
            roster = Roster(group=group, members=(member,))
            return list(probed_plain(await probing.probe(poller, clock.moment, catalogue, roster, counters)))
        finally:
            await poller.close()

    return [_named(each, catalogue) for each in asyncio.run(ask())]


def _named(each: dict[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """Show an object by the name that the person gave."""
    from config.model.counters import SnmpObject
    from config.units import CounterId

    source = catalogue.counters[CounterId(each["counter"])].source
    return each | {"counter": source.name} if isinstance(source, SnmpObject) and "any" in catalogue.groups else each


def _show(found: list[dict[str, Any]], *, json: bool) -> None:
    if json:
        print_json(found)
    else:
        from handler.cli.tables import probe_table

        show(probe_table(found))
    raise typer.Exit(DONE if found and all(each["reply"] == "ok" for each in found) else PROBLEMS)
