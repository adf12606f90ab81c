"""Reads the cases of `tests/config/bad`; `tests/config/test_bad.py` says how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.config import DECLARATION

FOLDER = Path(__file__).parents[1] / "config" / "bad"

_TITLE = "=== "
_GOOD = "the good declaration"
_WHOLE = " (whole text)"
_BYTES = " (bytes)"
_PROBLEM = "! "


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One bad declaration: its bytes, and each problem as ``LINE:COLUMN: message``."""

    theme: str
    name: str
    content: bytes
    problems: tuple[str, ...]


@dataclass(slots=True)
class Branch:
    """A line, and the lines that are indented below it."""

    line: str
    below: list[Branch] = field(default_factory=list)

    @property
    def key(self) -> str:
        return self.line.lstrip().partition(":")[0]


def themes() -> list[Path]:
    return sorted(FOLDER.glob("*.txt"))


def cases() -> list[Case]:
    return [case for path in themes() for case in cases_of(path)]


def case_named(name: str) -> Case:
    return next(case for case in cases() if case.name == name)


def good_declaration(path: Path) -> str:
    """What the cases of a theme change: its own good declaration, or the one that all tests share."""
    return next((text.rstrip("\n") + "\n" for title, text in _parts(path) if title == _GOOD), DECLARATION)


def cases_of(path: Path) -> Iterator[Case]:
    good = good_declaration(path)
    for title, text in _parts(path):
        if title == _GOOD:
            continue
        written, *problems = re.split(rf"^{_PROBLEM}", text.rstrip("\n") + "\n", flags=re.MULTILINE)
        name = title.removesuffix(_WHOLE).removesuffix(_BYTES)
        if title.endswith(_BYTES):
            content = written.encode("ascii").decode("unicode_escape").encode("latin-1")
        else:
            content = (written if title.endswith(_WHOLE) else laid_over(good, written)).encode()
        yield Case(
            theme=path.stem, name=name, content=content, problems=tuple(problem.rstrip("\n") for problem in problems)
        )


def laid_over(declaration: str, change: str) -> str:
    """The declaration with each key of the change put in its place, added below its parent, or taken out (``-``)."""
    branches = _branches(declaration.splitlines())
    _lay(_branches(change.splitlines()), branches)
    return "".join(f"{line}\n" for line in _lines(branches))


def _lay(change: list[Branch], branches: list[Branch]) -> None:
    for new in change:
        gone = new.line.startswith("-")
        key = new.key.removeprefix("-").lstrip()
        at = next((index for index, branch in enumerate(branches) if branch.key == key), None)
        if gone:
            assert at is not None, f"{key} is to go, and does not stand there"
            del branches[at]
        elif at is None:
            branches.append(new)
        elif new.line == branches[at].line and new.below:
            _lay(new.below, branches[at].below)
        else:
            branches[at] = new


def _branches(lines: list[str]) -> list[Branch]:
    """Put each line below the last one that is indented less; a leading ``-`` counts as a blank."""
    root = Branch("")
    open_: list[tuple[int, Branch]] = [(-1, root)]
    for line in lines:
        blank = line.replace("-", " ", 1) if line.startswith("- ") else line
        depth = len(blank) - len(blank.lstrip())
        while open_[-1][0] >= depth:
            open_.pop()
        branch = Branch(line)
        open_[-1][1].below.append(branch)
        open_.append((depth, branch))
    return root.below


def _lines(branches: list[Branch]) -> Iterator[str]:
    for branch in branches:
        yield branch.line
        yield from _lines(branch.below)


def _parts(path: Path) -> Iterator[tuple[str, str]]:
    """Each title with the text below it; what stands before the first title is a comment."""
    for part in re.split(rf"^{_TITLE}", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, text = part.partition("\n")
        yield title, text
