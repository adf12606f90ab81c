"""`trimtab import`: translate another system's declaration into one of Trimtab, with a report on each part."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from config.errors import DeclarationError, Refused
from handler.cli.commands import Program
from handler.cli.terminal import PROBLEMS, USAGE, AsJson, fail, lines, print_json, refusals

if TYPE_CHECKING:
    from config.document.places import ParsedText
    from config.importers.oneflow.imported import ImportOptions
    from config.importers.oneflow.template import Note
    from config.model.catalogue import Catalogue

imports = Program("Translate declarations of other systems into one of Trimtab.")

_MOST_BYTES = 1 << 22
_HEADINGS = {
    "mapped": "mapped",
    "kept": "means the same as in OneFlow",
    "differs": "means something else than in OneFlow",
    "unmapped": "not mapped",
}


@imports.callback()
def _imports() -> None:
    """Keep `oneflow` a subcommand while it is the only one."""


@imports.command("oneflow")
def oneflow(  # noqa: PLR0913, PLR0917 an option each
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A service template, JSON, comments allowed; - is standard input.")
    ],
    output: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="A new file; standard output, if left out.")
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option("--base", metavar="FILE", help="A declaration whose counters and profiles the new one may use."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help="One profile for all groups; one for each, if left out.")
    ] = None,
    interval: Annotated[
        str | None, typer.Option(metavar="SPAN", help="How often groups are evaluated, such as 30s, the default.")
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="The time zone of OneFlow's server, such as Europe/Paris; UTC, if left out."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if anything is not mapped.")] = False,
    json: AsJson = False,
) -> None:
    """Translate a service template of OneFlow into a declaration, with a report on each part.

    The declaration goes to standard output and the report to standard error; with --out, to a file and to standard
    output. A template that OneFlow itself would refuse is refused, one `FILE:LINE: message` per cause, exit 1.
    """
    options = _options(profile, interval, timezone, json=json)
    with refusals(json):
        done = _import(file, base, options)
    if output is not None:
        _write(output, done.declaration, json=json)
    if json:
        print_json({"file": None if output is None else str(output), **asdict(done)})
    else:
        if output is None:
            typer.echo(done.declaration, nl=False)
        lines(_report(done), err=output is None)
    if strict and done.unmapped:
        raise typer.Exit(PROBLEMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    """The result as it is printed; a note has line, column, where and said."""

    declaration: str
    mapped: list[dict[str, Any]]
    kept: list[dict[str, Any]]
    differs: list[dict[str, Any]]
    unmapped: list[dict[str, Any]]
    missing: list[str]
    """The problems that `trimtab check` will report."""


def _import(file: Path, base: Path | None, options: ImportOptions) -> _Done:
    """Read, translate and write.

    Raises:
        DeclarationError: the template, or the declaration under it, has problems.
        Refused: a file cannot be read, or both files declare the same name.
    """
    from config.importers.oneflow.imported import imported
    from config.importers.oneflow.json_text import read_json
    from config.importers.oneflow.reading import read_template
    from config.importers.oneflow.template import NoteKind
    from config.importers.oneflow.writing import declaration
    from config.load import load

    if base:
        there = load(base)
        options = replace(options, counters=there.counters, on_opennebula=_is_on_opennebula(there, options.profile))
    reading = read_json(_content(file), str(file))
    made = imported(read_template(reading), options)
    text = declaration(made, base.read_text("utf-8-sig") if base else "")
    notes = {kind.value: [_plain(note, reading) for note in made.of(kind)] for kind in NoteKind}
    return _Done(declaration=text, missing=_missing(text), **notes)


def _is_on_opennebula(there: Catalogue, profile: str | None) -> bool:
    """Tell whether the members of all groups come from OpenNebula, as far as the base declaration says."""
    from config.model.catalogue import OpennebulaCloud

    named = [each.cloud for each in there.profiles.values() if profile in {None, each.id}]
    clouds = [there.clouds.get(cloud) for cloud in named]
    return bool(clouds) and all(isinstance(cloud, OpennebulaCloud) for cloud in clouds)


def _content(file: Path) -> bytes:
    """Read at most the length of the longest template; a longer file is refused for its length."""
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(_MOST_BYTES)
        with file.open("rb") as opened:
            return opened.read(_MOST_BYTES)
    except (OSError, ValueError) as error:
        raise Refused(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _options(profile: str | None, interval: str | None, timezone: str | None, *, json: bool) -> ImportOptions:
    from config.document.scalars import read_positive_span
    from config.importers.oneflow.imported import ImportOptions
    from config.model.calendars import read_timezone

    given = "--interval", interval
    try:
        span = None if interval is None else read_positive_span(interval)
        given = "--timezone", timezone
        zone = None if timezone is None else read_timezone(timezone)
    except ValueError as error:
        fail(f"{given[0]}: {given[1]!r} is not {error}", USAGE, json=json)
    return ImportOptions(profile=profile, interval=span, timezone=zone)


def _write(output: Path, text: str, *, json: bool) -> None:
    """Write a new file; never replace one, since a person may have edited it."""
    try:
        with output.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        fail(f"{output} exists already: name another file, or remove it", PROBLEMS, json=json)
    except OSError as error:
        fail(f"{output} cannot be written: {error.strerror}", PROBLEMS, json=json)


def _missing(text: str) -> list[str]:
    from config.load import parse

    try:
        parse(text, "")
    except DeclarationError as error:
        return [problem.message for problem in error.problems]
    return []


def _plain(note: Note, reading: ParsedText) -> dict[str, Any]:
    from config.model.where import dotted

    site = reading.key_site(note.where) if note.where else None
    return {
        "line": None if site is None else site.line,
        "column": None if site is None else site.column,
        "where": dotted(note.where),
        "said": note.text,
    }


def _report(done: _Done) -> Iterator[str]:
    for kind, heading in _HEADINGS.items():
        notes = getattr(done, kind)
        if notes:
            yield f"{heading}:"
            yield from (f"  {_placed(note)}{note['said']}" for note in notes)
    if done.missing:
        yield "trimtab check will ask for:"
        yield from (f"  {message}" for message in done.missing)


def _placed(note: dict[str, Any]) -> str:
    return f"line {note['line']}, {note['where']}: " if note["line"] else ""
