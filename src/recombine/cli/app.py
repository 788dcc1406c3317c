"""The `recombine` command: what it is made of, and how it ends.

Exit codes: 0 fine, 1 some runs of a sweep failed, 2 a mistake in what was asked, 3 a gate failed, 4 not enough
evidence for a gate, 130 interrupted.
"""

import sys

import typer

import recombine
from recombine.cli.audit import audit
from recombine.cli.demo import demo
from recombine.cli.evaluate import evaluate
from recombine.cli.lint import lint
from recombine.cli.plan import plan
from recombine.cli.predict import predict
from recombine.cli.runs import runs
from recombine.cli.show import complain
from recombine.cli.split import split
from recombine.cli.sweep import sweep
from recombine.errors import RecombineError
from recombine.files import cannot_use

_INTERRUPTED = 130

app = typer.Typer(
    help="Will a model handle combinations of factors that it has never seen together?",
    epilog="First time? Run `recombine demo`.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(audit)
app.command()(predict)
app.command()(plan)
app.command()(split)
app.command()(lint)
app.command()(evaluate)
app.command()(sweep)
app.add_typer(runs, name="runs")
app.command()(demo)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"recombine {recombine.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version and stop."
    ),
) -> None:
    """Options that stand before the command."""


def run() -> None:
    """Run what was asked; a user's mistake ends in a message, never in a traceback."""
    try:
        app()
    except RecombineError as error:
        complain(error)
        sys.exit(2)
    except OSError as error:
        if error.filename is None:  # not about a file that somebody named
            raise
        complain(cannot_use(error))
        sys.exit(2)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            raise KeyboardInterrupt from end
        raise
