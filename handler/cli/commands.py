"""Commands listed by task with their full first sentence, `-h` everywhere, and older spellings of options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

_UNCUT = 10_000
"""Characters of a first sentence: longer than any."""
_WIDEST = 120
"""The most columns of help, on any terminal."""
_OLDER: Mapping[str, str] = {"--from": "--since", "--to": "--until", "--output": "--out"}
"""Released spellings of options, still accepted by commands that have the newer one."""


_MAY_LACK = frozenset({"entries"})
"""Arguments with a meaning of their own for an empty word."""


class AliasedCommand(TyperCommand):
    """A command that reads older spellings of its options, and lists none of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401  # typer hides its context's class
        """Read the arguments, each older spelling as the newer one."""
        known = {name for parameter in self.params for name in parameter.opts}
        renamed = {older: newer for older, newer in _OLDER.items() if newer in known and older not in known}
        parsed: list[str] = super().parse_args(ctx, list(_spelled_anew(args, renamed)))
        _refuse_empty(ctx, self.params)
        return parsed

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # as above
        """Run the command; what the daemon refuses in a field of its request is a wrong option or argument."""
        from handler.cli.field_words import InvalidRequest, option_words
        from handler.cli.terminal import USAGE, fail

        try:
            return super().invoke(ctx)
        except InvalidRequest as refused:
            fail(option_words(str(refused), self.params), USAGE, json=refused.json)


def _refuse_empty(ctx: Any, parameters: Sequence[Any]) -> None:  # noqa: ANN401  # as above
    """Refuse an empty argument, as of a variable that is not set: in an address it would name all that has a name."""
    for each in parameters:
        given = ctx.params.get(each.name)
        words = given if isinstance(given, (list, tuple)) else (given,)
        if each.param_type_name == "argument" and "" in words and given != each.default and each.name not in _MAY_LACK:
            raise typer.BadParameter("an empty word names nothing", ctx=ctx, param=each)


def _spelled_anew(args: Sequence[str], renamed: Mapping[str, str]) -> Iterator[str]:
    for place, arg in enumerate(args):
        if arg == "--":  # only arguments follow
            yield from args[place:]
            return
        name, sign, value = arg.partition("=")
        yield renamed.get(name, name) + sign + value


class Commands(TyperGroup):
    """A group that lists each command with its full first sentence, below its task if it has tasks."""

    tasks: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Heading → names of its commands; both in the order of the list."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  # typer hides both classes
        """Write one section for each task, and one for the commands that have none."""
        shown = {name: command for name, command in self.commands.items() if not command.hidden}
        listed = {name for names in self.tasks.values() for name in names}
        rest = [name for name in shown if name not in listed]
        width = max(map(len, shown), default=0)
        for heading, names in (*self.tasks.items(), ("Commands", rest)):
            rows = [(name.ljust(width), shown[name].get_short_help_str(_UNCUT)) for name in names if name in shown]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


class Program(typer.Typer):
    """Commands under one name: the program itself, or a group of its commands."""

    def __init__(self, about: str, kind: type[Commands] = Commands) -> None:
        super().__init__(
            cls=kind,
            help=about,
            no_args_is_help=True,
            add_completion=False,  # `trimtab completion` prints the scripts
            pretty_exceptions_enable=False,
            rich_markup_mode=None,  # coloured help takes longer to import than all the rest
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _WIDEST},
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:  # noqa: ANN401  # as typer's
        """Add a command, as typer does, that reads older spellings of its options."""
        return super().command(name, cls=AliasedCommand, **settings)
