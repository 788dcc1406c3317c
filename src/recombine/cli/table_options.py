"""The options that every command has which reads a table, and the reading itself."""

from pathlib import Path
from typing import Annotated, Any

import typer

import recombine
from recombine.base.errors import SettingError
from recombine.cli import completion, options
from recombine.cli.terminal import Watch

Many = list[str]

Source = Annotated[
    str, typer.Argument(autocompletion=completion.tables, help="A file, glob, folder, s3:// URL or database URI.")
]
Factors = Annotated[
    Many,
    typer.Option(
        "--factors",
        "-f",
        autocompletion=completion.several_columns,
        help="The columns whose combinations matter: a,b,c. Without it: a proposal, and nothing else.",
    ),
]
TargetKind = Annotated[str | None, typer.Option(help="label or number, where it is not clear.")]
Where = Annotated[str | None, typer.Option("--where", "-w", help="Only rows that fulfil this SQL condition.")]
Bins = Annotated[
    Many, typer.Option("--bins", help="How to bin a number or date: age=0,18,65 · price=quantiles:4 · day=month.")
]
Domain = Annotated[Many, typer.Option("--domain", help="Values that could occur: size=S,M,L, or a JSON file.")]
Impossible = Annotated[
    Path | None, typer.Option(help="A CSV of conjunctions that cannot occur; an empty cell means any value.")
]
Weight = Annotated[str | None, typer.Option(help="The column that says how many examples a row stands for.")]
Missing = Annotated[str, typer.Option(help="Rows that miss a factor: 'leave out', or keep missing as a 'value'.")]
TableName = Annotated[str | None, typer.Option(help="The table, where the source is a database.")]
Report = Annotated[Path | None, typer.Option("--report", "-r", help="Write a page to look at: FILE.html.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace what --out names, if it is a saved result of this kind, and any page.")
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        help="A module of your own, or package.module:name, that the file or store names; may be given several times."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]


def require_target(target: str | None) -> None:
    """A forecast is one of a target."""
    if target is None:
        raise SettingError(
            "--target is missing",
            why="it is the column that a model would predict",
            instead="name it; without --factors the command says what the columns look like",
        )


def asked(*, factors: Many, target: str | None, **given: Any) -> Any:
    """The options as they were written, as the library takes them."""
    parsed = {
        "bins": options.bins(given["bins"]),
        "domain": options.domain(given["domain"]),
        "impossible": options.impossible(given["impossible"]),
    }
    own = {"factors": options.names(factors), "target": target, "command": options.command_line()}
    return {**own, **given, **parsed}


def read(source: str, *, watch: Watch, **given: Any) -> Any:
    """Read a support with the options as they were written."""
    return recombine.read(source, **asked(**given), progress=watch.tell)
