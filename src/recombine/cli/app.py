"""The `recombine` command: what it is made of, and how it ends.

Exit codes: 0 fine, 1 some runs of a sweep failed, 2 a mistake in what was asked, 3 a gate failed, 4 not enough
evidence for a gate, 130 interrupted.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

import recombine
from recombine.base import plugins
from recombine.base.errors import RecombineError, SettingError
from recombine.base.files import cannot_use
from recombine.base.redaction import guarded, redacted_words
from recombine.cli import suggest_commands
from recombine.cli.audit import audit
from recombine.cli.diff import diff
from recombine.cli.evaluate import evaluate
from recombine.cli.help import Command, CommandGroup
from recombine.cli.lint import lint
from recombine.cli.memory import check_memory, out_of_memory
from recombine.cli.plan import plan
from recombine.cli.predict import predict
from recombine.cli.rehearse import rehearse
from recombine.cli.split import split
from recombine.cli.suggest_commands import demo
from recombine.cli.terminal import complain, say

_INTERRUPTED = 130
_GROUP = "recombine.commands"
_LATER = ("doctor", "mcp")
"""Commands whose modules are loaded when they are asked for: no other command needs what they import."""


@contextmanager
def _misspelt_words_redacted() -> Iterator[None]:
    """What cannot be understood of a command is quoted at its user: without the passwords that stand in it."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "message"):  # Typer's mistakes of usage, for which its versions have different classes
            with guarded(*sys.argv[1:]):
                error.message = redacted_words(str(error.message))
        raise


class _Commands(CommandGroup):
    """Our commands and those of other packages; complaints about misspelt ones say no password."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The demo last: it is for the first day alone."""
        *own, last = (name for name in super().list_commands(ctx) if name not in _LATER)
        return [*own, *_LATER, *plugins.names(_GROUP), last]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name; where the package that brings it is missing, a sentence says so."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        if cmd_name in _LATER:
            return _single(getattr(import_module(f"recombine.cli.{cmd_name}"), cmd_name))
        if cmd_name in plugins.names(_GROUP):
            return _added_command(cmd_name)
        hint = plugins.install_hint(cmd_name)
        if hint is not None:
            raise SettingError(
                f"recombine {cmd_name}", why="the package that brings this command is not installed", instead=hint
            )
        # a misspelt one: Typer looks among these for the name that may be meant
        for name in (*_LATER, *plugins.names(_GROUP)):
            with suppress(SettingError):  # one that cannot be imported is not the one that is meant
                self.commands[name] = self.get_command(ctx, name)
        return None

    def make_context(self, *given: Any, **named: Any) -> Any:
        """Understand what stands before the command."""
        with _misspelt_words_redacted():
            return super().make_context(*given, **named)

    def invoke(self, *given: Any, **named: Any) -> Any:
        """Understand the command and its options, and run it."""
        with _misspelt_words_redacted():
            return super().invoke(*given, **named)


def _added_command(name: str) -> Any:
    """What another package's entry point names: several commands under one word, or the function of one."""
    try:
        added: Any = plugins.load(_GROUP, name)
    except Exception as error:  # whatever goes wrong in somebody else's module, our own commands must go on
        raise SettingError(
            f"recombine {name}",
            why=f"the package that adds this command cannot be imported: {type(error).__name__}: {error}",
            instead="install or repair what it needs, or uninstall that package",
        ) from error
    if isinstance(added, typer.Typer):
        return typer.main.get_group(added)
    return _single(added)


def _single(function: Any) -> Any:
    """The command that one function is."""
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(cls=Command)(function)
    return typer.main.get_command(single)


app = typer.Typer(
    cls=_Commands,
    help="Will a model handle combinations of factors that it has never seen together?",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=Command)(audit)
app.command(cls=Command)(predict)
app.command(cls=Command)(rehearse)
app.command(cls=Command)(plan)
app.command(cls=Command)(split)
app.command(cls=Command)(lint)
app.command(cls=Command)(evaluate)
app.command(cls=Command)(diff)
app.command(cls=Command)(demo)


@app.callback()
def _options(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", help="Show the version and stop."),
    verbose: bool = typer.Option(
        False,
        "--verbose",
        help="With --version: also Python, the system and packages, as a report of a bug needs them.",
    ),
) -> None:
    """Options that stand before the command; with no command at all, what lies at hand."""
    if verbose and not version:
        raise SettingError("--verbose", why="it tells more of the version", instead="recombine --version --verbose")
    if version:
        from recombine.cli.doctor import versions  # noqa: PLC0415 - see _LATER

        for line in versions() if verbose else [f"recombine {recombine.__version__}"]:
            say(line)
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        suggest_commands.tell(Path())


def _run_and_say_all() -> None:
    try:
        # by this name however it was started (`python -m recombine`): the completion of shells goes by it
        app(prog_name="recombine")
    finally:
        sys.stdout.flush()


_SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def _name_the_shell(words: list[str]) -> None:
    """`--show-completion zsh`: Typer shows that of the shell around it, and takes a name in this way alone."""
    if words[:1] == ["--show-completion"] and words[1:] and words[1] in _SHELLS:
        os.environ["_RECOMBINE_COMPLETE"] = f"source_{words[1]}"
        sys.argv[:] = ["recombine"]


def run() -> None:
    """Run what was asked; a user's mistake ends in a message, never in a traceback."""
    _name_the_shell(sys.argv[1:])
    try:
        check_memory(sys.argv[1:])
        _run_and_say_all()
    except RecombineError as error:
        complain(error)
        sys.exit(2)
    except Exception as error:
        sentence = out_of_memory(error)
        if sentence is None and isinstance(error, OSError) and error.filename is not None:
            sentence = cannot_use(error)  # a file that somebody named
        if sentence is None:
            raise
        complain(sentence)
        sys.exit(2)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            raise KeyboardInterrupt from end
        raise
