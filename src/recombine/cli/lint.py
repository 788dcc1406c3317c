"""`recombine lint`: a split that somebody already has, held to its claim."""

from pathlib import Path
from typing import Annotated

import typer

import recombine
from recombine.cli import options, outputs, reading
from recombine.cli.show import Watch, page_written, say
from recombine.cli.show_lint import summary
from recombine.grades import EXIT_CODES
from recombine.redaction import redacted
from recombine.words import json_text


def lint(
    factors: reading.Factors,
    source: Annotated[
        str | None, typer.Argument(help="A table with a split column; leave it out where --train and --test are given.")
    ] = None,
    split: Annotated[str, typer.Option("--split", "-s", help="The column that tells the side of each row.")] = "split",
    expect: Annotated[
        str, typer.Option("--expect", "-e", help="What must be new in test: rows, combinations, conjunctions, values.")
    ] = "combinations",
    order: Annotated[int, typer.Option(help="How many values a conjunction holds, with --expect conjunctions.")] = 2,
    cold: Annotated[
        reading.Many, typer.Option("--cold", help="Factors that must each be new, with --expect values: drug,cell.")
    ] = [],  # noqa: B006
    identity: Annotated[
        str | None, typer.Option("--id", help="The column that tells rows apart, such as an image's name.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column of the classes, whose shares are compared.")
    ] = None,
    class_tolerance: Annotated[float, typer.Option(help="How far a class's share in test may be off.")] = 0.1,
    train_side: Annotated[reading.Many, typer.Option(help="What the split column calls training: 0,1,2.")] = [],  # noqa: B006
    validation_side: Annotated[reading.Many, typer.Option(help="What it calls validation.")] = [],  # noqa: B006
    test_side: Annotated[reading.Many, typer.Option(help="What it calls test.")] = [],  # noqa: B006
    train: Annotated[str | None, typer.Option(help="The training side, where it is a table of its own.")] = None,
    validation: Annotated[str | None, typer.Option(help="The validation side, likewise.")] = None,
    test: Annotated[str | None, typer.Option(help="The test side, likewise.")] = None,
    against: Annotated[
        reading.Many, typer.Option("--against", help="One more table that was trained on; any number of times.")
    ] = [],  # noqa: B006
    where: reading.Where = None,
    bins: reading.Bins = [],  # noqa: B006
    missing: reading.Missing = "leave out",
    table: reading.TableName = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the manifest and all culprits as a folder.")
    ] = None,
    report: reading.Report = None,
    force: reading.Force = False,
    as_json: reading.AsJson = False,
) -> None:
    """Does a split hold out what it claims to? Leaks, lost values, rows on both sides, validation equal to test."""
    outputs.check("lint", out=out, force=force, inputs=[source, train, validation, test, *against], report=report)
    with Watch("counting the sides") as watch:
        found = recombine.lint(
            source,
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
            where=where,
            bins=options.bins(bins),
            missing=missing,  # type: ignore[arg-type]
            table=table,
            command=options.command_line(),
            progress=watch.tell,
        )
        if report is not None:
            watch.now("drawing the page")
            found.page(report, force=force)
        if out is not None:
            found.save(out, force=force)
    if as_json:
        say(json_text(found.record().to_json()))
    else:
        alone = source if source is not None and not against else None
        summary(found, again=_read_again(alone, where=where, bins=bins, missing=missing, table=table))
        page_written(report, out)
    raise typer.Exit(EXIT_CODES[found.grade])


def _split_column(name: str, **words: list[str]) -> "recombine.SplitColumn":
    return recombine.SplitColumn(name, **{side: options.names(given) for side, given in words.items() if given})


def _read_again(
    source: str | None, *, where: str | None, bins: list[str], missing: str, table: str | None
) -> list[str] | None:
    """The words by which another command reads the same table; none where the split lies in several."""
    if source is None:
        return None
    words = [redacted(source)]
    for name, given in (("--where", where), ("--table", table), *(("--bins", one) for one in bins)):
        words += [] if given is None else [name, given]
    return words + ([] if missing == "leave out" else ["--missing", missing])
