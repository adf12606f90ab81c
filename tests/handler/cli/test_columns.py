from __future__ import annotations

from rich.console import Console, RenderableType

from handler.cli.columns import Column, table

NAME: Column[dict[str, str]] = Column("NAME", lambda row: row["name"])
STATE: Column[dict[str, str]] = Column("STATE", lambda row: row["state"], lambda row: row["state"])
ROWS = [{"name": "a", "state": "error"}, {"name": "b", "state": "error"}, {"name": "c", "state": "odd"}]


def drawn(renderable: RenderableType, *, coloured: bool = False) -> list[str]:
    console = Console(width=40, force_terminal=coloured, color_system="standard" if coloured else None, _environ={})
    with console.capture() as captured:
        console.print(renderable)
    return [line.rstrip() for line in captured.get().splitlines()]


def test_each_column_shows_its_value_of_each_row() -> None:
    assert drawn(table([NAME, STATE], ROWS)) == ["NAME  STATE", "a     error", "b     error", "c     odd"]


def test_only_words_that_have_a_colour_are_coloured() -> None:
    lines = drawn(table([NAME, STATE], ROWS), coloured=True)
    assert "\x1b[1;31merror" in lines[1]
    assert "\x1b" not in lines[3]


def test_markup_and_what_steers_a_terminal_are_shown_as_text() -> None:
    (_, line) = drawn(table([NAME], [{"name": "[red]x\x1b[31m"}]))
    assert line == r"[red]x\x1b[31m"


def test_a_table_without_rows_says_so_or_shows_its_titles() -> None:
    assert drawn(table([NAME], [], nothing="no names")) == ["no names"]
    assert drawn(table([NAME], [])) == ["NAME"]


def test_a_section_is_named_once_above_its_first_row() -> None:
    assert drawn(table([NAME], ROWS, section=lambda row: row["state"])) == ["NAME", "error", "a", "b", "odd", "c"]
