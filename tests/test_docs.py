"""What the documents show must work: their YAML loads, their commands exist, their links lead somewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from config.checks.lint import lint
from config.load import load
from config.model import edits
from handler.command import app
from trigger.conditions.expressions import certain
from trigger.policies.sizing import resized

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
EXAMPLES = sorted(ROOT.glob("config/examples/*.yaml"))

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:\.venv/bin/)?trimtab [^`]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_COMMAND = re.compile(r"(?:^|[\s/])trimtab (?=[a-z-])")
_END = {"&&", "||", "|", ";", "#", ">", ">>", "&"}

_COMMANDS: Any = typer.main.get_command(app)


def fences(document: Path, *languages: str) -> list[str]:
    return [text for language, text in _FENCE.findall(document.read_text()) if language in languages]


def yaml_blocks() -> Iterator[object]:
    """Whole declarations only: a fragment has no groups."""
    for document in DOCUMENTS:
        for number, text in enumerate(fences(document, "yaml"), start=1):
            if re.search(r"^groups:", text, re.MULTILINE):
                yield pytest.param(text, id=f"{document.name}-{number}")
    for example in EXAMPLES:
        yield pytest.param(example.read_text(), id=example.name)


def commands() -> Iterator[object]:
    for document in DOCUMENTS:
        shown = [line.removeprefix("$ ") for text in fences(document, "console") for line in text.splitlines()
                 if line.startswith("$ ")]  # fmt: skip
        shown += [line for text in fences(document, "sh") for line in text.splitlines()]
        shown += _INLINE.findall(document.read_text())
        for line in dict.fromkeys(shown):
            if _COMMAND.search(line):
                yield pytest.param(line, id=f"{document.name}: {line}")


def words_of(line: str) -> list[str]:
    """What stands after `trimtab`, up to the end of that command."""
    words = shlex.split(_COMMAND.split(line, maxsplit=1)[1].replace("|", " | "))
    return words[: next((index for index, word in enumerate(words) if word in _END), len(words))]


def options_of(words: list[str]) -> set[str]:
    """The options of the command that these words name."""
    command = _COMMANDS
    while hasattr(command, "commands"):
        assert words, "a command is missing"
        if words[0].startswith("-"):  # an option of the program itself
            break
        assert words[0] in command.commands, f"no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


@pytest.mark.parametrize("text", list(yaml_blocks()))
def test_a_declaration_that_is_shown_has_no_problems_and_no_warnings(text: str, tmp_path: Path) -> None:
    file = tmp_path / "shown.yaml"
    file.write_text(text)

    catalogue = load(file)

    assert catalogue.groups
    assert edits.used(catalogue).keys() == catalogue.groups.keys()
    assert [str(warning) for warning in lint(catalogue, resized, certain)] == []


@pytest.mark.parametrize("line", list(commands()))
def test_a_command_that_is_shown_exists_with_its_options(line: str) -> None:
    words = words_of(line)

    used = {word.partition("=")[0].strip("[]") for word in words if word.lstrip("[").startswith("--")}
    assert used <= options_of(words) | {"--help"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_links_into_the_repository_lead_somewhere(document: Path) -> None:
    targets = [target.partition("#")[0] for target in _LINK.findall(document.read_text()) if "://" not in target]

    assert [target for target in targets if target and not (document.parent / target).exists()] == []


def anchors_of(document: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", _FENCE.sub("", document.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_links_to_a_heading_lead_to_a_heading(document: Path) -> None:
    linked = [target.partition("#") for target in _LINK.findall(document.read_text()) if "://" not in target]
    pages = [(document.parent / path if path else document, anchor) for path, _, anchor in linked if anchor]

    assert [(page.name, anchor) for page, anchor in pages if anchor not in anchors_of(page)] == []


def test_there_is_something_to_look_at() -> None:
    assert len(list(commands())) > 20
    assert len(list(yaml_blocks())) >= 3


def test_every_page_is_in_the_list_of_pages_once() -> None:
    listed = _LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8"))

    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(target for target in listed if target in pages) == sorted(pages)


_PLACE = re.compile(r"^\|.*\| `([^`|]+\.py)` \| `([^`]+)` \|$", re.MULTILINE)


def test_what_a_newcomer_looks_for_is_where_contributing_says() -> None:
    places = _PLACE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))

    assert len(places) == 5
    assert [(path, word) for path, word in places if word not in (ROOT / path).read_text(encoding="utf-8")] == []


def test_files_that_make_test_fast_leaves_out_are_there() -> None:
    left_out = (ROOT / "tests" / "long_files.txt").read_text().splitlines()

    assert [path for path in left_out if not (ROOT / path).exists()] == []
    assert left_out == sorted(left_out)
