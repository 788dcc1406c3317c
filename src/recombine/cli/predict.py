"""`recombine predict`: what a learner would answer on the combinations that it has not seen, and why it would fail."""

from pathlib import Path
from typing import Annotated, Any

import typer

import recombine
from recombine.cli import gates, options, outputs, reading
from recombine.cli.show import Watch, page_written, say
from recombine.cli.show_prediction import summary
from recombine.tables.locations import names_a_table
from recombine.words import json_text


def predict(
    source: reading.Source,
    factors: reading.Factors,
    target: Annotated[str, typer.Option("--target", "-t", help="The column that a model would predict.")],
    salience: Annotated[
        str,
        typer.Option(
            "--salience",
            "-s",
            help="What the learner weighs: relu:3 (network and depth) · order:0,0.3,0.4 · fit · features.parquet.",
        ),
    ] = "relu:3",
    loss: Annotated[str, typer.Option(help="squared, or margin: what cross-entropy tends to.")] = "squared",
    ridge: Annotated[float, typer.Option(help="Noise that the learner allows for in each example.")] = 0.0,
    truth: Annotated[
        str | None,
        typer.Option(help="True answers: a column of the table, or another table with the same factors and target."),
    ] = None,
    backtest: Annotated[
        bool, typer.Option("--backtest", help="Hold out seen combinations, predict them, and print the track record.")
    ] = False,
    target_kind: reading.TargetKind = None,
    where: reading.Where = None,
    bins: reading.Bins = [],  # noqa: B006
    domain: reading.Domain = [],  # noqa: B006
    impossible: reading.Impossible = None,
    weight: reading.Weight = None,
    missing: reading.Missing = "leave out",
    table: reading.TableName = None,
    report: reading.Report = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Save the prediction as a folder of JSON and Parquet.")
    ] = None,
    force: reading.Force = False,
    as_json: reading.AsJson = False,
    fail_under: Annotated[
        reading.Many,
        typer.Option(
            "--fail-under", help="A gate: fine=0.9, or right=0.9 with a truth. Exit 3 below it, 4 without evidence."
        ),
    ] = [],  # noqa: B006
    seed: Annotated[
        int, typer.Option(help="What is held out, and which combinations are drawn from a vast space.")
    ] = 0,
) -> None:
    """Which unseen combinations would come out wrong, and why: a leak, a shortcut, or out of reach?"""
    asked = options.gates(fail_under)
    features = salience if salience.endswith((".parquet", ".pq")) else None
    outputs.check(
        "prediction", out=out, force=force, inputs=[source, truth, features, impossible], report=report, domain=domain
    )
    how = reading.asked(
        factors=factors,
        target=target,
        target_kind=target_kind,
        where=where,
        bins=bins,
        domain=domain,
        impossible=impossible,
        weight=weight,
        missing=missing,
        table=table,
    )
    with Watch("counting combinations") as watch:
        support = recombine.read(source, **how, progress=watch.tell)
        known = _truth(truth, source, support, how)
        found = recombine.predict(
            support,
            salience=salience,
            loss=loss,  # type: ignore[arg-type]
            ridge=ridge,
            truth=known,
            backtest=backtest,
            seed=seed,
            progress=watch.step,
        )
        checked = gates.check(found.share, asked, thin=lambda _: found.grade == "untested")
        if report is not None:
            watch.now("drawing the page")
            found.page(report, force=force)
        if out is not None:
            found.save(out, force=force)
    if as_json:
        say(json_text(_for_machines(found, checked)))
    else:
        summary(found, checked)
        page_written(report, out)
    raise typer.Exit(gates.exit_code(checked))


def _truth(truth: str | None, source: str, support: Any, how: Any) -> Any:
    """True answers from a file of its own, or from a column of the same table."""
    if truth is None:
        return None
    if names_a_table(truth):
        from recombine.theory.answers import read_truth  # noqa: PLC0415 - the command's help needs no theory

        return read_truth(truth, support, **how)
    kind = "label" if hasattr(support.target, "classes") else "number"
    return recombine.read(source, **how | {"target": truth, "target_kind": kind})


def _for_machines(found: Any, checked: gates.Gates) -> dict[str, Any]:
    content: dict[str, Any] = found.record().to_json()
    for drawn in ("grid", "impossible", "read_target"):
        content.pop(drawn)
    return content | {"gates": checked}
