"""`recombine evaluate`: anybody's predictions in, how they fare on unseen combinations out."""

from pathlib import Path
from typing import Annotated, Any

import typer

import recombine
from recombine.cli import gates, options, outputs, reading
from recombine.cli.show import Watch, page_written, say
from recombine.cli.show_evaluation import summary
from recombine.errors import SettingError
from recombine.words import json_text


def evaluate(
    source: Annotated[str, typer.Argument(help="The predictions: a file, glob, folder, s3:// URL or database URI.")],
    factors: reading.Factors,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column with the true answers.")] = None,
    prediction: Annotated[
        str | None,
        typer.Option(
            "--prediction",
            "-p",
            help="The column with the model's answers; for probabilities one for each class: cat=p_cat,dog=p_dog.",
        ),
    ] = None,
    train: Annotated[
        str | None, typer.Option(help="The table that the model was trained on, with the same factor columns.")
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="The column that says which rows were trained on; the test side is scored.")
    ] = None,
    train_side: Annotated[
        reading.Many, typer.Option("--train-side", help="The split's value of rows that were trained on.")
    ] = [],  # noqa: B006
    test_side: Annotated[
        reading.Many, typer.Option("--test-side", help="The split's value of rows that are scored.")
    ] = [],  # noqa: B006
    data: Annotated[
        str | None, typer.Option(help="Where factors and target are, if the predictions hold ids and answers alone.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="The column by which rows of two tables are matched.")
    ] = None,
    score: Annotated[
        str | None,
        typer.Option("--score", "-s", help="accuracy, mse, r2, logloss, or a column with a score for each row."),
    ] = None,
    better: Annotated[str | None, typer.Option(help="For a score of your own: higher or lower.")] = None,
    against: Annotated[
        str | None, typer.Option(help="Another model: a column of its answers, or a table of them.")
    ] = None,
    theory: Annotated[
        Path | None, typer.Option(help="A saved prediction (recombine predict … --out FOLDER) to set beside it.")
    ] = None,
    causes: Annotated[
        bool, typer.Option("--causes/--no-causes", help="Look for the causes of the errors too, which takes longest.")
    ] = True,
    target_kind: reading.TargetKind = None,
    where: reading.Where = None,
    bins: reading.Bins = [],  # noqa: B006
    domain: reading.Domain = [],  # noqa: B006
    impossible: reading.Impossible = None,
    missing: reading.Missing = "leave out",
    table: reading.TableName = None,
    report: reading.Report = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the evaluation as a folder of JSON and Parquet.")
    ] = None,
    force: reading.Force = False,
    as_json: reading.AsJson = False,
    fail_under: Annotated[
        reading.Many,
        typer.Option(
            "--fail-under", help="A gate: unseen=0.8 (or all, seen, worst). Exit 3 below it, 4 where untested."
        ),
    ] = [],  # noqa: B006
    draws: Annotated[int, typer.Option(help="How often combinations are resampled for an interval.")] = 2_000,
    confidence: Annotated[float, typer.Option(help="What an interval promises.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Which combinations are drawn for the intervals.")] = 0,
) -> None:
    """Did the model hold on combinations that it had not seen, and if not, why?"""
    asked = options.gates(fail_under)
    outputs.check(
        "evaluation",
        out=out,
        force=force,
        inputs=[source, train, data, against, theory, impossible],
        report=report,
        domain=domain,
    )
    with Watch("scoring rows") as watch:
        found = recombine.evaluate(
            source,
            factors=options.names(factors),
            target=target,
            prediction=_columns(prediction),
            train=train,
            split=_split(split, train=options.names(train_side), test=options.names(test_side)),
            data=data,
            id=id_column,
            score=_score(score, better),
            against=against,
            theory=theory,
            causes=causes,
            target_kind=target_kind,  # type: ignore[arg-type]
            where=where,
            bins=options.bins(bins),
            domain=options.domain(domain),
            impossible=options.impossible(impossible),
            missing=missing,  # type: ignore[arg-type]
            table=table,
            intervals=recombine.IntervalSettings(draws=draws, confidence=confidence, seed=seed),
            command=options.command_line(),
            progress=watch.step,
        )
        checked = gates.check(found.share, asked, thin=found.thin)
        if report is not None:
            watch.now("drawing the page")
            found.page(report, force=force)
        if out is not None:
            found.save(out, force=force)
    if as_json:
        say(json_text(_for_machines(found, checked)))
    else:
        told = train is not None or split is not None
        summary(found, checked, split=None if told else _split_column(data or source, table))
        page_written(report, out)
    raise typer.Exit(gates.exit_code(checked))


def _split_column(source: str, table: str | None) -> str | None:
    """A column that tells trained from tested rows, to be offered to those who named none."""
    from recombine.evaluation.gathering import split_column  # noqa: PLC0415 - it brings the engines

    return split_column(source, table=table)


def _split(name: str | None, *, train: list[str], test: list[str]) -> "recombine.SplitColumn | None":
    if name is not None:
        return recombine.SplitColumn(name, train=train, test=test)
    if train or test:
        raise SettingError(
            "--train-side or --test-side without a split",
            why="they name values of the column that says which side a row stands on",
            instead="name that column: --split split",
        )
    return None


def _score(name: str | None, better: str | None) -> "str | recombine.Score | None":
    """The score, and which way it is better where that is not known."""
    if better is None:
        return name
    if name is None:
        raise SettingError(
            f"--better {better}", why="it is for a score of your own", instead="name its column: --score COLUMN"
        )
    return recombine.Score(name, better)  # type: ignore[arg-type]


def _columns(written: str | None) -> Any:
    """One column, or a column for each class."""
    if written is None or "=" not in written:
        return written
    return options.assignments("--prediction", options.names([written]))


def _for_machines(found: Any, checked: gates.Gates) -> dict[str, Any]:
    content: dict[str, Any] = found.record().to_json()
    content.pop("impossible")
    return content | {"gates": checked}
