"""From the table of commands to `click`: names, options, help."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from muniment.commands.table import COMMANDS, GROUPS, Command, Param


@dataclass(slots=True)
class Globals:
    """What holds for any command, said before or after it."""

    home: str | None = None
    agent: str | None = None
    json: bool = False
    url: str | None = None
    key_file: str | None = None


Run = Callable[[Globals, Command, dict[str, Sequence[str]]], None]


def _keep(context: click.Context, param: click.Parameter, value: Any) -> None:
    if value == "":  # an unset variable of a script must not become the user's own folder
        raise click.BadParameter("it is empty", ctx=context, param=param)
    if value:
        setattr(context.find_root().ensure_object(Globals), str(param.name), value)


def global_options(*, without: Sequence[str] = ()) -> list[click.Parameter]:
    """The options that every command takes; what is said last holds."""
    home = "The data folder (else MUNIMENT_HOME, else the usual place)."
    agent = "The agent that acts (else MUNIMENT_AGENT, else the only one)."
    found: list[click.Parameter] = [
        click.Option(["--home"], metavar="DIR", help=home, shell_complete=_paths),
        click.Option(["--agent"], metavar="NAME", help=agent),
        click.Option(["--url"], metavar="URL", help="Ask the installation that is served there."),
        click.Option(
            ["--key-file"],
            metavar="FILE",
            help="With --url: sign with the seed in this file.",
            shell_complete=_paths,
        ),
        click.Option(["--json"], is_flag=True, help="Print JSON, for programs."),
    ]
    for option in found:
        option.callback, option.expose_value = _keep, False
    return [option for option in found if option.name not in without]


class _Unwanted(click.Argument):
    """Takes in what was typed where nothing should be, so that no message of `click` repeats it."""

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Nothing: it is not offered."""
        return []


def _option(param: Param) -> click.Parameter:
    if param.type == "secret" and param.positional:
        return _Unwanted([param.name], required=False, nargs=-1, type=click.UNPROCESSED)
    name = f"--{param.typed_name}"
    if param.positional:
        shown = param.metavar or param.name.upper()
        return click.Argument(
            [param.name],
            required=False,  # the table says what is needed, so that every surface asks in the same words
            nargs=-1 if param.rest else 1,
            type=click.UNPROCESSED,
            shell_complete=_completer(param),
            metavar=shown
            if param.required and not param.stdin
            else f"[{shown}]" + ("..." if param.rest else ""),
        )
    names = [param.name, name] + ([f"-{param.short}"] if param.short else [])
    if param.either:
        both = f"{name}/--no-{param.typed_name}"
        return click.Option([param.name, both], default=None, callback=_both_ways, help=_sentence(param))
    if param.type in {"flag", "secret"}:
        return click.Option(names, is_flag=True, help=_sentence(param))
    return click.Option(
        names,
        multiple=param.repeatable or param.type == "object",
        type=click.UNPROCESSED,
        metavar=param.metavar or param.type.upper(),
        help=_sentence(param),
        shell_complete=_completer(param),
    )


def _both_ways(_context: click.Context, _param: click.Parameter, value: bool | None) -> str | None:
    """What was said, as a word: that nothing was said is another thing than no."""
    return None if value is None else "yes" if value else "no"


def _sentence(param: Param) -> str:
    text = f"{param.help}."
    if param.choices:
        text += f" One of: {', '.join(param.choices)}."
    if param.default and param.type != "flag" and not param.positional:
        default = ", ".join(param.default) if isinstance(param.default, tuple) else param.default
        text += f" Without it: {default}."
    return text


def _paths(_context: click.Context, _param: click.Parameter, start: str) -> list[Any]:
    """Leave it to the shell, which knows its files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(start, type="file")]


def _completer(param: Param) -> Any:
    if param.type == "path":
        return _paths
    if not param.choices:
        return None

    def complete(_context: click.Context, _param: click.Parameter, start: str) -> list[str]:
        return [choice for choice in param.choices if choice.startswith(start)]

    return complete


class TableCommand(click.Command):
    """One command of the table."""

    def __init__(self, command: Command, run: Run) -> None:
        own = [_option(param) for param in command.params]
        inherited = global_options(without=[param.name for param in command.params])
        super().__init__(
            command.name.rpartition(" ")[2],
            params=[*own, *inherited],
            help=f"{command.summary}\n\n{command.description}",
            short_help=command.summary,
            callback=self._called,
        )
        self.command, self.run, self.own = command, run, own

    def _called(self, **values: Any) -> None:
        root = click.get_current_context().find_root().ensure_object(Globals)
        self.run(root, self.command, {name: given for name, given in values.items() if _was_given(given)})

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments, options, then what every command takes."""
        by_place = [p for p in self.command.params if p.positional and p.type != "secret"]
        arguments = [(p.metavar or p.name.upper(), _sentence(p)) for p in by_place]
        options = [p for p in self.own if isinstance(p, click.Option)]
        shared = [p for p in self.get_params(ctx) if isinstance(p, click.Option) and p not in options]
        for title, rows in (
            ("Arguments", arguments),
            ("Options", [row for p in options if (row := p.get_help_record(ctx))]),
            ("Every command takes", [row for p in shared if (row := p.get_help_record(ctx))]),
        ):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The examples, as they can be typed."""
        indent = formatter.current_indent + formatter.indent_increment
        longest = max(len(example.line) for example in self.command.examples)
        beside = max(indent + longest + 3 + len(example.purpose) for example in self.command.examples)
        with formatter.section("Examples"):
            for line, purpose in self.command.examples:
                if beside <= formatter.width:
                    formatter.write(f"{'':{indent}}{line:{longest}}   {purpose}\n")
                else:
                    formatter.write(f"{'':{indent}}{line}\n{'':{indent + 4}}{purpose}\n")


def _was_given(value: Any) -> bool:
    return value is not None and value is not False and value != ()


class TableGroup(click.Group):
    """Commands that are built when they are asked for, in the order of the table."""

    def __init__(self, group: str, run: Run, **more: Any) -> None:
        super().__init__(
            group or None, params=global_options(), invoke_without_command=True, callback=self._called, **more
        )
        self.group_name, self.run = group, run

    def _called(self) -> None:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            self.alone(context)

    def alone(self, context: click.Context) -> None:
        """What the group says when no command follows."""
        click.echo(context.get_help())

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names of the commands, groups and extras, in order."""
        names = [name.rpartition(" ")[2] for name in COMMANDS.in_group(self.group_name)]
        groups = [name.rpartition(" ")[2] for name in GROUPS if name.rpartition(" ")[0] == self.group_name]
        return [*names, *groups, *(name for name, item in self.commands.items() if not item.hidden)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Build one command, or a group's lister."""
        full = f"{self.group_name} {cmd_name}".strip()
        if full in COMMANDS:
            return TableCommand(COMMANDS[full], self.run)
        if full in GROUPS:
            about = GROUPS[full]
            return TableGroup(full, self.run, help=about, short_help=about)
        return super().get_command(ctx, cmd_name)

    def summary_of(self, name: str) -> str:
        """A command's one sentence, without building it."""
        full = f"{self.group_name} {name}".strip()
        if full in COMMANDS:
            return COMMANDS.summary(full)
        return GROUPS.get(full) or self.commands[name].get_short_help_str(100)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, then the options."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, from the index alone."""
        rows = [(name, self.summary_of(name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one is nearest."""
        command = self.get_command(ctx, args[0])
        if command is None and not ctx.resilient_parsing:
            from muniment.commands.table import nearest

            known = self.list_commands(ctx)
            near = nearest(args[0], known)
            path = ctx.command_path
            raise NoCommand(
                f"there is no command {args[0][:80]!r}",
                f"Did you mean `{path} {near}`?" if near else f"See `{path} --help`.",
                ctx,
            )
        return args[0] if command else None, command, args[1:]


class NoCommand(click.UsageError):
    """A command that is not there, and the next step."""

    def __init__(self, message: str, next_step: str, ctx: click.Context) -> None:
        super().__init__(message, ctx)
        self.next_step = next_step


def usage_words(error: click.UsageError) -> tuple[str, str]:
    """A usage error of `click` in our words: what is wrong, and the next step."""
    path = error.ctx.command_path if error.ctx else "muniment"
    help_step = f"See `{path} --help`."
    if isinstance(error, NoCommand):
        return error.message, error.next_step
    text = error.format_message().strip()
    if isinstance(error, click.NoSuchOption):
        near = re.findall(r"'?(--?[a-z][a-z-]*)'?", ", ".join(error.possibilities or []))
        step = f"Did you mean {' or '.join(near)}?" if near else help_step
        return (
            f"there is no option {error.option_name}",
            f"{step} Words that start with a dash go after `--`.",
        )
    return text[:1].lower() + text[1:].rstrip("."), help_step
