"""`recombine plan`: which combinations to collect next, in which order, and what each of them buys."""

from pathlib import Path
from typing import Annotated, Any

import typer

import recombine
from recombine.cli import gates, options, outputs, reading
from recombine.cli.show import Watch, page_written, say
from recombine.cli.show_plan import summary
from recombine.planning.settings import check_settings
from recombine.words import json_text


def plan(
    source: reading.Source,
    factors: reading.Factors,
    goal: Annotated[
        str,
        typer.Option(
            "--goal", "-g", help="determined · pairs · triples · leverage · variance: what the plan is to achieve."
        ),
    ] = "determined",
    budget: Annotated[
        float | None,
        typer.Option("--budget", "-b", help="How much may be spent, in units of cost. Without it: what is needed."),
    ] = None,
    cost: Annotated[
        Path | None,
        typer.Option(
            help="A CSV with factors as columns and a cost; an empty cell means any value, no cost: not to be had."
        ),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="The column that a model would predict.")] = None,
    salience: Annotated[
        str | None,
        typer.Option(
            "--salience",
            "-s",
            help="For variance, what the learner weighs: relu:3, if nothing is said · order:0,0.3,0.4 · fit.",
        ),
    ] = None,
    ridge: Annotated[
        float | None, typer.Option(help="For variance, the noise that the learner allows for; 0 if nothing is said.")
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Compare the plan's order with random ones on the table's own past.")
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
        Path | None, typer.Option("--out", "-o", help="Save the plan as a folder of JSON and Parquet.")
    ] = None,
    force: reading.Force = False,
    as_json: reading.AsJson = False,
    fail_under: Annotated[
        reading.Many,
        typer.Option(
            "--fail-under",
            help="A gate on what the plan would achieve: determined=0.95. Exit 3 below it, 4 without evidence.",
        ),
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="What is drawn at random, in a replay or a vast space.")] = 0,
) -> None:
    """Which combinations should be collected next, and what would each of them buy?"""
    asked = options.gates(fail_under)
    outputs.check("plan", out=out, force=force, inputs=[source, cost, impossible], report=report, domain=domain)
    check_settings(goal=goal, budget=budget, salience=salience, ridge=ridge)
    with Watch("counting combinations") as watch:
        support = reading.read(
            source,
            factors=factors,
            target=target,
            watch=watch,
            target_kind=target_kind,
            where=where,
            bins=bins,
            domain=domain,
            impossible=impossible,
            weight=weight,
            missing=missing,
            table=table,
        )
        found = recombine.plan(
            support,
            goal=goal,  # type: ignore[arg-type]
            budget=budget,
            costs=cost,
            salience=salience,
            ridge=ridge,
            replay=replay,
            seed=seed,
            progress=watch.step,
        )
        checked = gates.check(found.share, asked, thin=lambda _: False)
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


def _for_machines(found: Any, checked: gates.Gates) -> dict[str, Any]:
    content: dict[str, Any] = found.record().to_json()
    content.pop("impossible")
    return content | {"gates": checked}
