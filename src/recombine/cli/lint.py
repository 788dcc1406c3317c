"""`recombine lint`: a split that somebody already has, held to its claim."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Any

import typer
from rich.constrain import Constrain
from rich.markup import escape

import recombine
from recombine.base.errors import RecombineError, SettingError
from recombine.base.grades import EXIT_CODES
from recombine.base.redaction import redacted
from recombine.cli import ci_summary, gates, options, output_formats, outputs, proposal, table_options
from recombine.cli.options import pasted
from recombine.cli.table_options import takes_groups
from recombine.cli.terminal import Watch, console_for, extend_command, fact_table, show_result


@takes_groups(
    first=("factors", "split", "expect", "train", "test"),
    own="Checks",
    panels={"The sides": ("train_side", "validation_side", "test_side", "validation", "against")},
)
def lint(
    source: Annotated[
        table_options.Many | None,
        typer.Argument(
            help="A table with a split column, or several, each linted by itself; leave it out where --train and "
            "--test are given."
        ),
    ] = None,
    factors: table_options.Factors = [],  # noqa: B006
    split: Annotated[str, typer.Option("--split", "-s", help="The column that tells the side of each row.")] = "split",
    expect: Annotated[
        str, typer.Option("--expect", "-e", help="What must be new in test: rows, combinations, conjunctions, values.")
    ] = "combinations",
    order: Annotated[int, typer.Option(help="How many values a conjunction holds, with --expect conjunctions.")] = 2,
    cold: Annotated[
        table_options.Many,
        typer.Option("--cold", help="Factors that must each be new, with --expect values: drug,cell."),
    ] = [],  # noqa: B006
    identity: Annotated[
        str | None, typer.Option("--id", help="The column that tells rows apart, such as an image's name.")
    ] = None,
    target: Annotated[
        str | None, table_options.target_option("The column of the classes, whose shares are compared.")
    ] = None,
    class_tolerance: Annotated[float, typer.Option(help="How far a class's share in test may be off.")] = 0.1,
    train_side: Annotated[table_options.Many, typer.Option(help="What the split column calls training: 0,1,2.")] = [],  # noqa: B006
    validation_side: Annotated[table_options.Many, typer.Option(help="What it calls validation.")] = [],  # noqa: B006
    test_side: Annotated[table_options.Many, typer.Option(help="What it calls test.")] = [],  # noqa: B006
    train: Annotated[str | None, typer.Option(help="The training side, where it is a table of its own.")] = None,
    validation: Annotated[str | None, typer.Option(help="The validation side, likewise.")] = None,
    test: Annotated[str | None, typer.Option(help="The test side, likewise.")] = None,
    against: Annotated[
        table_options.Many, typer.Option("--against", help="One more table that was trained on; any number of times.")
    ] = [],  # noqa: B006
    *,
    reading: table_options.RowOptions,
    output: outputs.FormattedOutputs,
) -> None:
    """Does a split hold out what it claims to? Leaks, lost values, rows on both sides, validation equal to test."""
    tables: list[str | None] = [*dict.fromkeys(source)] if source else [None]
    if not options.names(factors) and not reading.has_sets:
        _refuse(tables[0], train, reading, split=split, as_json=output.as_json, given=[identity, target])
    output_formats.check_tables(output.requested, len(tables), out=output.out, report=output.report)
    output.check("lint", inputs=[*tables, train, validation, test, *against])

    def look(one: str | None, watch: Watch) -> "recombine.Lint":
        return recombine.lint(
            one,
            factors=options.names(factors),
            split=_split_column(split, train=train_side, validation=validation_side, test=test_side),
            train=train,
            test=test,
            validation=validation,
            against=against,
            id=identity,
            target=target,
            expect=recombine.Expectation(
                expect,  # type: ignore[arg-type]
                order=order,
                cold=options.names(cold),
                class_tolerance=class_tolerance,
            ),
            progress=watch.step,
            **reading.settings()
            | {"command": options.command_line(without=[other for other in tables if other not in (None, one)])},
        )

    def again(one: str | None) -> list[str] | None:
        return _read_again(one if not against else None, reading)

    with Watch("counting the sides") as watch:
        found = [(one, _named(one, partial(look, one, watch), tables)) for one in tables]
        output.write(found[0][1], watch)
    output.tell(
        content=lambda: gates.told(found[0][1].record()),
        show=lambda: _people(found, again),
        summaries=lambda: [
            ci_summary.of_lint(one, source=name or test or "", following=_next(one, again(name))) for name, one in found
        ],
    )
    raise typer.Exit(_worst(EXIT_CODES[one.grade] for _, one in found))


def _named(table: str | None, look: Callable[[], Any], tables: Sequence[Any]) -> Any:
    """What is found about a table; where there are several, a mistake says which of them it is about."""
    try:
        return look()
    except RecombineError as error:
        if table is None or len(tables) < 2:
            raise
        raise type(error)(f"{table}: {error.what}", why=error.why, instead=error.instead) from error


def _worst(codes: Iterable[int]) -> int:
    """Of several tables the worst end: one that fails, else one without enough evidence."""
    ends = set(codes)
    return 3 if 3 in ends else max(ends)


def _people(found: Sequence[tuple[str | None, Any]], again: Callable[[str | None], list[str] | None]) -> None:
    """One screen a table; its name above it where there are several."""
    for name, one in found:
        if name is not None and len(found) > 1:
            console_for().print(f"\n[bold]{escape(redacted(name))}[/]", soft_wrap=True)
        summary(one, again=again(name))


def _refuse(
    source: str | None, train: str | None, reading: table_options.RowOptions, *, split: str, **asked: Any
) -> None:
    """Factors are missing: look for them where the rows are."""
    place = source or train
    if place is None:
        raise SettingError(
            "no table was named",
            why="a lint reads a table with a split column, or the sides as tables of their own",
            instead="recombine lint TABLE --factors a,b, or recombine lint --train A --test B --factors a,b",
        )
    named = split if split != "split" or source is None else None
    proposal.refuse("lint", place, reading, split=named, **asked)


def _split_column(name: str, **words: list[str]) -> "recombine.SplitColumn":
    return recombine.SplitColumn(name, **{side: options.names(given) for side, given in words.items() if given})


def _read_again(source: str | None, reading: table_options.RowOptions) -> list[str] | None:
    """The words by which another command reads the same table; none where the split lies in several."""
    if source is None:
        return None
    words = [redacted(source)]
    given = [("--where", reading.where), ("--table", reading.table), *(("--bins", one) for one in reading.bins)]
    given += [("--pattern", one) for one in reading.pattern]
    given += [("--concepts", reading.concepts)]
    given += [("--missing", None if reading.missing == "leave out" else reading.missing)]
    for name, value in given:
        words += [] if value is None else [name, value]
    return words


_SIGN = {
    "pass": "green",
    "fail": "red",
    "warning": "yellow",
    "not enough evidence": "yellow",
    "told": "default",
}


_SHORTER = {"not enough evidence": "thin"}


def summary(lint: "recombine.Lint", *, again: list[str] | None) -> None:
    """The lint on one screen; checks that were not asked for are left to --json and --out.

    `again` are the words by which another command reads the table, None where the split lies in several.
    """
    checks = [
        (one.name, f"[{_SIGN[one.verdict]}]{_SHORTER.get(one.verdict, one.verdict)}[/]", escape(one.sentence))
        for one in lint.checks
        if one.verdict != "not asked"
    ]
    table = fact_table(checks)
    if checks:
        table.columns[1].no_wrap = True
    show_result(lint, [Constrain(table, max(60, min(console_for().width, 100)))], following=_next(lint, again))


def _next(lint: "recombine.Lint", again: list[str] | None) -> list[tuple[str, str]]:
    culprits = any(check.table is not None for check in lint.checks)
    claimed = lint.expect == "combinations" and lint["combinations"].verdict == "fail"
    lines = extend_command(
        lint,
        "lint",
        ("--out -o", "--out lint", "save the manifest and all culprits") if culprits else None,
        ("--expect -e", "--expect rows", "if it was never meant to hold out combinations") if claimed else None,
    )
    if lint.grade == "failing" and again is not None:
        column = next(name for name in ("held", "held2") if name != lint.provenance.settings["split"])
        factors = options.read_from_words(lint.factors, lint.provenance.settings.get("sets", {}))
        anew = f"{pasted(['recombine', 'split', *again])} {factors} --column {column}"
        lines.append((f"{anew} --out anew.parquet", "hold out anew"))
    return lines
