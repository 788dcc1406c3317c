"""`recombine split`: the table with a column that tells the side, and a manifest beside it."""

from pathlib import Path
from typing import Annotated

import typer

import recombine
from recombine.cli import options, reading, split_options
from recombine.cli.show import Watch, say
from recombine.cli.show_split import summary
from recombine.words import json_text


def split(
    source: reading.Source,
    factors: reading.Factors,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Where to write: FILE.parquet, FILE.csv, or a folder.", show_default=False),
    ],
    by: Annotated[
        str | None,
        typer.Option(
            help="What is held out: combinations, conjunctions, kfold, donut, corner, diagonal, planes, divergence."
        ),
    ] = None,
    share: Annotated[float | None, typer.Option(help="The share that is held out.")] = None,
    guarantee: Annotated[
        str | None, typer.Option(help="What training keeps: values, determined (of combinations), or none.")
    ] = None,
    strata: Annotated[str | None, typer.Option(help="The column of classes whose shares the sides keep.")] = None,
    hold: Annotated[
        reading.Many, typer.Option("--hold", help='A conjunction to hold out: "colour=red,shape=square"; or how many.')
    ] = [],  # noqa: B006
    order: Annotated[int | None, typer.Option(help="How many values a drawn conjunction holds.")] = None,
    folds: Annotated[int | None, typer.Option(help="How many folds, with --by kfold.")] = None,
    hole: Annotated[reading.Many, typer.Option("--hole", help="Limits of a donut's hole: 6,22 or x=6,22.")] = [],  # noqa: B006
    at: Annotated[reading.Many, typer.Option("--at", help="Where a corner begins: 12 or x=12.")] = [],  # noqa: B006
    width: Annotated[float | None, typer.Option(help="How wide a diagonal's band is, of 1.")] = None,
    through: Annotated[
        reading.Many, typer.Option("--through", help='A combination whose planes training keeps: "x=0,y=0".')
    ] = [],  # noqa: B006
    atom_limit: Annotated[
        float | None, typer.Option(help="How far the values' own shares may differ, with --by divergence.")
    ] = None,
    seen_share: Annotated[
        float, typer.Option(help="Training rows kept apart as 'seen', to compare seen and unseen scores.")
    ] = 0.0,
    identity: Annotated[str | None, typer.Option("--id", help="The column that tells rows apart.")] = None,
    column: Annotated[
        str | None, typer.Option(help="The new column's name: split, or fold, if nothing is said.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="What is drawn; 0 if nothing is said.")] = None,
    where: reading.Where = None,
    bins: reading.Bins = [],  # noqa: B006
    missing: reading.Missing = "leave out",
    table: reading.TableName = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    as_json: reading.AsJson = False,
) -> None:
    """Hold out combinations honestly: write the table with a split column, and a manifest that can be checked."""
    chosen = by or ("conjunctions" if hold else "combinations")
    only_for_seen = bool(seen_share) and "random_state" not in split_options.known(chosen)
    settings = {
        "test_size": share,
        "guarantee": guarantee,
        "stratify": strata,
        "conjunctions": split_options.held(hold),
        "order": order,
        "n_splits": folds,
        "hole": split_options.limits("--hole", hole, pairs=True),
        "at": split_options.limits("--at", at, pairs=False),
        "width": width,
        "through": split_options.through(through),
        "atom_limit": atom_limit,
        "random_state": None if only_for_seen else seed,
        "bins": options.bins(bins),
        "missing": split_options.missing(missing),
    }
    with split_options.as_options(), Watch("splitting") as watch:
        made = recombine.write_split(
            source,
            splitter=split_options.splitter(chosen, options.names(factors), settings),
            out=out,
            column=column,
            seen_share=seen_share,
            id=identity,
            seed=seed or 0,
            where=where,
            table=table,
            force=force,
            command=options.command_line(),
            progress=watch.tell,
        )
    if as_json:
        say(json_text(made.record().to_json()))
    else:
        summary(made, out)
