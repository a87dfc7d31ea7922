"""The root of the command line, and how one command is run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from muniment.base.errors import InvalidInput
from muniment.base.limits import LIMITS
from muniment.commands.context import Context, Tick
from muniment.commands.table import Command, Param, Result, invoke
from muniment.commands.values import from_words
from muniment.surfaces.cli.build import Globals, TableGroup
from muniment.surfaces.cli.output import Output

if TYPE_CHECKING:
    from muniment.surfaces.cli.progress import Bar

OVERVIEW = """\
muniment: memory for AI agents that its owners can prove

  muniment remember "The deploy window is Friday at ten"    keep a memory
  muniment recall "when do we deploy?"                      find it again
  muniment import chat.json                                 take in a conversation
  muniment verify                                           prove who wrote what

Every memory is signed by its writer and sealed for its readers. The first one sets everything up.
All commands: muniment --help. About one of them: muniment recall --help.
"""

HELP = "Memory for AI agents that its owners can prove: signed, sealed, and recalled by words and meaning."
STDIN = "-"
SHELLS = ("bash", "zsh", "fish")


class CommandLine(Context):
    """A context that can show progress and ask for a passphrase."""

    def __init__(self, given: Globals, output: Output) -> None:
        super().__init__(given.home, given.agent, passphrase=self._ask, stdout=output.stream())
        self.output = output
        self._bar: Bar | None = None

    def _ask(self) -> str:
        from muniment.surfaces.cli.asking import passphrase

        with self._bar.paused() if self._bar else nullcontext():
            return passphrase()

    def attend(self, surface: str, **options: Any) -> None:
        """Run a server on standard input and output until its client leaves."""
        from importlib import import_module

        import_module(f"muniment.surfaces.{surface}").serve(self, **options)

    @contextmanager
    def watch(self, label: str, unit: str) -> Iterator[Tick | None]:
        """Show a bar on standard error, if a person looks there."""
        if not self.output.person_at_stderr:
            yield None
            return
        from muniment.surfaces.cli.progress import Bar

        with Bar(label, unit, self.output.err) as self._bar:
            yield self._bar
        self._bar = None

    def serve(self, options: Mapping[str, Any]) -> Result:
        """Serve from this process, or from several that it starts."""
        from muniment.peer import open_peer
        from muniment.surfaces.serve.options import options as checked
        from muniment.surfaces.serve.run import serve

        chosen = dict(options)
        check = chosen.pop("check")
        made = checked(**chosen)
        peer = self.peer
        peer.standing_store()  # what is wrong with the folder is said here, and not by each of several processes
        if peer.host.keyring.needs_passphrase:  # once, before there are several processes to ask
            said = self._ask()
            self._passphrase = lambda: said
        self.close()

        def ready(url: str, paths: Sequence[str]) -> None:
            self.output.error(f"serving {', '.join(paths)} at {url}")

        home, passphrase = self.home, self._passphrase
        return serve(lambda: open_peer(home, passphrase=passphrase), made, ready=ready, check=check)


def run(given: Globals, command: Command, words: dict[str, Sequence[str]]) -> None:
    """Translate, call, show.

    Raises:
        click.exceptions.Exit: With code 1, where a check found something.
        MunimentError: Whatever goes wrong.
    """
    output = Output()
    params: dict[str, Any] = {}
    for param in command.params:
        value = _value(param, words.get(param.name), given)
        if value is not None:
            params[param.name] = value
    with CommandLine(given, output) as context:
        if given.url is None:
            if given.key_file is not None:
                raise InvalidInput("--key-file signs what goes to --url, and there is none", "Give both.")
            result = invoke(command.name, context, params)
            _show(command.name, result, output, as_json=given.json)
        else:
            from muniment.surfaces.cli.remote import ask, read_as_told

            result = ask(command, context, given.url, given.key_file, params)
            with read_as_told():
                _show(command.name, result, output, as_json=given.json)
    if getattr(result, "ok", True) is False:
        raise click.exceptions.Exit(1)


def _show(name: str, result: Result, output: Output, *, as_json: bool) -> None:
    """A result to whoever looks."""
    if getattr(result, "path", None) == STDIN:
        # The stream itself is the answer; the report would spoil it.
        if output.person_at_stderr:
            output.error(f"{_plain(name)(result)}")
    elif as_json:
        output.json(result.to_json())
    elif output.person:
        from muniment.surfaces.cli.pretty import DRAW

        output.rich(DRAW[name](result))
    elif text := _plain(name)(result):
        output.text(text)


def _plain(name: str) -> Callable[[Any], str]:
    from muniment.surfaces.cli.plain import WRITE

    return WRITE[name]


def _value(param: Param, typed: Any, given: Globals) -> Any:
    """A parameter's value from what was typed; None where nothing was."""
    if param.type == "secret" and param.positional:
        return _secret(typed)
    if param.stdin and (typed == STDIN or (typed is None and _piped())):
        return _read_stdin()
    if param.name == "agent" and typed is None:
        return given.agent
    if typed is None:
        return None
    if param.type == "secret":
        from muniment.surfaces.cli.asking import new_passphrase

        return new_passphrase()
    if param.type == "flag" and not param.either:
        return param.default is not True
    return from_words(param, [typed] if isinstance(typed, str) else typed)


def _secret(typed: Any) -> str | None:
    """A key: from standard input, or asked for. What was typed in its place is refused and not repeated."""
    from muniment.surfaces.cli.asking import new_secret

    if typed not in (None, (STDIN,)):
        raise InvalidInput(
            "an API key is not taken from the command line",
            "Leave it out: it is asked for, or read from standard input. What was typed may stand in the history "
            "of the shell; think of replacing the key.",
        )
    return _read_stdin() if typed or _piped() else new_secret()


def _piped() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and not sys.stdin.isatty()


def _read_stdin() -> str | None:
    """All of standard input; bytes that are no UTF-8 are kept as lone surrogates. One newline at the end goes."""
    if sys.stdin is None or sys.stdin.closed:
        return None
    # One byte over the limit is enough to be refused for it.
    data = sys.stdin.buffer.read(LIMITS.text_bytes + 3)
    text = data.decode("utf-8", "surrogateescape")
    return text.removesuffix("\n").removesuffix("\r")


class Root(TableGroup):
    """`muniment` itself."""

    def alone(self, context: click.Context) -> None:  # noqa: ARG002
        """What it is, in a few lines."""
        Output().text(OVERVIEW.rstrip("\n"))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Where to go from here."""
        with formatter.section("To begin"):
            formatter.write('  muniment remember "The deploy window is Friday at ten"\n')
            formatter.write('  muniment recall "when do we deploy?"\n')


def _version(context: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("muniment")
        except PackageNotFoundError:
            number = "(not installed)"
        Output().text(f"muniment {number}")
        context.exit()


@click.command("completion", short_help="Print what a shell needs to complete commands and options.")
@click.argument("shell", type=click.Choice(SHELLS))
def _completion(shell: str) -> None:
    """Print what a shell needs to complete commands and options.

    \b
    bash: eval "$(muniment completion bash)"          in ~/.bashrc
    zsh:  eval "$(muniment completion zsh)"           in ~/.zshrc
    fish: muniment completion fish | source           in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is not None:
        Output().text(kind(root(), {}, "muniment", "_MUNIMENT_COMPLETE").source())


@click.command("help", hidden=True)
@click.argument("words", nargs=-1)
def _help(words: tuple[str, ...]) -> None:
    """Show the help of a command."""
    root().main([*words, "--help"], prog_name="muniment", standalone_mode=False)


def root() -> Root:
    """The command line, built anew."""
    group = Root(
        "",
        run,
        help=HELP,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    group.name = "muniment"
    group.params.append(
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_version,
            help="Print the version.",
        )
    )
    group.add_command(_completion)
    group.add_command(_help)
    return group
